"""The whole property under SIGKILL: logs, uplinks, leaf, three nodes, workers, PostgreSQL.

Whatever died, was wiped or was brought back from an old copy: behind it, PostgreSQL holds what the
logs hold, byte by byte and hash by hash, and no table has waited for any of it.
"""

import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from baccarat.processes.children import Child
from benchmarks.instruments.postgres import Postgres, postgres_cluster
from tests.kill.test_property_hub import SCENARIOS, Play, playing
from tests.support.machine import waiting
from tests.support.property.archive_site import ArchiveSite
from tests.support.property.feeds import log_rows
from tests.support.property.logs import archived

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

_STEPS: Final = ("keep.before", "keep.copied", "keep.written", "keep.after", "told")
# Elections, a hub that is filled from the beginning, and a busy machine.
_CATCHES_UP_S: Final = 180.0


class _Property:
    """Two workers and a database behind a play."""

    def __init__(self, play: Play, site: ArchiveSite, database: Postgres) -> None:
        self.play, self.site, self._database = play, site, database
        self._workers: list[Child] = [site.worker(), site.worker()]

    async def equals_the_logs(self) -> None:
        """Wait until the archive has what the logs have by now, and hold all of it against them."""
        for origin, path in self.play.logs.paths.items():
            wanted = self.play.logs.position(origin)
            asked = 'SELECT 1 FROM property.head WHERE "table" = %s AND position >= %s'
            table = origin.partition("/")[2]

            def there(asked: str = asked, table: str = table, wanted: int = wanted) -> bool:
                return bool(self.site.ask(asked, table, wanted))

            await self.site.until(there, f"{origin} is archived up to {wanted}", _CATCHES_UP_S)
            head, rows = archived(self.site.url, origin)
            found = [(each.position, each.stored, each.hash) for each in rows]
            assert found == log_rows(path)[: len(found)]
            assert (head.position, head.hash) == (rows[-1].position, rows[-1].hash)

    async def kill_workers(self, rng: random.Random) -> None:
        """All at once; then one that has every table dies at some step; and others come. Twice."""
        for _ in range(2):
            for worker in self._workers:
                worker.kill()
            doomed = self.site.worker(step=rng.choice(_STEPS), nth=rng.randrange(1, 9), how="die")
            await self.site.until_over(doomed, "it dies at its step")
            self._workers = [self.site.worker() for _ in self._workers]
            await self.play.grown(5)

    async def kill_database(self, rng: random.Random) -> None:
        """Gone for a while, at a moment when something is being stored."""
        for _ in range(rng.randrange(1, 4)):
            self._database.kill()
            await self.play.grown(rng.randrange(1, 20))
            self._database.start()
            await self.play.grown(rng.randrange(1, 10))

    def alive(self) -> bool:
        """Whether no worker has ended by itself."""
        return all(worker.code is None for worker in self._workers)


@pytest.mark.parametrize("seed", range(3))
async def test_the_archive_equals_the_logs_whatever_dies(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ten processes on a machine that may have two cores: a node needs its time to start.
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", _CATCHES_UP_S)
    rng = random.Random(seed)
    print(f"seed {seed}")  # noqa: T201 - a failure names it
    with postgres_cluster() as database:
        async with (
            playing(tmp_path) as play,
            ArchiveSite(play.hub, database.database(), tmp_path) as site,
        ):
            whole = _Property(play, site, database)
            await whole.equals_the_logs()
            here: dict[str, Callable[[random.Random], Awaitable[None]]] = {
                "workers": whole.kill_workers,
                "database": whole.kill_database,
            }
            names = [*SCENARIOS, *here, *here]
            rng.shuffle(names)
            for name in names:
                began = time.monotonic()
                play.hub.start_all()
                if name in here:
                    await here[name](rng)
                else:
                    await SCENARIOS[name](play)
                await whole.equals_the_logs()
                print(f"{name}: {time.monotonic() - began:.1f} s")  # noqa: T201 - figures
            assert whole.alive()
            assert site.ask("SELECT * FROM property.feed_alarm WHERE kind <> 'gap'") == []
            assert site.ask("SELECT * FROM property.feed_alarm WHERE cleared_at IS NULL") == []
