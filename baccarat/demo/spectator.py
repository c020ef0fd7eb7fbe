"""A client that watches the table over the bus, as any vendor's display would."""

from contextlib import suppress
from typing import TypeVar

from events.errors import MalformedJson, UnreadableEvent
from events.json_form import decode_json
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.types import CoupSettled, LinkStatus, PublishedEnvelope, Settlement, decode_data
from table_core.projections.table_document import StateView

__all__ = ["Spectator"]

_T = TypeVar("_T")


class Spectator:
    """Keeps the newest of everything that a display shows.

    Args:
        settings: the broker and the login.
        topics: the table.

    Attributes:
        state: the newest `state` document.
        settlement: the newest settlement.
        link: the newest `link/shoe`.
    """

    def __init__(self, settings: BusSettings, topics: Topics) -> None:
        self.state: StateView | None = None
        self.settlement: Settlement | None = None
        self.link: LinkStatus | None = None
        self._bus = Bus(
            settings,
            subscriptions={
                topics.state: self._on_state,
                topics.settlement: self._on_settlement,
                topics.link_shoe: self._on_link,
            },
        )

    @property
    def connected(self) -> bool:
        """Whether the broker is connected."""
        return self._bus.connected

    async def run(self) -> None:
        """Watch until cancelled."""
        await self._bus.run()

    async def _on_state(self, message: Message) -> None:
        self.state = _read(message, StateView) or self.state

    async def _on_link(self, message: Message) -> None:
        self.link = _read(message, LinkStatus) or self.link

    async def _on_settlement(self, message: Message) -> None:
        envelope = _read(message, PublishedEnvelope)
        if envelope is None:
            return
        with suppress(UnreadableEvent):
            event = decode_data(envelope)
            if isinstance(event, CoupSettled):
                self.settlement = event.settlement


def _read(message: Message, kind: type[_T]) -> _T | None:
    with suppress(MalformedJson):
        return decode_json(message.payload, kind)
    return None
