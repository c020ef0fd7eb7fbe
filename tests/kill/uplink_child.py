"""A process of uplinks alone: `-m tests.kill.uplink_child TABLES`, a JSON list of `UplinkLog`s."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from events.clock import SystemClock
from property.uplink.service import UplinkLog, feeds_of, run_uplink


def _path(kind: type, value: Any) -> Any:
    assert kind is Path
    return Path(value)


async def main(told: str) -> None:
    tables = msgspec.json.decode(told, type=list[UplinkLog], dec_hook=_path)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await run_uplink(feeds_of(tables, SystemClock()), stop)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
