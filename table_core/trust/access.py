"""Who may do what at a table, and how the bus is trusted: as the site's files say now. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from events.clock import rfc3339
from events.mqtt.process import Effect
from events.proof.message_mac import MessageKey

__all__ = ["SHOE", "Access", "BusMode", "BusPolicy", "ReadAccess", "access_changes"]

SHOE: Final = "shoe"
"""The owner of the driver's key; no user may have this name."""
_NS_IN_MS: Final = 1_000_000

BusMode: TypeAlias = Literal["off", "trust-broker", "enrolling", "required"]
"""How a table trusts the bus.

`off`: no keys, and an alarm says so. `trust-broker`: the site has chosen to go without.
`enrolling`: a code must be good, messages without one count as well, and an alarm names who sends
them. `required`: what nothing proves is not done.
"""


class BusPolicy(Struct, frozen=True, kw_only=True):
    """Which messages a table believes.

    Args:
        mode: see `BusMode`.
        keys: by owner, the newest first.
        without: users whose programs have no key, by the site's choice.
        fault: why the file of keys cannot be used as it is now, for a person; else empty.
    """

    mode: BusMode = "trust-broker"
    keys: Mapping[str, tuple[MessageKey, ...]] = {}
    without: frozenset[str] = frozenset()
    fault: str = ""

    def must_prove(self, owner: str) -> bool:
        """Return whether a message of this owner counts only with a good code."""
        return self.mode == "required" and owner not in self.without


class Access(Struct, frozen=True, kw_only=True):
    """What the site's files say of a table.

    Args:
        roles: user to roles.
        bus: how the bus is trusted.
    """

    roles: Mapping[str, frozenset[str]]
    bus: BusPolicy = BusPolicy()


def access_changes(before: Access, after: Access) -> Iterator[str]:
    """Yield what differs, for a person: modes, exceptions, keys and roles, never a secret."""
    old, new = before.bus, after.bus
    yield from _change("mode", [old.mode], [new.mode])
    yield from _change("without", old.without, new.without)
    for owner in sorted(old.keys.keys() | new.keys.keys()):
        keys = (map(_key_name, each.keys.get(owner, ())) for each in (old, new))
        yield from _change(f"keys of {owner}", *keys)
    for user in sorted(before.roles.keys() | after.roles.keys()):
        yield from _change(
            f"roles of {user}", *(each.roles.get(user, ()) for each in (before, after))
        )


def _key_name(key: MessageKey) -> str:
    """Return a key's id, and the end of one that is to be replaced."""
    return key.id if key.until_ms is None else f"{key.id} until {rfc3339(key.until_ms * _NS_IN_MS)}"


def _change(what: str, before: Iterable[str], after: Iterable[str]) -> Iterator[str]:
    was, now = (", ".join(sorted(each)) or "none" for each in (before, after))
    if was != now:
        yield f"{what}: {was} became {now}"


class ReadAccess(Effect[Access], frozen=True):
    """Return the present access; the same object until a file has changed. Does not wait."""
