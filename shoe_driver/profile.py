"""A wire profile: what a site's shoe speaks, as data.

A profile names one framer and one check (both code), and brings a repeat policy, a code table and
options. Profiles are TOML; those that ship with the product lie in `shoe_driver/profiles/`. The
hash of the file's bytes stands in every shoe event, so that it can be told which table read it.
"""

import hashlib
import tomllib
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from events.errors import ConfigError
from shoe_driver.codes import Codes, CodeTable
from shoe_driver.framing import CHECKS, FRAMERS

__all__ = [
    "DATA_LIMIT",
    "LimitOptions",
    "Profile",
    "RepeatPolicy",
    "SerialOptions",
    "parse_profile",
]

DATA_LIMIT: Final = 64  # the most data bytes that any framer is asked to take


class SerialOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The line: 8N1 without flow control at `baud`, which a transport's URL may override."""

    baud: int


class LimitOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where patience ends.

    Args:
        data_bytes: the longest data part of a frame; longer is no frame.
        partial_ms: a frame begun and not ended for so long is broken.
        silence_ms: silence in mid-deal that counts as a stall.
    """

    data_bytes: int
    partial_ms: int
    silence_ms: int


class RepeatPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the device repeats and numbers its reports.

    Args:
        copies: how often each report is sent.
        window_ms: copies of one report come within this time of the first.
        boot: the number of a power-up (a `shoe_booted`), and of nothing else.
        cycle: the numbers that follow, in order, then round again.
    """

    copies: int
    window_ms: int
    boot: str
    cycle: str


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One wire profile.

    Args:
        id: its name.
        framer: which framer cuts the stream.
        check: which check a frame must pass.
        loss_detection: what it can prove: `full`, `weak` or `none`.
        disclosure: whether faces come at the draw (`immediate`), in a burst before the result
            (`deferred`), or as the shoe pleases (`auto`).
        result: whether a settlement needs the device's own result.
        serial: the line.
        limits: where patience ends.
        repeat: how reports are repeated.
        codes: what they mean.
        digest: SHA-256 of the file, hex.
    """

    id: str
    framer: str
    check: str
    loss_detection: Literal["full", "weak", "none"]
    disclosure: Literal["immediate", "deferred", "auto"]
    result: Literal["required", "none"]
    serial: SerialOptions
    limits: LimitOptions
    repeat: RepeatPolicy
    codes: CodeTable
    digest: str


def parse_profile(text: bytes, *, source: str) -> Profile:
    """Read a profile from its file's bytes.

    Args:
        text: the bytes of the TOML file.
        source: its name, for messages.

    Raises:
        ConfigError: not TOML, or not a profile; names the file and the key.
    """
    try:
        table: dict[str, Any] = tomllib.loads(text.decode())
        table["digest"] = hashlib.sha256(text).hexdigest()
        profile = msgspec.convert(table, Profile, strict=False)
    except (ValueError, RecursionError) as error:
        # msgspec.ValidationError, TOMLDecodeError and UnicodeDecodeError are all ValueErrors.
        raise ConfigError(f"profile {source}: {error}") from error
    for complaint in _complaints(profile):
        raise ConfigError(f"profile {source}: {complaint}")
    return profile


def _complaints(profile: Profile) -> Iterator[str]:
    limits, repeat = profile.limits, profile.repeat
    for what, name, known in (
        ("framer", profile.framer, FRAMERS),
        ("check", profile.check, CHECKS),
    ):
        if name not in known:
            yield f"no {what} {name!r}; there are {', '.join(sorted(known))}"
    for key, value in (
        ("serial.baud", profile.serial.baud),
        ("limits.partial_ms", limits.partial_ms),
        ("limits.silence_ms", limits.silence_ms),
        ("repeat.copies", repeat.copies),
        ("repeat.window_ms", repeat.window_ms),
    ):
        if value < 1:
            yield f"{key} is {value}; use 1 or more"
    if not 0 <= limits.data_bytes <= DATA_LIMIT:
        yield f"limits.data_bytes is {limits.data_bytes}; use 0 to {DATA_LIMIT}"
    if len(set(repeat.boot + repeat.cycle)) != 1 + len(repeat.cycle) or not repeat.cycle:
        yield "repeat.boot is one character, repeat.cycle some others, each once"
    try:
        Codes(profile.codes)
    except ConfigError as error:
        yield str(error)
