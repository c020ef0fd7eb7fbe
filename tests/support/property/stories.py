"""Stories of a table of which two are told, and how each is settled by the documented commands.

A stage has a hub, an archive with its worker, a witness, and for each story a table of its own
whose log is signed by its own key.
"""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Final

import psycopg

from events.clock import SystemClock
from events.proof.chain import next_hash
from events.proof.note import SigningKey
from events.types import AlarmRaised, CheckpointKeyChanged
from property.hub.replicated_event import HASH, POSITION, ReplicatedEvent
from property.hub.subjects import event_subject, split_origin
from property.witness.service import WitnessSettings, run_witness
from property.witness.store import WitnessBook, read_book
from tests.support.log.logs import stored_bytes
from tests.support.machine.tasks import serving
from tests.support.property.archive_site import ArchiveSite
from tests.support.property.feeds import TableLogs, feeding, until_held, until_stopped
from tests.support.property.logs import archived, carried_in
from tests.support.property.nats_hub import Hub, made_streams, running_hub
from tests.support.property.site import PropertySite

_PATIENCE_S: Final = 60.0


def origin_of_story(number: int) -> str:
    """The table of a story."""
    return f"harbour/b{number}"


class Stage:
    """Everything but the tables."""

    def __init__(self, folder: Path, hub: Hub, site: ArchiveSite, logs: TableLogs) -> None:
        self.folder, self.hub, self.site, self.logs = folder, hub, site, logs
        self.keys = {origin: SigningKey(origin, origin.ljust(32).encode()) for origin in logs.paths}
        renamed = {f"{origin}-r1": [key] for origin, key in self.keys.items()}
        given = {origin: [key] for origin, key in self.keys.items()} | renamed
        self.property = PropertySite(folder, site.url, hub, keys=given)
        self.book = folder / "witness.sqlite"
        self.lost: list[ReplicatedEvent] = []

    def said_by(self, origin: str, count: int) -> int:
        """The table goes on for so many events, and signs."""
        self.logs.grow(origin, count)
        self.logs.sign(origin, self.keys[origin])
        return self.logs.position(origin)

    async def command(self, *words: str, code: int = 0) -> str:
        """Give a command as a person does; returns what it says."""
        done = await asyncio.to_thread(self.property.ask, *words)
        assert done.code == code, (words, done.out, done.err)
        return done.out + done.err

    async def settle(self, origin: str, *words: str, code: int = 0) -> str:
        """Settle a table, as the page says."""
        keeper = str(self.property.folder / "secret.keeper")
        return await self.command(
            "settle", origin, "--by", "mary", "--password-file", keeper, *words, code=code
        )

    async def fed(self, origin: str, log: str | None = None) -> None:
        """Start the table's uplink, and stop it once archive and witness have the whole log."""
        path = self.logs.paths[log or origin]
        async with feeding(self.logs, [self.hub.settings(origin)], {origin: path}):
            await self.until_true(origin, path)

    async def until_true(self, origin: str, path: Path) -> None:
        """Wait until archive and witness have the log: the newest event, and all of it cosigned."""
        wanted = carried_in(path)[-1]

        def there() -> bool:
            site, table = split_origin(origin)
            asked = 'SELECT position, hash FROM property.head WHERE site = %s AND "table" = %s'
            heads = [
                (row["position"], bytes(row["hash"])) for row in self.site.ask(asked, site, table)
            ]
            sizes = [each.size for each in read_book(self.book)[0] if each.origin == origin]
            return heads == [wanted.head] and sizes == [wanted.position]

        await self.site.until(there, f"{origin} is archived and witnessed", _PATIENCE_S)

    def holds(self, origin: str, path: Path, *false: ReplicatedEvent, since: int = 1) -> None:
        """The archive has the log from a position on, and keeps what is false as evidence."""
        true = [each for each in carried_in(path) if each.position >= since]
        found = [
            (each.position, each.stored, each.hash) for each in archived(self.site.url, origin)[1]
        ]
        assert found == [(each.position, each.stored, each.hash) for each in true]
        with psycopg.connect(self.site.url) as db:
            kept = {bytes(row[0]) for row in db.execute("SELECT bytes FROM property.given_way")}
        assert {each.stored for each in false} <= kept

    async def say(self, origin: str, *events: ReplicatedEvent) -> None:
        """Publish with the table's stolen password, behind whatever the hub has."""
        for each in events:
            headers = {POSITION: str(each.position), HASH: each.hash.hex()}
            subject = event_subject(*split_origin(origin))
            await self.site.say_raw(subject, each.stored, headers)

    async def until_archived(self, event: ReplicatedEvent) -> None:
        """Wait until the archive's head is this event."""
        site, table = split_origin(event.origin)
        asked = 'SELECT FROM property.head WHERE site = %s AND "table" = %s AND hash = %s'
        given = (asked, site, table, event.hash)
        await self.site.until(
            lambda: self.site.ask(*given), "the forged one is archived", _PATIENCE_S
        )


