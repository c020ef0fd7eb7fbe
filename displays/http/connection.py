"""An HTTP connection with the limits that uvicorn lacks: time, unsent data, number of connections.

uvicorn waits for ever for a request's head, keeps unsent data as long as the system does, and
accepts any number of connections. Through each of these, one machine on the network could block all
screens, without a login and with hardly any traffic.
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from displays.auth.lockout import client_network, is_here
from events.structured_log import structlog

__all__ = [
    "ADDRESS_MOST",
    "CONNECTIONS_MOST",
    "HEAD_SECONDS",
    "UNTAKEN_SECONDS",
    "LimitedConnection",
]

# From the connection, or the answer before, to the end of a request's head. A browser sends a head
# in one go, and opens an idle connection again at no cost.
HEAD_SECONDS: Final = 10.0
# Longest time for a browser to read the data that waits for it. A slow one takes milliseconds.
UNTAKEN_SECONDS: Final = 10.0
# Most connections from all machines: well below the 1,024 open files of a process.
CONNECTIONS_MOST: Final = 512
# Most connections from one other machine. A browser opens six.
ADDRESS_MOST: Final = 32
# Most data that may wait here for one browser, in addition to the system's: a few states.
_WAITING_BYTES: Final = 64 * 1024

_log: Final = structlog.get_logger()


class LimitedConnection(H11Protocol):
    """A connection that the server cuts if it stalls, or if there are too many."""

    _head: asyncio.TimerHandle | None = None
    _untaken: asyncio.TimerHandle | None = None
    place: str = ""

    def connection_made(
        self,
        transport: asyncio.Transport,  # type: ignore[override] # as in uvicorn
    ) -> None:
        """Start the limits, or abort the connection if there are too many."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_WAITING_BYTES)
        host = self.client[0] if self.client else ""
        self.place = client_network(host)
        if len(self.connections) > CONNECTIONS_MOST or (
            not is_here(host) and self._connections_of_client() > ADDRESS_MOST
        ):
            transport.abort()
            return
        self._time_head()

    def _connections_of_client(self) -> int:
        return sum(
            isinstance(each, LimitedConnection) and each.place == self.place
            for each in self.connections
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._head, self._untaken = self._disarm(self._head), self._disarm(self._untaken)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received data or the end of an answer, and update the timer."""
        super().handle_events()
        self._time_head()

    def send_400_response(self, msg: str) -> None:
        """Answer data that is no HTTP, but never in the middle of another answer."""
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn's type lacks the None
        if cycle is not None:
            cycle.disconnected = True  # the rest of the answer is not sent
            cycle.message_event.set()
        if cycle is not None and cycle.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _time_head(self) -> None:
        """Run the timer from when the next request may begin until its head is complete."""
        if self._is_answering():
            self._head = self._disarm(self._head)
        elif self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        """Start the timer for a browser that reads no data."""
        super().pause_writing()
        if self._untaken is None:
            self._untaken = self.loop.call_later(UNTAKEN_SECONDS, self._stuck)

    def resume_writing(self) -> None:
        """Stop the timer: the browser reads again."""
        super().resume_writing()
        self._untaken = self._disarm(self._untaken)

    def _stuck(self) -> None:
        _log.warning("screen.stuck", place=self.place, seconds=UNTAKEN_SECONDS)
        self.transport.abort()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    @staticmethod
    def _disarm(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
        if timer is not None:
            timer.cancel()
        return None
