"""The accounts of people who may log in: a TOML file of names, roles and argon2 hashes.

`save_accounts` writes a new file next to the old one and renames it over it. The file keeps its
readers; a first one is its owner's alone. `UserAccounts` reads it again after a change, so that a
removed person fails at the next request.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

import msgspec
from msgspec import Struct

from events.errors import InputError
from events.file_stamp import FileWatch
from events.free_text import find_forbidden
from events.mqtt.topics import SEGMENT
from events.toml_form import read_tree

__all__ = [
    "ACCOUNTS_MOST",
    "CONSOLE_ROLES",
    "FILE_MOST",
    "NAME_MOST",
    "UserAccount",
    "UserAccounts",
    "check_account",
    "load_accounts",
    "save_accounts",
]

# The roles in `events.commands.registry` that a person can have.
CONSOLE_ROLES: Final = frozenset({"dealer", "supervisor", "technician"})

ACCOUNTS_MOST: Final = 10_000
"""The accounts that a users file may have: each page that is asked for looks into it."""
FILE_MOST: Final = 4 * 1024 * 1024
"""Its length, bytes."""
NAME_MOST: Final = 64
"""The characters of a name: the login page reads no longer one."""

_NS: Final = 1_000_000_000
_DAY_NS: Final = 86_400 * _NS


class UserAccount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person who may log in.

    Args:
        password: the argon2 hash.
        roles: some of `CONSOLE_ROLES`.
        changed: when the password was set, seconds since 1970 UTC; None before that was kept.
        until: when the account ends, seconds since 1970 UTC; None where it does not.
        reason: why there is an account that ends.
    """

    password: str
    roles: tuple[str, ...]
    changed: int | None = None
    until: int | None = None
    reason: str | None = None

    def has_ended(self, utc_ns: int) -> bool:
        """Return whether the account has ended by a time, nanoseconds since 1970 UTC."""
        return self.until is not None and utc_ns >= self.until * _NS

    def is_too_old(self, days: int | None, utc_ns: int) -> bool:
        """Return whether the password is older than so many days, or of unknown age."""
        if days is None:
            return False
        return self.changed is None or utc_ns - self.changed * _NS > days * _DAY_NS


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The users file."""

    users: dict[str, UserAccount] = {}


class UserAccounts:
    """The accounts in the users file, read again after each change.

    Args:
        path: the file.

    Raises:
        InputError: the file cannot be used.

    Attributes:
        on_change: called with the accounts whenever the file has changed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._watch = FileWatch(path)
        self._accounts = load_accounts(path)
        self.on_change: Callable[[Mapping[str, UserAccount]], None] = _nothing

    def all(self) -> Mapping[str, UserAccount]:
        """Return the accounts by name, as the file has them now."""
        self.get("")
        return self._accounts

    def get(self, name: str) -> UserAccount | None:
        """Return the account of that name, or None.

        If a change has made the file invalid, nobody can log in, since the accounts are unknown.
        """
        if self._watch.changed():
            try:
                self._accounts = load_accounts(self._path)
            except InputError:
                self._accounts = {}
            self.on_change(self._accounts)
        return self._accounts.get(name)


def _nothing(_: Mapping[str, UserAccount]) -> None:
    """Tell nobody."""


def load_accounts(path: Path) -> Mapping[str, UserAccount]:
    """Read the users file, and return its accounts by name.

    Raises:
        InputError: the file is missing or invalid; the text names it and the reason.
    """
    try:
        with path.open("rb") as file:
            source = file.read(FILE_MOST + 1)
        if len(source) > FILE_MOST:
            raise InputError(f"{path}: a users file has {FILE_MOST:,} bytes at the most")
        read = msgspec.convert(read_tree(source), _File)
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; make it with `baccarat user add {path} NAME --role dealer`"
        ) from error
    except ValueError as error:  # includes ValidationError
        raise InputError(f"{path}: no users file: {error}") from error
    _check_number(path, read.users)
    for name, account in read.users.items():
        check_account(name, account.roles, where=f"{path}: ")
    for key, what in find_forbidden(read.users, "users"):
        raise InputError(f"{path}: {key} {what}")
    return read.users


def _check_number(path: Path, accounts: Mapping[str, UserAccount]) -> None:
    if len(accounts) > ACCOUNTS_MOST:
        raise InputError(
            f"{path}: {len(accounts):,} accounts; keep {ACCOUNTS_MOST:,} at the most, and remove "
            "those that nobody uses: `baccarat user remove`"
        )


def check_account(name: str, roles: Iterable[str], *, where: str = "") -> None:
    """Check that a name is safe in logs and topics, and that a person can have the roles.

    Raises:
        InputError: one is invalid; the text names valid ones.
    """
    if not SEGMENT.match(name) or len(name) > NAME_MOST:
        raise InputError(
            f"{where}user {name[: NAME_MOST + 1]!r}: use up to {NAME_MOST} lower-case letters, "
            "digits, - and _"
        )
    unknown = sorted(set(roles) - CONSOLE_ROLES)
    if unknown or not tuple(roles):
        raise InputError(
            f"{where}user {name}: {f'no such role {unknown[0]!r}' if unknown else 'no role'}; "
            f"there are {', '.join(sorted(CONSOLE_ROLES))}"
        )


def save_accounts(path: Path, accounts: Mapping[str, UserAccount]) -> None:
    """Write the users file atomically, and keep its owner, group and mode.

    Raises:
        InputError: there are more than `ACCOUNTS_MOST`.
        OSError: the file cannot be written.
    """
    _check_number(path, accounts)
    lines = ["# Written by `baccarat user`: who may log in at this table's consoles.\n"]
    for name, account in sorted(accounts.items()):
        roles = ", ".join(f'"{role}"' for role in account.roles)
        lines += [f'\n[users.{name}]\nroles = [{roles}]\npassword = "{account.password}"\n']
        for key in ("changed", "until"):
            if (value := getattr(account, key)) is not None:
                lines.append(f"{key} = {value}\n")
        if account.reason is not None:
            lines.append(f"reason = {json.dumps(account.reason)}\n")
    with NamedTemporaryFile(  # created with mode 0600
        "w", encoding="utf-8", dir=path.absolute().parent, prefix=f".{path.name}-", delete=False
    ) as file:
        file.writelines(lines)
        file.flush()
        if path.exists():
            _keep_readers(file.fileno(), path.stat())
        os.fsync(file.fileno())
    Path(file.name).replace(path)


def _keep_readers(new: int, before: os.stat_result) -> None:
    """Copy owner, group and mode: the services read the file by its group, and root writes it."""
    try:
        os.fchown(new, before.st_uid, before.st_gid)
    except PermissionError:
        return  # it stays readable by the writer alone: the old group is not the writer's
    os.fchmod(new, before.st_mode & 0o777)
