"""What a table's uplink says of itself to the hub: that it runs, has stopped, or was ended.

A feed that has stopped sends no event; without this, only its own journal would know. Silence says
something too: a word is repeated every `REPEATED_S`, and an uplink whose newest one is older than
`SILENT_S` is away. Pure.
"""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from events.errors import InputError

__all__ = ["REPEATED_S", "SILENT_S", "UplinkWord", "encode_word", "parse_word"]

REPEATED_S: Final = 20.0
"""How often a word that has not changed is said again."""

SILENT_S: Final = 90.0
"""An uplink that was not heard for so long is away; a hub's election may lose a word or two."""

_MOST: Final = 1000


class UplinkWord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a feed stands, by its uplink.

    Args:
        state: `running`; `stopped` until a person has looked; `ended` by a person, in order.
        position: up to where the hub has the log; where stopped, what the verdict is about.
        code: why it has stopped: `fork`, `gap` or `forged`; else empty.
        reason: one line for a person, where it has stopped; else empty.
    """

    state: Literal["running", "stopped", "ended"]
    position: int = 0
    code: str = ""
    reason: str = ""


_words: Final = msgspec.json.Decoder(UplinkWord)


def encode_word(word: UplinkWord) -> bytes:
    """As it is published."""
    return msgspec.json.encode(word)


def parse_word(data: bytes) -> UplinkWord:
    """Read what was published in a table's name; whoever has its login can say anything.

    Raises:
        InputError: it is no such word.
    """
    try:
        word = _words.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"an uplink's word cannot be read: {error}") from error
    if max(len(word.code), len(word.reason)) > _MOST or "\0" in word.code + word.reason:
        raise InputError("an uplink's word cannot be read: too long, or with NUL in it")
    if not 0 <= word.position < 2**63:
        raise InputError("an uplink's word cannot be read: its position is none")
    return word
