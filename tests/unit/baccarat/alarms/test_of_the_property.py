"""Alarms of the property that need no hub: each stands, its page is followed, and it is over.

Those of the archive are in `tests/integration/property/test_alarm_pages.py`.
"""

from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from baccarat.property.pay_scales import contradicting_scales
from baccarat.property.status import _refusals_by_table
from events.proof.note import SigningKey
from property.archive.stream_reader import StreamMessage
from property.health.readings import ArchivedUpTo, Reading
from property.health.verdict import LATE_S, judge_property
from property.hub.replicated_event import replication_headers
from property.hub.subjects import checkpoint_subject, event_subject, split_origin
from property.witness.service import Witness, WitnessSettings
from property.witness.store import WitnessBook, read_book
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.pay_scale import pay_scale
from tests.support.alarm_pages import follow, part, typed
from tests.support.clock import FakeClock
from tests.support.machine.commands import here
from tests.support.property.witnessed import SignedLog

_ORIGIN: Final = "harbour/b7"
_OLD, _NEW = (SigningKey(_ORIGIN, bytes([n]) * 32) for n in (1, 2))


class Watched:
    """A witness that reads one log, with its book."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "witness.sqlite"
        self._sequence = count(1)
        self._given = [_OLD.verifier]
        self._log = SignedLog(_ORIGIN, _OLD)
        self._start()
        self.grow(6)

    def _start(self) -> None:
        self._book = WitnessBook.open(self._path)
        key = SigningKey("harbour/witness", b"w" * 32)
        settings = WitnessSettings(key=key, given={_ORIGIN: self._given})
        self._witness = Witness(settings, self._book, FakeClock())

    @property
    def standing(self) -> set[str]:
        """The witness's refusals that nothing has corrected, as `property status` shows them."""
        _, refused = read_book(self._path)
        return set(_refusals_by_table(refused).get(_ORIGIN, ()))

    def close(self) -> None:
        self._book.close()

    def say(self, *positions: int, log: SignedLog | None = None) -> None:
        """The hub has these events."""
        events = [(log or self._log).events[position - 1] for position in positions]
        messages = [
            StreamMessage(
                event_subject(*split_origin(_ORIGIN)),
                replication_headers(each),
                each.stored,
                next(self._sequence),
            )
            for each in events
        ]
        self._witness.hear(messages, "stream", messages[-1].sequence)

    def sign(self, log: SignedLog | None = None) -> None:
        """The table signs what its log has."""
        note = (log or self._log).checkpoint()
        subject = checkpoint_subject(*split_origin(_ORIGIN))
        self._witness.checkpoint(StreamMessage(subject, {}, note, next(self._sequence)))

    def grow(self, events: int) -> None:
        """The table plays on, and its checkpoint covers that."""
        begin = len(self._log.events) + 1
        self._log.grow(events)
        self.say(*range(begin, begin + events))
        self.sign()

    def rewrite(self) -> None:
        """Somebody changes an event that a checkpoint covers, and signs again."""
        other = self._log.rewritten(3, "another evening")
        self.sign(other)

    def fork(self) -> None:
        """Of an event that no checkpoint covers yet, the hub has another one too."""
        self._log.grow(2)
        self.say(7, 8)
        self.say(7, log=self._log.rewritten(7, "another evening"))

    def lose(self) -> None:
        """An event is missing on its way."""
        self._log.grow(2)
        self.say(len(self._log.events))

    def find(self) -> None:
        """It came after all, as after `property refill`."""
        end = len(self._log.events)
        self.say(end - 1, end)
        self.sign()

    def another_key(self) -> None:
        self._log.key = _NEW
        self.grow(1)

    def give_key(self) -> None:
        """The page has the witness know the new key, and starts it with it."""
        assert typed("witness")[-1] == "systemctl restart baccarat-property@witness"
        self._given.append(_NEW.verifier)
        self.close()
        self._start()
        self.sign()


# `CODE: what breaks it -> what the page says`; the log of a rewritten one is kept as it was.
_ROWS: Final = """
conflicting: rewrite -> grow 2
fork: fork -> grow 2
gap: lose -> find
unknown_key: another_key -> give_key
"""


@pytest.mark.parametrize(
    ("code", "row"), [row.split(": ", 1) for row in _ROWS.strip().splitlines()]
)
def test_the_page_of_the_witness_ends_its_alarm(code: str, row: str, tmp_path: Path) -> None:
    of = Watched(tmp_path)
    try:
        broken, mended = follow(row, of)
    finally:
        of.close()
    assert (broken, mended) == ({code}, set())


def test_the_page_of_two_pay_scales_ends_their_alarm(tmp_path: Path) -> None:
    """With `pay_scale` the wrong table starts by the right rulebook only."""
    assert "Set `pay_scale` at every table" in part("pay_scale", "Mitigation")
    played = {
        "harbour/b7": "nz-scale-one",
        "harbour/b8": "nz-scale-two",
        "river/b7": "nz-scale-two",
    }

    def standing() -> set[str]:
        scales = {table: pay_scale(load_rulebook(each)) for table, each in played.items()}
        return set(contradicting_scales({table: each for table, each in scales.items() if each}))

    assert standing() == {"harbour/b7", "harbour/b8"}
    config = tmp_path / "b8.toml"
    for rulebook, code in (("nz-scale-two", 2), ("nz-scale-one", 0)):
        config.write_text(
            f'site = "harbour"\ntable = "b8"\nrulebook = "{rulebook}"\npay_scale = "one"\n'
            '[shoe]\nurl = "pty:/x"\n'
        )
        assert here("config", "check", config).code == code
    played["harbour/b8"] = "nz-scale-one"
    assert standing() == set()


def test_the_page_of_a_silent_uplink_ends_its_alarm() -> None:
    """Its status comes again."""
    assert "sends its status" in part("uplink_silent", "Clears when")

    def state(age_s: float) -> Any:
        word = Reading(kind="table", name=_ORIGIN, state="running", position=5, age_s=age_s)
        return judge_property({_ORIGIN: ArchivedUpTo(position=5)}, [word], 0.0).tables[_ORIGIN]

    assert [state(age).state for age in (LATE_S + 1, 1)] == ["silent", "running"]
    assert [state(age).live for age in (LATE_S + 1, 1)] == [False, True]


FOLLOWED: Final = frozenset({"pay_scale", "uplink_silent", "witness"})
