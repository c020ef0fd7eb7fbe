"""One connection to the web server, within limits that uvicorn does not set.

uvicorn waits for ever for the head of a request, keeps what a browser does not take for as long as
the system keeps it, and accepts without end. Each is enough for one machine on the network to take
the screens from everybody, with no login and hardly any traffic.
"""

import asyncio
from typing import Final

import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from displays.auth.throttle import is_here, neighbourhood

__all__ = ["ADDRESS_MOST", "CONNECTIONS_MOST", "HEAD_SECONDS", "UNTAKEN_SECONDS", "Connection"]

# From the connection, or from the answer before, to the end of a request's head. A browser sends it
# in one go; a connection that it merely keeps for later is opened anew for nothing.
HEAD_SECONDS: Final = 10.0
# What a browser may take to swallow what waits for it. One that is merely slow takes milliseconds.
UNTAKEN_SECONDS: Final = 10.0
# Of all machines together: well below the 1,024 files that a process may have open.
CONNECTIONS_MOST: Final = 512
# Of one machine that is not this one. A browser opens six.
ADDRESS_MOST: Final = 32
# What may wait for one browser here, beside what the system holds for it: some states.
_WAITING_BYTES: Final = 64 * 1024

_log: Final = structlog.get_logger()


class Connection(H11Protocol):
    """A connection that is cut when it does not get on, or when there are too many."""

    _head: asyncio.TimerHandle | None = None
    _untaken: asyncio.TimerHandle | None = None
    place: str = ""

    def connection_made(
        self,
        transport: asyncio.Transport,  # type: ignore[override] # as in uvicorn
    ) -> None:
        """Somebody is there."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_WAITING_BYTES)
        host = self.client[0] if self.client else ""
        self.place = neighbourhood(host)
        if len(self.connections) > CONNECTIONS_MOST or (
            not is_here(host) and self._of_this_place() > ADDRESS_MOST
        ):
            transport.abort()
            return
        self._mind_head()

    def _of_this_place(self) -> int:
        return sum(
            isinstance(each, Connection) and each.place == self.place for each in self.connections
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """They are gone."""
        self._head, self._untaken = self._disarm(self._head), self._disarm(self._untaken)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Something came, or an answer is out."""
        super().handle_events()
        self._mind_head()

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP: it is answered so, but never in the middle of another answer."""
        cycle: RequestResponseCycle | None = self.cycle  # which uvicorn types as always there
        if cycle is not None:
            cycle.disconnected = True  # what would still be said is not
            cycle.message_event.set()
        if cycle is not None and cycle.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _mind_head(self) -> None:
        """The clock runs from the moment when the next request may begin until its head is here."""
        if self._is_answering():
            self._head = self._disarm(self._head)
        elif self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        """They do not take what we send."""
        super().pause_writing()
        if self._untaken is None:
            self._untaken = self.loop.call_later(UNTAKEN_SECONDS, self._stuck)

    def resume_writing(self) -> None:
        """They do again."""
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
