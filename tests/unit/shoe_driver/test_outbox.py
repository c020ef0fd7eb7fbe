"""The outbox: a window over numbered messages, against a line that loses what it likes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_driver.outbox import AckOutcome, Outbox

SEED = 20261127


def message(seq: int) -> bytes:
    return b"event %d" % seq


def filled(count: int, *, acked: int = 0, in_flight: int = 4, kept: int = 8) -> Outbox:
    outbox = Outbox(acked=acked, in_flight=in_flight, kept=kept)
    offer(outbox, *range(1, count + 1))
    return outbox


def offer(outbox: Outbox, *seqs: int) -> None:
    """These events, new ones or read from the journal again."""
    for seq in seqs:
        if outbox.offer(seq):
            outbox.keep(message(seq))


def send(outbox: Outbox, most: int = 1_000) -> list[int]:
    """Send what is due; the line takes at most so many."""
    sent: list[int] = []
    for seq, content in outbox.due():
        if len(sent) == most:
            break
        assert content == message(seq)
        outbox.sent(seq)
        sent.append(seq)
    return sent


def test_no_more_than_the_window_is_in_flight() -> None:
    outbox = filled(10)
    assert send(outbox) == [1, 2, 3, 4]
    assert send(outbox) == []
    assert outbox.acknowledge(2) is AckOutcome.ADVANCED
    assert send(outbox) == [5, 6]


def test_what_the_line_did_not_take_is_due_again() -> None:
    outbox = filled(5)
    assert send(outbox, most=2) == [1, 2]
    assert send(outbox) == [3, 4]


def test_resend_begins_after_the_last_acknowledged() -> None:
    outbox = filled(6)
    send(outbox)
    outbox.acknowledge(1)
    send(outbox)
    outbox.resend()
    assert send(outbox) == [2, 3, 4, 5]


def test_after_a_start_only_what_was_not_acknowledged_is_told() -> None:
    outbox = Outbox(acked=3, in_flight=4)
    assert (outbox.head, list(outbox.due()), outbox.lacks) == (3, [], None)
    offer(outbox, 4, 5)
    assert send(outbox) == [4, 5]


# Of 6 events 4 were sent, and so many acknowledged; then one acknowledgement more: what it is,
# what then is acknowledged, and what is sent next.
ACKS = [
    (2, 3, AckOutcome.ADVANCED, 3, [5, 6]),
    (2, 6, AckOutcome.ADVANCED, 6, []),  # of events that are not even sent: a former life sent them
    (2, 2, AckOutcome.REPEATED, 2, [5, 6]),
    (2, 1, AckOutcome.REWOUND, 1, []),
    (2, 0, AckOutcome.REWOUND, 0, []),
    (2, 7, AckOutcome.BEYOND, 2, [5, 6]),
    (2, -1, AckOutcome.BEYOND, 2, [5, 6]),
]


@pytest.mark.parametrize(("before", "seq", "outcome", "acked", "then"), ACKS)
def test_acknowledgement(
    before: int, seq: int, outcome: AckOutcome, acked: int, then: list[int]
) -> None:
    outbox = filled(6)
    send(outbox)
    outbox.acknowledge(before)
    assert outbox.acknowledge(seq) is outcome
    assert outbox.acked == acked
    assert send(outbox) == then


def test_acknowledged_events_are_forgotten() -> None:
    outbox = filled(8)
    send(outbox)
    outbox.acknowledge(3)
    assert outbox.kept == 5


def test_more_than_is_kept_is_read_from_the_journal_again() -> None:
    outbox = filled(20, kept=5)
    assert (outbox.kept, outbox.head, outbox.lacks) == (5, 20, None)
    told = []
    while outbox.acked < 20:
        told += send(outbox)
        outbox.acknowledge(told[-1])
        if (start := outbox.lacks) is not None:
            offer(outbox, *range(start, 21))
        assert outbox.kept <= 5
    assert told == list(range(1, 21))


def test_a_core_that_has_lost_its_log_is_told_again_from_where_it_is() -> None:
    outbox = filled(6)
    send(outbox)
    outbox.acknowledge(6)
    assert outbox.acknowledge(2) is AckOutcome.REWOUND
    assert (outbox.lacks, send(outbox)) == (3, [])
    offer(outbox, 5, 6)  # what is not the next is left out
    assert outbox.lacks == 3
    offer(outbox, 3, 4, 5, 6)
    assert send(outbox) == [3, 4, 5, 6]


@given(st.integers(0, 2**32), st.integers(1, 60))
def test_over_a_lossy_line_the_core_gets_all_in_order(seed: int, count: int) -> None:
    """The model: a core that appends what comes next, drops the rest, and acknowledges both."""
    rng = random.Random(seed)
    outbox = Outbox(acked=0, in_flight=5, kept=7)
    head, core = 0, 0
    for step in range(20_000):
        if core == count:
            break
        if head < count and rng.random() < 0.5:
            head += 1
            offer(outbox, head)
        if rng.random() < 0.1:
            outbox.resend()
        if (start := outbox.lacks) is not None:
            offer(outbox, *range(start, head + 1))
        for seq, content in list(outbox.due()):
            assert content == message(seq)
            assert seq <= outbox.acked + 5
            outbox.sent(seq)
            if rng.random() < 0.6:  # else the line has lost it
                core += seq == core + 1
                if rng.random() < 0.6:
                    outbox.acknowledge(core)
        assert outbox.kept <= 7, step
    assert core == count, f"seed {seed}"
