"""Check whether another user, such as a service's, may read a file."""

import os
import pwd
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["SystemUser", "first_unreadable", "owner_of"]

_ROOT: Final = 0
_READ, _ENTER = 4, 1


class SystemUser(NamedTuple):
    """A user by number, with all groups.

    Args:
        name: the user's name on this machine.
    """

    name: str
    uid: int
    groups: frozenset[int]


def owner_of(place: Path) -> SystemUser | None:
    """Return the owner of a file or folder; None where it does not exist."""
    try:
        found = place.stat()
    except OSError:
        return None
    try:
        user = pwd.getpwuid(found.st_uid)
    except KeyError:
        return SystemUser(f"user {found.st_uid}", found.st_uid, frozenset({found.st_gid}))
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    return SystemUser(user.pw_name, found.st_uid, frozenset(groups))


def first_unreadable(path: Path, reader: SystemUser) -> Path | None:
    """Return the first folder that the reader may not enter, or the file that it may not read.

    Access lists beyond owner, group and others are not checked.

    Raises:
        OSError: it does not exist, or is not ours to look at.
    """
    whole = path.resolve(strict=True)
    for place in reversed(whole.parents):
        if not _may(place, reader, _ENTER):
            return place
    return None if _may(whole, reader, _READ) else whole


def _may(place: Path, reader: SystemUser, what: int) -> bool:
    if reader.uid == _ROOT:
        return True
    found = place.stat()
    if found.st_uid == reader.uid:
        bits = found.st_mode >> 6
    elif found.st_gid in reader.groups:
        bits = found.st_mode >> 3
    else:
        bits = found.st_mode
    return bool(bits & what)
