"""Who may do what at the world's table, and the key that signs its log."""

from typing import Final

from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from simulators.world.people.float_keeper import COUNT_ROOM

__all__ = ["CAGE", "CONSUMER", "PEOPLE", "ROLES", "signing_key"]

PEOPLE: Final = ("dealer", "supervisor", "wagers")
CAGE: Final = "cage"
CONSUMER: Final = "cage-1"
ROLES: Final = {name: frozenset({name}) for name in (*PEOPLE, CAGE)} | {
    COUNT_ROOM: frozenset({CAGE})
}
"""User to roles."""


def signing_key(topics: Topics) -> SigningKey:
    """Return the key that signs the table's checkpoints; nobody outside believes it."""
    return SigningKey(f"{topics.site}/{topics.table}", b"a world's key is no secret: 32 b")
