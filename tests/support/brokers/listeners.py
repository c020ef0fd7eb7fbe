"""Ends a listener of `asyncio.start_server` with nobody half accepted."""

import asyncio
from typing import Final

# From accepting to the first line of the callback asyncio takes three turns of the loop.
_TURNS: Final = 4


async def stop_listening(server: asyncio.Server) -> None:
    """Accept nobody more, let the callback begin for each that was accepted, and close.

    A server that is closed in between leaves an open socket to the garbage collector, which warns
    in the middle of a later test. A busy machine makes that likely.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    server.close()
