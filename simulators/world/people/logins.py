"""Who may do what at the world's table, and the key that signs its log."""

from typing import Final

from events.mqtt.topics import Topics
from events.proof.message_mac import MessageKey
from events.proof.note import SigningKey
from simulators.world.people.float_keeper import COUNT_ROOM
from table_core.trust.access import SHOE

__all__ = ["CAGE", "CONSUMER", "PEOPLE", "ROLES", "message_keys", "signing_key"]

PEOPLE: Final = ("dealer", "supervisor", "wagers")
CAGE: Final = "cage"
CONSUMER: Final = "cage-1"
ROLES: Final = {name: frozenset({name}) for name in (*PEOPLE, CAGE)} | {
    COUNT_ROOM: frozenset({CAGE})
}
"""User to roles."""


def message_keys(topics: Topics) -> dict[str, tuple[MessageKey, ...]]:
    """Return a message key for the driver and each user; one secret is enough for a world."""
    secret, origin = b"a world's key is no secret: 32 b", f"{topics.site}/{topics.table}"
    owners = (SHOE, *ROLES)
    return {name: (MessageKey(origin=origin, owner=name, secret=secret),) for name in owners}


def signing_key(topics: Topics) -> SigningKey:
    """Return the key that signs the table's checkpoints; nobody outside believes it."""
    return SigningKey(f"{topics.site}/{topics.table}", b"a world's key is no secret: 32 b")
