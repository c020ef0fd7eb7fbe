"""Message authentication codes: a message proves who sent it, whatever the broker does. Pure.

The code is one more field at the end of a JSON object. So every broker and every MQTT version
carries it, and a reader that knows no codes reads the rest:

    {"transaction":"t-1"}
    {"transaction":"t-1","mac":"v1.5f1c2a90.1764453600000.<hex>"}

Its parts are the form, the first 8 hex digits of SHA-256 of the key, the time in milliseconds since
1970 UTC, and in hex the HMAC-SHA256 (RFC 2104) of `v1`, topic, time and the object as it was before
the field, each but the last followed by a line feed. Nothing is parsed or written again: the bytes
count. The topic is in it, so a message is worth nothing under another name or at another table.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from events.errors import InputError

__all__ = [
    "MESSAGE_SECRET_BYTES",
    "MessageKey",
    "MessageMac",
    "ReceivedMessage",
    "add_mac",
    "parse_message_keys",
    "split_mac",
]

MESSAGE_SECRET_BYTES: Final = 32
_FORM: Final = "v1"
_MAC: Final = re.compile(rb',"mac":"v1\.([0-9a-f]{8})\.([0-9]{1,16})\.([0-9a-f]{64})"\}\Z')
_ID: Final = 8  # hex digits
_NS_IN_MS: Final = 1_000_000
_LINE: Final = re.compile(
    r"MESSAGEKEY ([a-z0-9_-]+/[a-z0-9_-]+)/([a-z0-9_-]+) "
    r"([0-9a-f]{8}) ([0-9a-f]{64}) (-|[0-9]{1,16})"
)
_NO_END: Final = "-"


class MessageKey(Struct, frozen=True, kw_only=True):
    """A secret that a table shares with one user, or with its shoe driver.

    Args:
        origin: the table's `<site>/<table>`.
        owner: the user on the bus, or `shoe`.
        secret: `MESSAGE_SECRET_BYTES` random bytes.
        until_ms: the time from which it is worth nothing, milliseconds since 1970 UTC; None where
            it has no end.
    """

    origin: str
    owner: str
    secret: bytes
    until_ms: int | None = None

    def __repr__(self) -> str:
        return f"the message key {self.id} of {self.origin}/{self.owner}"  # without the secret

    @property
    def id(self) -> str:
        """Its name in messages."""
        return hashlib.sha256(self.secret).hexdigest()[:_ID]

    @property
    def line(self) -> str:
        """Its line in a file of keys."""
        until = _NO_END if self.until_ms is None else str(self.until_ms)
        return f"MESSAGEKEY {self.origin}/{self.owner} {self.id} {self.secret.hex()} {until}\n"

    def is_valid(self, utc_ms: int) -> bool:
        """Return whether it counts at a time."""
        return self.until_ms is None or utc_ms < self.until_ms


class MessageMac(Struct, frozen=True):
    """What the field says: key, time in milliseconds since 1970 UTC, and the code in hex."""

    key: str
    at_ms: int
    code: str


class ReceivedMessage(Struct, frozen=True):
    """A message, split into what its sender wrote and what proves the sender.

    Args:
        body: the object as its sender wrote it.
        mac: the field after it; None where there was none.
    """

    body: bytes
    mac: MessageMac | None

    def key_among(self, topic: str, keys: Iterable[MessageKey], utc_ms: int) -> MessageKey | None:
        """Return the key that made the code for this topic; None where none of these did."""
        given = self.mac
        if given is None:
            return None
        for key in keys:
            if key.id == given.key and key.is_valid(utc_ms):
                good = hmac.compare_digest(_code(key, topic, given.at_ms, self.body), given.code)
                return key if good else None
        return None


def add_mac(key: MessageKey, topic: str, body: bytes, utc_ns: int) -> bytes:
    """Return a message with its code.

    Args:
        key: the sender's.
        topic: where it will be published.
        body: a JSON object that is not empty.
        utc_ns: now, nanoseconds since 1970 UTC.
    """
    at_ms = utc_ns // _NS_IN_MS
    text = f',"mac":"{_FORM}.{key.id}.{at_ms}.{_code(key, topic, at_ms, body)}"}}'
    return body[:-1] + text.encode()


def split_mac(payload: bytes) -> ReceivedMessage:
    """Split a message, without judging it."""
    found = _MAC.search(payload)
    if found is None:
        return ReceivedMessage(payload, None)
    key, at_ms, code = (part.decode() for part in found.groups())
    return ReceivedMessage(payload[: found.start()] + b"}", MessageMac(key, int(at_ms), code))


def _code(key: MessageKey, topic: str, at_ms: int, body: bytes) -> str:
    text = f"{_FORM}\n{topic}\n{at_ms}\n".encode() + body
    return hmac.digest(key.secret, text, "sha256").hex()


def parse_message_keys(text: str) -> tuple[MessageKey, ...]:
    """Read a file of keys, the newest of an owner first.

    Raises:
        InputError: a line is none of a key; says which, and never shows a secret.
    """
    return tuple(
        _parse(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    )


def _parse(number: int, line: str) -> MessageKey:
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise InputError(f"line {number}: no message key; `baccarat keys messages` makes them")
    origin, owner, name, secret, until = found.groups()
    until_ms = None if until == _NO_END else int(until)
    key = MessageKey(origin=origin, owner=owner, secret=bytes.fromhex(secret), until_ms=until_ms)
    if key.id != name:
        raise InputError(f"line {number}: the message key {name} is damaged; make it again")
    return key
