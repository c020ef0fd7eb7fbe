"""`ref-crc` in whatever order its reports come: what is told, lost and promised."""

from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card
from events.types import CardDrawn, ReportLost
from shoe_driver.decode import Decoder
from tests.support.shoe.ref_bytes import BOOT, POWER_UP, REF, beat, drawn, ref_frame

BOOTED = ref_frame(POWER_UP, 0)

arrivals = st.lists(
    st.tuples(st.integers(0, 150), st.integers(0, 40), st.integers(1, 3)), max_size=120
).map(
    # Number, how late it comes, how often: in the order of arrival.
    lambda rows: [
        seq
        for _, seq in sorted((seq + late, seq) for seq, late, times in rows for _ in range(times))
    ]
)


@given(arrivals, st.sampled_from([0, 65_400]))
def test_what_is_told_and_what_is_lost_tile_the_numbers(order: list[int], first: int) -> None:
    """Whatever comes, in whatever order: each number is told once or lost once, in its place."""
    decoder = Decoder(REF)
    events = decoder.feed_bare(beat(first + 65_535, first, first))
    for seq in order:
        events += decoder.feed_bare(drawn(first + seq))
    due = first
    for event in events + decoder.finish():
        if isinstance(event.report, ReportLost):
            assert event.report.expected == str(due % 65_536)
            due += (int(event.report.got) - due) % 65_536
        else:
            assert event.device_seq == str(due % 65_536)
            due += 1
    assert due == first + (max(order) + 1 if order else 0)
    told = [event for event in events if event.report == CardDrawn(face=Card.S8)]
    assert len(told) <= len(set(order))


happenings = st.lists(
    st.one_of(
        st.tuples(st.just("drawn"), st.integers(0, 90)),
        st.tuples(st.just("beat"), st.integers(0, 90)),
        st.tuples(st.just("another boot speaks"), st.integers(0, 5)),
        st.tuples(st.just("powered up"), st.just(0)),
    ),
    max_size=60,
)


@given(happenings)
def test_what_is_promised_of_what_waits_is_told_in_the_end(steps: list[tuple[str, int]]) -> None:
    """A number that never came would keep betting shut for ever."""
    decoder, boot, most = Decoder(REF), BOOT, 0
    for kind, seq in steps:
        boot += kind in {"another boot speaks", "powered up"}
        if kind == "beat":
            decoder.feed_bare(beat(seq, max(0, seq - 63), max(0, seq - 63), boot=boot))
        elif kind == "powered up":
            decoder.feed_bare(ref_frame(POWER_UP, 0, boot=boot))
        else:
            decoder.feed_bare(drawn(seq, boot=boot))
        most = max(most, decoder.expected_head)
    decoder.feed_bare(ref_frame(POWER_UP, 0, boot=boot + 1))
    decoder.finish()
    assert decoder.head == decoder.expected_head >= most


def test_reports_that_wait_for_a_missing_one_are_promised() -> None:
    decoder = Decoder(REF)
    decoder.feed_bare(BOOTED + drawn(1))
    assert (decoder.head, decoder.expected_head) == (2, 2)
    decoder.feed_bare(drawn(3) + drawn(4))
    assert (decoder.head, decoder.expected_head) == (2, 5)  # 2 as well, or that it is lost
    decoder.feed_bare(drawn(2))
    assert (decoder.head, decoder.expected_head) == (5, 5)
    decoder.feed_bare(beat(5))  # a last one, behind which nothing came
    assert (decoder.head, decoder.expected_head) == (5, 6)


@given(st.permutations(range(1, 64)))
def test_in_whatever_order_the_last_64_come_nothing_is_lost(order: list[int]) -> None:
    decoder = Decoder(REF)
    events = decoder.feed_bare(BOOTED + b"".join(drawn(seq) for seq in order))
    assert [event.device_seq for event in events] == [str(seq) for seq in range(64)]
    assert decoder.finish() == []
