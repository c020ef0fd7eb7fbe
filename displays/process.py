"""What a display does on the bus: keeps the live state, receives answers, notes logins. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from displays.live import LiveState
from events.commands import ANSWER_REFUSED, NoteLogins
from events.mqtt.messages import Message
from events.mqtt.presence import PresencePublisher
from events.mqtt.process import LogLine, Steps, Wait
from events.mqtt.request_client import RequestClient
from events.mqtt.topics import Topics

__all__ = ["CONSOLE", "DISPLAY", "NOTE_EVERY_S", "DisplayProcess"]

CONSOLE: Final = "console"
"""The service, and the user, of a display at which people may log in."""

DISPLAY: Final = "display"
"""The service that serves the scoreboard alone."""

NOTE_EVERY_S: Final = 10.0
"""Seconds between two looks at the record of logins."""

_TABLE: Final = "table"
# Seconds between two checks of liveness, at least.
_LOOK_S: Final = 0.25


class DisplayProcess:
    """Keeps one table's live state.

    Args:
        topics: the table's topics.
        live: the state for the screens.
        utc_ns: now, nanoseconds since 1970 UTC.
        session: the session number of the service's status, larger than at the last start.
        requests: receives the answers to people's commands; None serves the scoreboard alone.
        logins: returns how many entries the record of logins has, and the hash after the last of
            them; None where there is no record.
    """

    def __init__(
        self,
        topics: Topics,
        live: LiveState,
        *,
        utc_ns: int,
        session: int,
        requests: RequestClient | None = None,
        logins: Callable[[], tuple[int, bytes]] | None = None,
    ) -> None:
        self.live = live
        self._presence = PresencePublisher(
            topics.status(CONSOLE if requests else DISPLAY), session, utc_ns
        )
        self.will = self._presence.will
        consoles = {  # the scoreboard shows no wagers
            topics.wager_pages: self._on_wagers,
            **({topics.response(CONSOLE): requests.on_answer} if requests else {}),
        }
        self.subscriptions: Mapping[str, Callable[[Message], Steps[None]]] = {
            # Whoever shows the scoreboard alone hears no more than it shows.
            (topics.state if requests else topics.display): self._on_state,
            topics.status(_TABLE): self._on_table,
            self._presence.topic: self._presence.on_own_status,
            **(consoles if requests else {}),
        }
        self._noting = [_note_logins(requests, logins)] if requests and logins else []

    def running(self) -> Iterable[Steps[None]]:
        """See `Process.running`."""
        return self._presence.beat(), self._look(), *self._noting

    def on_connect(self) -> Steps[None]:
        """Record the broker's connection, and announce the display."""
        self.live.connected()
        yield from self._presence.announce()

    def on_disconnect(self) -> Steps[None]:
        """Record the loss of the broker."""
        yield from ()
        self.live.disconnected()

    def ending(self) -> Steps[None]:
        """Report the end."""
        yield from self._presence.publish_offline()

    def _look(self) -> Steps[None]:
        while True:
            self.live.look()
            yield from Wait(max(_LOOK_S, self.live.stays_s()))

    def _on_state(self, message: Message) -> Steps[None]:
        yield from ()
        self.live.on_state(message.payload, retain=message.retain)

    def _on_wagers(self, message: Message) -> Steps[None]:
        yield from ()
        self.live.on_wagers(message.payload)

    def _on_table(self, message: Message) -> Steps[None]:
        yield from ()
        self.live.on_status(message.payload, retain=message.retain)


def _note_logins(requests: RequestClient, logins: Callable[[], tuple[int, bytes]]) -> Steps[None]:
    """Have the table note in its signed log how far the record of logins reaches."""
    noted = 0, b""
    while True:
        newest = logins()
        if newest != noted and newest[0]:
            entries, chain = newest[0], newest[1].hex()
            transaction = f"logins-{entries}-{chain}"
            note = NoteLogins(transaction=transaction, entries=entries, chain=chain)
            answer = yield from requests.ask(CONSOLE, note)
            if answer.result == ANSWER_REFUSED:
                yield from LogLine("error", "logins.not_noted", {"reason": answer.text})
            else:
                noted = newest
        yield from Wait(NOTE_EVERY_S)
