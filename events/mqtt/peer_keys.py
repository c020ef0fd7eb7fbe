"""What a peer of the table does with its key: it proves what it sends, and checks what it gets.

The shoe driver, consoles, wager sources and consumers are peers. The table's own side is
`table_core.trust.bus_guard`. Pure.
"""

from collections.abc import Callable, Sequence
from typing import Final

from events.mqtt.process import Now, Steps
from events.proof.message_mac import MessageKey, add_mac, split_mac

__all__ = ["PeerKeys"]

_NS_IN_MS: Final = 1_000_000


class PeerKeys:
    """The keys of one peer.

    Args:
        keys: the newest first; without any, nothing is proved and nothing is checked.
        read: returns them as they are now, if they may be replaced; called before each use.

    Attributes:
        refused: messages that the table did not write.
    """

    def __init__(
        self,
        keys: Sequence[MessageKey] = (),
        read: Callable[[], Sequence[MessageKey]] | None = None,
    ) -> None:
        self.refused = 0
        self._given, self._read = tuple(keys), read

    @property
    def _keys(self) -> Sequence[MessageKey]:
        return self._read() if self._read else self._given

    @property
    def enrolled(self) -> bool:
        """Whether there is a key."""
        return bool(self._keys)

    def authenticated(self, topic: str, body: bytes) -> Steps[bytes]:
        """Return a message as it is to be published."""
        keys = self._keys
        if not keys:
            return body
        return add_mac(keys[0], topic, body, (yield from Now()).utc_ns)

    def checked(self, topic: str, payload: bytes) -> Steps[bytes | None]:
        """Return a message as the table wrote it; None where nothing proves that it did."""
        message, keys = split_mac(payload), self._keys
        if not keys:
            return message.body
        now_ms = (yield from Now()).utc_ns // _NS_IN_MS
        if message.key_among(topic, keys, now_ms) is None:
            self.refused += 1
            return None
        return message.body