@asynccontextmanager
async def running_stage(folder: Path, archive: str, tables: int) -> AsyncIterator[Stage]:
    """A stage with so many tables; a worker and a witness run."""
    origins = [origin_of_story(number) for number in range(tables)]
    async with AsyncExitStack() as stack:
        logins = [*origins, *(f"{origin}-r1" for origin in origins)]
        hub = stack.enter_context(running_hub(folder / "hub", logins, nodes=1))
        await made_streams(hub)
        site = await stack.enter_async_context(ArchiveSite(hub, archive, folder))
        logs = stack.enter_context(TableLogs(folder, origins))
        stage = Stage(folder, hub, site, logs)
        site.worker()
        book = stack.enter_context(closing(WitnessBook.open(stage.book)))
        given = {
            origin: [key.verifier]
            for base, key in stage.keys.items()
            for origin in (base, f"{base}-r1")
        }
        settings = WitnessSettings(key=stage.property.witness, given=given)
        run = partial(run_witness, settings, book, hub.settings("witness"), SystemClock())
        await stack.enter_async_context(serving(run))
        yield stage


def forged_after(
    last: ReplicatedEvent, *events: AlarmRaised | CheckpointKeyChanged
) -> list[ReplicatedEvent]:
    """Events with a valid chain behind a table's newest, that are not of its log."""
    found = [last]
    for event in events:
        head, position = found[-1], found[-1].position + 1
        stored = stored_bytes(event, position, stream=head.origin, cause=f"thief/{position}")
        found.append(ReplicatedEvent(head.origin, position, stored, next_hash(head.hash, stored)))
    return found[1:]


async def _stolen_password(
    stage: Stage, number: int, rng: random.Random, *first: CheckpointKeyChanged
) -> None:
    """Forged events with a valid chain enter archive and witness, and give way to the table's."""
    origin = origin_of_story(number)
    stage.said_by(origin, rng.randrange(5, 40))
    await stage.fed(origin)
    if rng.random() < 0.5:  # true events that no checkpoint covers yet
        stage.logs.grow(origin, 2)
        async with feeding(stage.logs, [stage.hub.settings(origin)]):
            await until_held(stage.hub, origin, stage.logs.paths[origin])
    last = carried_in(stage.logs.paths[origin])[-1]
    count = rng.randrange(1, 4)
    false = forged_after(
        last, *first, *(AlarmRaised(alarm="x", text=f"forged {n}") for n in range(count))
    )
    await stage.say(origin, *false)
    await stage.until_archived(false[-1])
    stage.said_by(origin, rng.randrange(1, 9))
    async with feeding(stage.logs, [stage.hub.settings(origin)]) as feeds:
        assert (await until_stopped(feeds[origin])).code == "fork"
    told = await stage.settle(origin)
    assert "give way" in told
    await stage.fed(origin)
    stage.holds(origin, stage.logs.paths[origin], *false)


async def _stolen_password_and_key_change(stage: Stage, number: int, rng: random.Random) -> None:
    """The same, and the first forged event announces a key of the thief's."""
    thief = SigningKey(origin_of_story(number), b"t" * 32)
    await _stolen_password(stage, number, rng, CheckpointKeyChanged(key=str(thief.verifier)))


