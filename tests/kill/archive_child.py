"""An archive worker's real process, with a step at which it dies.

    python -m tests.kill.archive_child SETTINGS PLAN

PLAN is as of `tests.kill.child`. SETTINGS is JSON: `archive`, and what `HubSettings`
takes.
"""

import asyncio
import signal
import sys
from pathlib import Path

import msgspec

from baccarat.property.editions import read_edition
from baccarat.services.registry import configure_logging
from property.archive.worker import run_worker
from property.hub.connection import HubSettings
from tests.kill.child import Trap


async def _run(archive: str, hub: HubSettings, trap: Trap) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await run_worker(archive, hub, stop, read_edition, trap)


def main() -> None:
    given, plan = sys.argv[1:]
    settings = msgspec.json.decode(given)
    archive = settings.pop("archive")
    hub = msgspec.convert(settings, HubSettings, dec_hook=lambda _, path: Path(path))
    configure_logging("archive")
    asyncio.run(_run(archive, hub, Trap(plan)))


if __name__ == "__main__":
    main()
