"""The record of logins: a file of JSON lines, chained by hashes like the log's events.

Each line is an entry with `hash` as its last field: the hash of the chain after the entry's bytes
without it (`events.proof.chain`). So a line that is changed, taken out or put in between shows, and
the newest hash fixes all lines before it. Names are only those of accounts.

The chain has no key: whoever may write the file can append a line. A line `accounts` follows only
where entries since the one before it name every difference, so no change is recorded in silence.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from displays.auth.accounts import UserAccount
from events.clock import Clock, rfc3339, seconds_between
from events.errors import ConfigError, MalformedJson
from events.json_form import decode_json
from events.proof.chain import next_hash, origin_hash

__all__ = ["LoginRecord", "RecordEntry", "RecordVerdict", "read_record"]

_HASH: Final = re.compile(rb',"hash":"([0-9a-f]{64})"\}\n\Z')
_DIGEST: Final = 16  # hex digits that tell one stored password from another
_NS: Final = 1_000_000_000
_YEAR_10000_S: Final = 253_402_300_800
_ADDED: Final = frozenset({"added", "break_glass"})
_SHORTER_BEFORE: Final = _ADDED | {"password_changed"}
"""Entries whose text said less in lines that know of no `until`."""


class _Known(Struct, frozen=True, omit_defaults=True):
    """What was last recorded of an account.

    Args:
        roles: the account's, like `changed`, `until` and `reason`.
        password: a digest of what is stored.
        changed: like the next two, unset in lines of earlier builds.
    """

    roles: tuple[str, ...]
    password: str
    changed: int | UnsetType | None = UNSET
    until: int | UnsetType | None = UNSET
    reason: str | UnsetType | None = UNSET


class _Change(Struct, frozen=True):
    """A difference between two recorded states of the accounts, as an entry says it."""

    what: str
    user: str
    text: str = ""


class RecordEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry.

    Args:
        n: 1, 2, 3... without gaps.
        at: when it was written, RFC 3339 in UTC.
        what: `started` (the service), `login`, `resumed` (kept over a restart of the service),
            `logout`, `failed`, `locked`, `expired`, `added`, `removed`, `roles_changed`,
            `password_changed`, `age_changed` (of a password that is the same), `until_changed`,
            `reason_changed`, `break_glass`, `accounts`, or `unsound`.
        user: the account; empty where a name was typed that no account has.
        place: the browser's network.
        text: more, for a person.
        accounts: all accounts, where `what` is `accounts`.
    """

    n: int
    at: str
    what: str
    user: str = ""
    place: str = ""
    text: str = ""
    accounts: dict[str, _Known] = {}


class RecordVerdict(Struct, frozen=True, kw_only=True):
    """What a record holds.

    Args:
        entries: those up to the first bad line.
        chain: the hash before the first entry, and after each of them.
        first_bad: the number of the first line that does not follow; None where all do.
    """

    entries: tuple[RecordEntry, ...]
    chain: tuple[bytes, ...]
    first_bad: int | None = None


def read_record(path: Path, origin: str) -> RecordVerdict:
    """Read and verify a record; one that is not there is empty.

    Raises:
        OSError: it cannot be read.
    """
    chain, entries = [origin_hash(f"{origin}/logins")], list[RecordEntry]()
    known, since = dict[str, _Known](), 0
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, start=1):
        found = _HASH.search(line)
        body = line[: found.start()] + b"}" if found else b""
        following = next_hash(chain[-1], body)
        try:
            entry = decode_json(body, RecordEntry)
        except MalformedJson:
            entry = None
        follows = found and following.hex().encode() == found[1] and entry and entry.n == number
        if not entry or not follows or _is_false(entry, known, entries[since:]):
            return RecordVerdict(entries=tuple(entries), chain=tuple(chain), first_bad=number)
        if entry.what == "accounts":
            known, since = entry.accounts, number
        chain.append(following)
        entries.append(entry)
    return RecordVerdict(entries=tuple(entries), chain=tuple(chain))