async def _broken_chain(stage: Stage, number: int, rng: random.Random) -> None:
    """Events whose hashes do not follow, or of another table, stop the feed and are kept."""
    origin = origin_of_story(number)
    stage.said_by(origin, rng.randrange(5, 40))
    await stage.fed(origin)
    last = carried_in(stage.logs.paths[origin])[-1]
    (false,) = forged_after(last, AlarmRaised(alarm="x", text="forged"))
    if rng.random() < 0.5:
        false = false._replace(hash=bytes(32))
    else:  # honestly hashed, and another table's
        stored = stored_bytes(AlarmRaised(alarm="x", text="y"), false.position, stream="harbour/zz")
        false = false._replace(stored=stored, hash=next_hash(last.hash, stored))
    await stage.say(origin, false)
    await stage.site.until(
        lambda: stage.site.ask(
            'SELECT FROM property.feed_alarm WHERE cleared_at IS NULL AND "table" = %s',
            origin.partition("/")[2],
        ),
        "the feed has stopped",
        _PATIENCE_S,
    )
    stage.said_by(origin, 3)
    await stage.settle(origin)
    await stage.fed(origin)
    stage.holds(origin, stage.logs.paths[origin], false)


async def _restored(
    stage: Stage, origin: str, rng: random.Random, *, signed: bool
) -> tuple[int, int]:
    """A log is brought back from a copy and goes on; returns the new position and the head."""
    stage.said_by(origin, rng.randrange(10, 30))
    await stage.fed(origin)
    path, copy = stage.logs.paths[origin], stage.folder / f"{origin.replace('/', '-')}.copy"
    kept = stage.logs.position(origin)
    stage.logs.reopen(origin, lambda where: shutil.copytree(where.parent, copy))
    if signed:
        stage.said_by(origin, 7)
        await stage.fed(origin)
    else:
        stage.logs.grow(origin, 7)
        async with feeding(stage.logs, [stage.hub.settings(origin)]):
            await until_held(stage.hub, origin, path)
        await stage.until_archived(carried_in(path)[-1])
    lost = carried_in(path)[kept:]

    def bring_back(where: Path) -> None:
        shutil.rmtree(where.parent)
        shutil.copytree(copy, where.parent)

    stage.logs.reopen(origin, bring_back)
    stage.logs.grow(origin, 2, "after the restore")
    stage.said_by(origin, rng.randrange(1, 9))
    async with feeding(stage.logs, [stage.hub.settings(origin)]) as feeds:
        assert (await until_stopped(feeds[origin])).code == "fork"
    stage.lost = lost
    return kept + 1, lost[-1].position


async def _restored_from_before(stage: Stage, number: int, rng: random.Random) -> None:
    """What was not cosigned gives way to the log that a named person accepts."""
    origin = origin_of_story(number)
    since, _ = await _restored(stage, origin, rng, signed=False)
    await stage.settle(origin, "--from", str(since))
    await stage.fed(origin)
    stage.holds(origin, stage.logs.paths[origin], *stage.lost)


async def _restored_behind_cosigned(stage: Stage, number: int, rng: random.Random) -> None:
    """What was cosigned stays; the log goes on under a new origin that names the old."""
    origin = origin_of_story(number)
    since, head = await _restored(stage, origin, rng, signed=True)
    before = archived(stage.site.url, origin)
    refused = await stage.settle(origin, "--from", str(since), code=2)
    assert "under a new origin" in refused
    await stage.settle(origin, "--from", str(since), "--as", f"{origin}-r1")
    await stage.fed(f"{origin}-r1", origin)
    assert archived(stage.site.url, origin) == before
    assert before[0].position == head
    stage.holds(f"{origin}-r1", stage.logs.paths[origin], since=since)


Story = Callable[[Stage, int, random.Random], Awaitable[None]]
STORIES: Final[dict[str, Story]] = {
    "a stolen password": _stolen_password,
    "a stolen password and a key": _stolen_password_and_key_change,
    "a broken chain": _broken_chain,
    "a log restored": _restored_from_before,
    "a log restored behind what was cosigned": _restored_behind_cosigned,
}
