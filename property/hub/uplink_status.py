"""What a table's uplink says of itself to the hub: that it runs, has stopped, or was ended.

A feed that has stopped sends no event; without this, only its own journal would know. Silence says
something too: a word is repeated every `REPEATED_S`, and an uplink whose newest one is older than
`SILENT_S` is away. Pure.
"""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from events.errors import InputError

__all__ = [
    "REPEATED_S",
    "SILENT_S",
    "Heard",
    "UplinkWord",
    "encode_word",
    "parse_word",
    "stopped_word",
]

REPEATED_S: Final = 20.0
"""How often a word that has not changed is said again."""

SILENT_S: Final = 90.0
"""An uplink that was not heard for so long is away; a hub's election may lose a word or two."""

_MOST: Final = 1000
# Another worker may have recorded a stop and died before its end: that is recorded so often.
_FORGOTTEN_S: Final = 300.0


class UplinkWord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a feed stands, by its uplink.

    Args:
        state: `running`; `stopped` until a person has looked; `ended` by a person, in order.
        position: up to where the hub has the log; where stopped, what the verdict is about.
        code: why it has stopped: `fork`, `gap` or `forged`; else empty.
        reason: one line for a person, where it has stopped; else empty.
        by: who has given the table up; empty where the uplink itself says that it ended.
    """

    state: Literal["running", "stopped", "ended"]
    position: int = 0
    code: str = ""
    reason: str = ""
    by: str = ""


class Heard:
    """Which words of uplinks change what is on record of them.

    Two uplinks of one table, the usual cause of a fork, contradict one another: while one of them
    says that it has stopped, the other's `running` sets nothing right.

    Args:
        now: seconds of a clock that never steps back; who was heard before is not known.
    """

    def __init__(self, now: float) -> None:
        self._began = now
        self._stopped: dict[str, float] = {}
        self._cleared: dict[str, float] = {}

    def counts(self, origin: str, word: UplinkWord, now: float) -> bool:
        """Whether a word is to be recorded: a stop, always; its end, once it is sure."""
        if word.state == "stopped":
            self._stopped[origin] = now
            self._cleared.pop(origin, None)
            return True
        if word.by:
            self._stopped.pop(origin, None)
            return True
        quiet_s = now - max(self._began, self._stopped.get(origin, self._began))
        repeated = now - self._cleared.get(origin, -_FORGOTTEN_S) < _FORGOTTEN_S
        if word.state == "ended" or quiet_s <= SILENT_S or repeated:
            return False
        self._cleared[origin] = now
        return True


_words: Final = msgspec.json.Decoder(UplinkWord)


def stopped_word(code: str, position: int, text: str) -> UplinkWord:
    """That a feed has stopped; its reason is made one line that everybody reads."""
    line = "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))
    return UplinkWord(state="stopped", position=position, code=code, reason=line[:_MOST])


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
    texts = (word.code, word.reason, word.by)
    if max(map(len, texts)) > _MOST or not all(map(str.isprintable, texts)):
        raise InputError("an uplink's word cannot be read: too long, or not one line of text")
    if not 0 <= word.position < 2**63:
        raise InputError("an uplink's word cannot be read: its position is none")
    return word