class LoginRecord:
    """Appends entries, each on the disk before anything follows from it.

    Args:
        path: the file; its owner's alone.
        origin: the table's `<site>/<table>`.
        clock: for the time of an entry.

    Raises:
        ConfigError: it cannot be written, or another service writes it.
    """

    def __init__(self, path: Path, origin: str, clock: Clock) -> None:
        self._clock = clock
        try:
            found = read_record(path, origin)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigError(
                f"displays.record: {path}: {error.strerror}; name a file that this service alone "
                "writes"
            ) from error
        self._n, self._head = len(found.entries), found.chain[-1]
        known = [each.accounts for each in found.entries if each.what == "accounts"]
        self._known = known[-1] if known else {}
        if found.first_bad is not None:
            self._set_aside(path, found.first_bad)
        self.note("started")

    def _set_aside(self, path: Path, first_bad: int) -> None:
        """Begin a new file after one that does not follow; a person keeps the old one."""
        aside = path.with_name(f"{path.name}.unsound-{self._clock.utc_ns() // 1_000_000_000}")
        whole = path.read_bytes().splitlines(keepends=True)
        aside.touch(0o600)
        aside.write_bytes(b"".join(whole))
        os.ftruncate(self._file, sum(map(len, whole[: first_bad - 1])))
        self.note(
            "unsound", text=f"line {first_bad} did not follow; the file is kept as {aside.name}"
        )

    def newest(self) -> tuple[int, bytes]:
        """Return how many entries there are, and the hash after the last of them."""
        return self._n, self._head

    def note(self, what: str, user: str = "", *, place: str = "", text: str = "") -> None:
        """Append an entry; see `RecordEntry`.

        Raises:
            OSError: the disk refused it.
        """
        self._append(what, user=user, place=place, text=text, accounts={})

    def note_changes(self, accounts: Mapping[str, UserAccount]) -> None:
        """Append what has changed of the accounts since it was last recorded.

        Raises:
            OSError: the disk refused it.
        """
        now = {name: _known(account) for name, account in accounts.items()}
        if now == self._known:
            return
        for each in _changes(self._known, now):
            self.note(each.what, each.user, text=each.text)
        self._append("accounts", user="", place="", text="", accounts=now)
        self._known = now

    def _append(
        self, what: str, *, user: str, place: str, text: str, accounts: dict[str, _Known]
    ) -> None:
        at = rfc3339(self._clock.utc_ns())
        entry = RecordEntry(
            n=self._n + 1, at=at, what=what, user=user, place=place, text=text, accounts=accounts
        )
        body = msgspec.json.encode(entry)
        head = next_hash(self._head, body)
        os.write(self._file, body[:-1] + f',"hash":"{head.hex()}"}}\n'.encode())
        os.fsync(self._file)
        self._n, self._head = entry.n, head

    def close(self) -> None:
        """Let another service write it."""
        os.close(self._file)


def _known(account: UserAccount) -> _Known:
    digest = hashlib.sha256(account.password.encode()).hexdigest()[:_DIGEST]
    return _Known(account.roles, digest, account.changed, account.until, account.reason)


def _changes(before: Mapping[str, _Known], now: Mapping[str, _Known]) -> Iterator[_Change]:
    """Yield what differs; nothing of what a line of an earlier build did not know."""
    for name in sorted(now.keys() | before.keys()):
        old, new = before.get(name), now.get(name)
        if new is None:
            yield _Change("removed", name)
        elif old is None:
            what = "break_glass" if isinstance(new.until, int) else "added"
            yield _Change(what, name, new.reason or ", ".join(new.roles))
        else:
            yield from _changes_of(name, old, new)


def _changes_of(name: str, old: _Known, new: _Known) -> Iterator[_Change]:
    if old.roles != new.roles:
        yield _Change("roles_changed", name, ", ".join(new.roles))
    if old.password != new.password:
        yield _Change("password_changed", name, f"on {_day(new.changed)}")
    if old.until is UNSET:
        return
    if old.changed != new.changed and old.password == new.password:
        yield _Change("age_changed", name, f"{_day(old.changed)} became {_day(new.changed)}")
    if old.until != new.until:
        yield _Change("until_changed", name, f"{_day(old.until)} became {_day(new.until)}")
    if old.reason != new.reason:
        yield _Change("reason_changed", name, new.reason or "")


def _day(utc_s: int | UnsetType | None) -> str:
    if not isinstance(utc_s, int):
        return "none"
    return f"{rfc3339(utc_s * _NS)[:19]}Z" if 0 <= utc_s < _YEAR_10000_S else f"second {utc_s}"


def _is_false(
    entry: RecordEntry, before: Mapping[str, _Known], named: Iterable[RecordEntry]
) -> bool:
    """Return whether an entry has no time, or changes accounts in silence: no service wrote it.

    Args:
        entry: the entry.
        before: the accounts that were recorded last.
        named: the entries since then.
    """
    try:
        seconds_between(entry.at, entry.at)
    except ValueError:
        return True
    if entry.what != "accounts":
        return False
    said = {_Change(each.what, each.user, each.text) for each in named}
    of_earlier_builds = {
        _Change("added" if each.what in _ADDED else each.what, each.user) for each in said
    }
    for each in _changes(before, entry.accounts):
        new = entry.accounts.get(each.user)
        if each in said:
            continue
        if new is None or new.until is not UNSET or each.what not in _SHORTER_BEFORE:
            return True
        if _Change(each.what, each.user) not in of_earlier_builds:
            return True
    return False
