"""Services kept running: what ends is started again, within limits, and each end is told.

A service that is killed or fails must not take the others with it: a shoe driver that goes on
journaling loses no card while the table core is brought back. A service that refuses its input
(exit code 2) would refuse it again, and one that ends over and over has something that only a
person can mend: then all are stopped, in order, and the reason is said last.
"""

import asyncio
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from baccarat.children import Child

__all__ = ["supervise"]

_BAD_INPUT: Final = 2
# Five ends within a minute are no accident.
_ENDS_MOST: Final = 5
_WITHIN_S: Final = 60.0
# A service needs half a second to start; a broker that restarts is back by then.
_PAUSE_S: Final = 0.5

_Command = Sequence[str | Path]


async def supervise(commands: Mapping[str, _Command], tell: Callable[[str], None]) -> bool:
    """Keep the services running until SIGTERM or SIGINT.

    Args:
        commands: name to command line.
        tell: says a line to a person.

    Returns:
        Whether it was told to end; False when a service cannot be kept running.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    keepers = [asyncio.ensure_future(_keep(name, commands[name], tell)) for name in commands]
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({stopping, *keepers}, return_when=asyncio.FIRST_COMPLETED)
    for task in (stopping, *keepers):
        task.cancel()
    results = await asyncio.gather(*keepers, return_exceptions=True)
    given_up = [each for each in results if isinstance(each, str)]
    for reason in given_up:
        tell(reason)
    return not given_up


async def _keep(name: str, command: _Command, tell: Callable[[str], None]) -> str:
    """Start a service again whenever it ends; returns why that has no use any more."""
    ends: deque[float] = deque(maxlen=_ENDS_MOST)
    loop = asyncio.get_running_loop()
    while True:
        with Child.start(command, name=name) as child:
            code = await child.ended()
        ended = f"the {name} service has ended {_how(code)}"
        if code == _BAD_INPUT:
            return f"{ended}: it refuses its input, and said why above"
        ends.append(loop.time())
        if len(ends) == _ENDS_MOST and ends[-1] - ends[0] < _WITHIN_S:
            return f"{ended}, {_ENDS_MOST} times within {_WITHIN_S:g} s: it is not started again"
        tell(f"{ended}; it is started again")
        await asyncio.sleep(_PAUSE_S)


def _how(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
