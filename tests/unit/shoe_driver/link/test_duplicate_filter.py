"""Copies, new reports, conflicts and losses: each rule of the repeat filter as a row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.types import CopyConflict, ReportLost
from shoe_driver.link.duplicate_filter import DuplicateFilter
from shoe_driver.link.numbering import Numbering
from tests.support.shoe.shoe_bytes import PROFILE

assert PROFILE.repeat is not None, "this one sends copies"
assert PROFILE.wire.number is not None, "and numbers them"
POLICY = PROFILE.repeat, Numbering(PROFILE.wire.number)

# A row: frames as seq, body and @milliseconds (no time: a bare capture), and what each of them is:
# `new` report, `copy` of one, `lost:A>B` new after a loss, `conflict:BODIES`.
ROWS = """
three copies are one report         | 1a@0 1a@20 1a@40 | new copy copy
the first copy is enough            | 1a@0 2b@900 | new new
at the window's very end            | 1a@0 1a@250 | new copy
an adapter, a packet sent again     | 1a@0 1a@316 1a@700 | new copy copy
held back for five seconds          | 1a@0 1a@5250 | new copy
later than any way takes            | 1a@0 1a@5251 | new lost:2>1
time counts from the first copy     | 1a@0 1a@3000 1a@5251 | new copy lost:2>1
late, and a fourth copy             | 1a@0 1a@900 1a@900 1a@900 | new copy copy lost:2>1
another report is in between        | 1a@0 2b@300 1a@600 | new new lost:3>1
a power-up with a number, late      | 5S@0 5S@250 5S@251 | new copy lost:6>5
a fourth copy is a new report       | 1a@0 1a@1 1a@2 1a@3 | new copy copy lost:2>1
two power-ups are two               | 0S@0 0S@9 0S@18 0S@27 0S@36 | new copy copy new copy
two power-ups, copies lost          | 0S@0 0S@900 0S@910 | new new copy
bare: copies up to three            | 0S 0S 0S 0S 0S | new copy copy new copy
bare: a fourth card is a new report | 7a 7a 7a 7a | new copy copy lost:8>7
another body is a conflict          | 1a@0 1b@20 1a@40 | new conflict:a+b copy
each other body is told once        | 1a@0 1b@20 1b@40 | new conflict:a+b copy
three bodies are two conflicts      | 1a@0 1b@20 1c@40 | new conflict:a+b conflict:a+b+c
another body, late                  | 1a@0 1b@900 1a@900 | new conflict:a+b copy
another body, later than any way    | 1a@0 1b@5251 | new lost:2>1
another body as the fourth          | 1a@0 1a@1 1a@2 1b@3 | new copy copy lost:2>1
numbers go round to one             | 8a@0 9b@50 1c@100 | new new new
after power-up comes one            | 0S@0 1a@50 | new new
after power-up something was lost   | 0S@0 3a@50 | new lost:1>3
one lost                            | 4a@0 6b@50 | new lost:5>6
lost over the round                 | 9a@0 2b@50 | new lost:1>2
a power-up is no loss               | 4a@0 0S@50 1b@90 | new new new
nought is a power-up's only         | 5a@0 0b@50 1c@90 | new lost:6>0 new
nought again, after a power-up      | 0S@0 0b@900 1c@950 | new lost:1>0 new
nought for nine                     | 9a@0 0b@50 2c@90 | new lost:1>0 lost:1>2
nought first, and no power-up       | 0a@0 1b@50 | lost:1>0 new
a power-up after nought             | 0a@0 0S@900 1b@950 | lost:1>0 new new
a power-up with the number due      | 5a@0 6S@50 7b@90 | new new new
a power-up with another number      | 5a@0 8S@50 9b@90 | new lost:6>8 new
a power-up with any number, first   | 5S@0 6a@50 | new new
nothing is due before the first     | 5a@0 | new
a late copy of an older report      | 1a@0 2b@50 1a@60 | new new lost:3>1
"""


Step = tuple[str, bytes, int | None]


def cases() -> list[tuple[str, list[Step], list[str]]]:
    found = []
    for row in ROWS.strip().splitlines():
        title, frames, wanted = (part.strip() for part in row.split("|"))
        steps: list[Step] = []
        for step in frames.split():
            text, at, time = step.partition("@")
            steps.append((text[0], text[1:].encode(), int(time) * 1000 if at else None))
        found.append((title, steps, wanted.split()))
    return found


def said(seq: str, body: bytes, mono_us: int | None, repeat: DuplicateFilter) -> str:
    verdict = repeat.accept(seq, body, mono_us, booted=body == b"S")
    match verdict.finding:
        case CopyConflict() as conflict:
            assert (conflict.device_seq, verdict.new) == (seq, False)
            return "conflict:" + "+".join(bytes.fromhex(text).decode() for text in conflict.bodies)
        case ReportLost() as lost:
            assert verdict.new
            return f"lost:{lost.expected}>{lost.got}"
    return "new" if verdict.new else "copy"


@pytest.mark.parametrize(("title", "steps", "wanted"), cases(), ids=[c[0] for c in cases()])
def test_rule(title: str, steps: list[Step], wanted: list[str]) -> None:
    repeat = DuplicateFilter(*POLICY)
    assert [said(*step, repeat) for step in steps] == wanted, title


def test_reports_with_fewer_copies_are_counted_when_they_are_over() -> None:
    repeat = DuplicateFilter(*POLICY)
    counted = []
    for seq, copies in (("1", 3), ("2", 2), ("3", 1), ("4", 3)):
        for _ in range(copies):
            repeat.accept(seq, b"x", 0, booted=False)
        counted.append(repeat.short_copies)
    repeat.close_window()
    assert [*counted, repeat.short_copies] == [0, 0, 1, 2, 2]


def test_after_the_window_was_closed_the_same_again_is_new() -> None:
    repeat = DuplicateFilter(*POLICY)
    repeat.accept("1", b"x", 1_000_000, booted=False)
    repeat.close_window()
    assert said("1", b"x", 0, repeat) == "lost:2>1"  # the clock began anew
    assert repeat.short_copies == 1


def test_after_the_port_was_opened_only_the_window_counts() -> None:
    for at_us, wanted in ((250_000, "copy"), (250_001, "lost:2>1")):
        repeat = DuplicateFilter(*POLICY)
        repeat.accept("1", b"x", 0, booted=False)
        repeat.reopened()
        assert said("1", b"x", at_us, repeat) == wanted
        assert said("3", b"y", 900_000, repeat) == "lost:2>3"
        assert said("3", b"y", 5_000_000, repeat) == "copy"  # the next report has all its time


def test_no_next_file_is_begun_while_a_copy_may_come() -> None:
    repeat = DuplicateFilter(*POLICY)
    repeat.accept("1", b"x", 0, booted=False)
    assert [repeat.settled(at_us) for at_us in (5_250_000, 5_250_001)] == [False, True]
    repeat.accept("1", b"x", 0, booted=False)
    repeat.accept("1", b"x", 0, booted=False)
    assert repeat.settled(0)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=60), st.integers(0, 9))
def test_any_reports_with_any_copies_missing_are_told_once_each(
    copies: list[int], first: int
) -> None:
    repeat = DuplicateFilter(*POLICY)
    told, now = [], 0
    for index, count in enumerate(copies):
        number = first + index
        seq = str(number if number < 10 else (number - 1) % 9 + 1)
        for copy in range(count):
            at = now + copy * 17_000
            verdict = repeat.accept(seq, b"%d" % index, at, booted=number == 0)
            assert verdict.finding is None
            told += [index] if verdict.new else []
        now += 60_000
    assert told == list(range(len(copies)))
