"""The logins on a table's bus and the topics that each may publish or subscribe to: data. Pure.

The brokers' access rules, the operator's guide and the tests are generated from it. A topic is
named below the table's root; `{user}` is the name in the table's `[users]`. A login at the broker
is `<table>-<name>`, so that one broker may serve several tables and a login is valid for one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from events.mqtt.topics import Topics

__all__ = ["SERVICES", "Identity", "identities_of"]

# Faces that the table has not seen travel on `shoe/event`, and on nothing else.
_SEEN: Final = (
    "state",
    "wagers/+",
    "status/+",
    "link/shoe",
    "event",
    "settlement",
    "alarm",
    "checkpoint",
)
_ANSWERS: Final = ("response/{user}", "response/{user}/events")
_ASKS: Final = ("request/{user}/+",)

_CORE: Final = (
    "status/table",
    "shoe/ack",
    "event",
    "settlement",
    "state",
    "wagers/+",
    "display",
    "checkpoint",
    "alarm",
    "response/+",
    "response/+/events",
)

# Name to (publishes, subscribes). These services exist once a table, whatever its users are called.
SERVICES: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "core": (_CORE, ("status/+", "shoe/event", "link/shoe", "request/+/+")),
    "shoe": (("status/shoe", "shoe/event", "link/shoe"), ("status/shoe", "shoe/ack")),
    "metrics": ((), ("state", "status/+", "link/shoe", "shoe/ack", "settlement")),
    # Surveillance: receives everything, also sealed faces, and publishes nothing.
    "witness": ((), ("#",)),
}

# The same for a user, by role; a user with several roles may do what any of them may.
_ROLES: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "display": (("status/display",), ("display", "status/+", "checkpoint")),
    "console": (
        ("status/console", *_ASKS),
        ("state", "wagers/+", "status/+", "checkpoint", *_ANSWERS),
    ),
    "cage": (("status/cage", *_ASKS), (*_SEEN, *_ANSWERS)),
    "dealer": (_ASKS, (*_SEEN, *_ANSWERS)),
    "supervisor": (_ASKS, (*_SEEN, *_ANSWERS)),
    "technician": (_ASKS, (*_SEEN, *_ANSWERS)),
    "wagers": (_ASKS, (*_SEEN, *_ANSWERS)),
}


class Identity(NamedTuple):
    """A login at the broker.

    Args:
        login: its name there, and the common name of its certificate.
        says: topic filters that it may publish to.
        hears: topic filters that it may subscribe to.
    """

    login: str
    says: tuple[str, ...]
    hears: tuple[str, ...]


def identities_of(topics: Topics, users: Mapping[str, Sequence[str]]) -> Iterator[Identity]:
    """Yield all logins of a table.

    Args:
        topics: the table's.
        users: user to roles, as its configuration has them.
    """
    for name, (says, hears) in SERVICES.items():
        yield _identity(topics, name, says, hears)
    for user, roles in users.items():
        rights = [_ROLES[role] for role in roles]
        yield _identity(
            topics,
            user,
            [each for says, _ in rights for each in says],
            [each for _, hears in rights for each in hears],
        )


def _identity(topics: Topics, name: str, says: Sequence[str], hears: Sequence[str]) -> Identity:
    def whole(filters: Sequence[str]) -> tuple[str, ...]:
        named = (f"{topics.root}/{each.format(user=name)}" for each in filters)
        return tuple(dict.fromkeys(named))

    return Identity(f"{topics.table}-{name}", whole(says), whole(hears))
