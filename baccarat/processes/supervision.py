"""Keep services running: restart a service that ends, within limits, and report each end.

A service that is killed or fails must not take the others with it: a shoe driver that keeps
journaling loses no card while the table core restarts. Two ends make the supervisor stop all
services in order and report the reason last: a service that refuses its input (exit code 2) would
refuse it again, and one that ends over and over needs a person.

Services beside the table are different. A failing ledger or screen must never cost the table a
coup: the supervisor restarts it for ever, after growing pauses, until a person has repaired it. The
table itself raises an alarm for a missing cage.
"""

import asyncio
import signal
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from baccarat.processes.children import Child
from events.mqtt.backoff import Backoff

__all__ = ["supervise"]

_BAD_INPUT: Final = 2
# Five ends within a minute are no accident.
_ENDS_MOST: Final = 5
_WITHIN_S: Final = 60.0
# A service needs half a second to start; a broker that restarts is back by then.
_PAUSE_S: Final = 0.5
# Repeated ends need a person, who should not have to wait long after the repair.
_PAUSE_MOST_S: Final = 30.0

_Command = Sequence[str | Path]


async def supervise(
    commands: Mapping[str, _Command],
    tell: Callable[[str], None],
    *,
    beside: Collection[str] = (),
) -> bool:
    """Keep the services running until SIGTERM or SIGINT.

    Args:
        commands: name to command line.
        tell: prints a line for a person.
        beside: services that the others can run without.

    Returns:
        Whether a signal ended it; False when a service cannot be kept running.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    keepers = [
        asyncio.ensure_future((_keep_trying if name in beside else _keep)(name, command, tell))
        for name, command in commands.items()
    ]
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
    """Restart a service whenever it ends; return the reason why another restart is useless."""
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


async def _keep_trying(name: str, command: _Command, tell: Callable[[str], None]) -> str:
    """Restart a service whenever it ends, for ever."""
    loop = asyncio.get_running_loop()
    backoff = Backoff(_PAUSE_S, _PAUSE_MOST_S)
    while True:
        began = loop.time()
        with Child.start(command, name=name) as child:
            code = await child.ended()
        if loop.time() - began > _WITHIN_S:
            backoff.reset()
        pause = backoff.next_s()
        tell(
            f"the {name} service has ended {_how(code)}; the table goes on without it, and it is "
            f"started again in {pause:g} s"
        )
        await asyncio.sleep(pause)


def _how(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
