"""What the driver sends, and in which order: heads before the events they count."""

import pytest

from events.mqtt.messages import Message
from shoe_driver.journal.records import Record, RecordKind
from tests.support.shoe.scripted_driver import JOURNAL, TOPICS, ScriptedDriver
from tests.support.shoe.shoe_bytes import stream


class Speaking(ScriptedDriver):
    """A connected driver whose link is up: three events, acknowledged by nobody."""

    def __init__(self) -> None:
        super().__init__()
        self._seq = 0
        self.do(self.process.recorder.happened(RecordKind.OPEN, "pty:/x"))
        self.reports("D P1 9H")
        assert self.sends() == []
        self.do(self.process.on_connect())
        assert self.sends() == ["online", "down 3", "event 1", "event 2", "event 3"]

    def reports(self, reports: str) -> list[str]:
        """Comma-separated reports, which arrive in one read; what is sent of them."""
        content = stream(reports, first_seq=self._seq + 1)
        self._seq += reports.count(",") + 1
        record = Record(RecordKind.DATA, self.now_us, 0, content)
        self.do(self.process.recorder.arrived([record]))
        return self.sends()

    def ticks(self, seconds: float) -> list[str]:
        """What is sent in so many seconds, by nothing but ticks."""
        self.pass_time(self.tick, seconds)
        _, _, self.tick, _ = self.process.running()
        return self.sends()

    def hears(self, payload: bytes, *, retain: bool = False) -> list[str]:
        """What is sent in answer to a message of the core."""
        self.do(
            self.process.subscriptions[TOPICS.shoe_ack](Message(TOPICS.shoe_ack, payload, retain))
        )
        return self.sends()

    def sends(self) -> list[str]:
        """What was sent since the last look."""
        noted, self.noted = self.noted, []
        return [each for each in noted if not each.startswith(("store", "begin"))]


@pytest.fixture
def shoe() -> Speaking:
    return Speaking()


def test_events_that_come_together_are_counted_before_the_first_of_them(shoe: Speaking) -> None:
    assert shoe.reports("D B1 2D, D P2 8S") == ["down 5", "event 4", "event 5"]


def test_one_event_alone_waits_for_no_other_message_and_its_head_follows_at_a_tick(
    shoe: Speaking,
) -> None:
    assert shoe.reports("D B1 2D") == ["event 4"]
    assert shoe.reports("D P2 8S") == ["event 5"]
    assert shoe.ticks(0.1) == ["down 5"]
    assert shoe.ticks(0.1) == []


def test_no_head_comes_among_events_each_of_which_shows_it(shoe: Speaking) -> None:
    def in_mid_tick() -> None:
        shoe.now_us += 60_000
        sent.extend(shoe.reports("D other 9H"))
        shoe.now_us -= 60_000  # the tick goes on

    sent = shoe.reports("D B1 2D")
    shoe.play(shoe.tick, in_mid_tick, in_mid_tick, lambda: None)
    assert [*sent, *shoe.sends()] == ["event 4", "event 5", "event 6", "down 6"]


def test_an_event_that_found_no_room_is_counted_before_it_goes_out_with_the_next(
    shoe: Speaking,
) -> None:
    shoe.posts = False
    assert shoe.reports("D B1 2D") == []
    shoe.posts = True
    assert shoe.reports("D P2 8S") == ["down 5", "event 4", "event 5"]


def test_a_head_that_the_window_keeps_back_is_told_before_it(shoe: Speaking) -> None:
    told = shoe.reports(", ".join(["D other 9H"] * 70))
    assert told == ["down 73", *(f"event {seq}" for seq in range(4, 65))]
    assert shoe.reports("D other 9H") == ["down 74"]
    assert shoe.hears(shoe.ack(3)) == ["event 65", "event 66", "event 67"]


def test_what_is_not_acknowledged_is_sent_again_whole_and_ever_more_rarely(
    shoe: Speaking,
) -> None:
    again = ["event 2", "event 3"]
    assert shoe.hears(shoe.ack(1)) == []
    rounds = [seconds for seconds in range(40) if set(again) <= set(shoe.ticks(1))]
    assert rounds == [1, 3, 7, 15, 23, 31, 39]  # after 1, 2, 4 and 8 seconds, and every 8
    assert shoe.hears(shoe.ack(3)) == []
    assert [each for each in shoe.ticks(20) if each in again] == []


def test_a_core_that_repeats_its_acknowledgement_asks_for_what_follows(shoe: Speaking) -> None:
    shoe.hears(shoe.ack(1))
    assert shoe.hears(shoe.ack(1)) == []  # each duplicate is acknowledged again
    shoe.now_us += 300_000
    assert shoe.hears(shoe.ack(1)) == ["down 3", "event 2", "event 3"]


def test_a_core_that_has_less_or_nothing_is_sent_all_that_it_lacks(shoe: Speaking) -> None:
    shoe.hears(shoe.ack(3))
    assert shoe.hears(shoe.ack(1)) == ["down 3"]
    assert shoe.ticks(0.1) == ["event 2", "event 3"]  # read from the journal again
    assert shoe.hears(shoe.ack(9, "j20200101t000000-1", hello=True)) == ["down 3"]
    assert shoe.ticks(0.1) == ["event 1", "event 2", "event 3"]
    [note] = shoe.process.recorder.notes
    assert "j20200101t000000-1, which is not in this folder" in note
    said = ["outbox.rewound", "journal.unknown", "outbox.rewound"]
    assert [line.event for line in shoe.lines] == said


def test_where_the_broker_is_gone_nothing_is_sent_and_nothing_forgotten(shoe: Speaking) -> None:
    shoe.do(shoe.process.on_disconnect())
    assert shoe.reports("D B1 2D") == shoe.ticks(9) == []
    assert shoe.hears(shoe.ack(2)) == []  # it was on its way
    shoe.do(shoe.process.on_connect())
    assert shoe.sends() == ["online", "down 4", "event 3", "event 4"]


@pytest.mark.parametrize(
    "payload",
    [
        b'{"journal":"j20200101t000000-1","seq":1}',
        b'{"journal":"%b","seq":999}' % JOURNAL.encode(),
        b'{"journal":"%b","seq":-1}' % JOURNAL.encode(),
        b'{"journal":"%b","seq":1,"who":"me"}' % JOURNAL.encode(),
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_wrong_acknowledgements_move_nothing(shoe: Speaking, payload: bytes) -> None:
    assert shoe.hears(payload) == []
    assert shoe.hears(shoe.ack(3), retain=True) == []
    assert shoe.process.recorder.outbox.acked == 0
    assert [line.event for line in shoe.lines] == ["shoe_ack.refused"] * 2
    assert shoe.hears(payload) == []
    assert len(shoe.lines) == 2  # the first, the second, the fourth


def test_a_core_that_has_heard_no_driver_yet_is_no_error(shoe: Speaking) -> None:
    assert shoe.hears(b'{"journal":"","seq":0}') == []
    assert shoe.lines == []
    assert shoe.process.recorder.outbox.acked == 0


def test_the_acknowledged_number_is_noted_now_and_then(shoe: Speaking) -> None:
    shoe.hears(shoe.ack(2))
    assert shoe.acked == {}
    shoe.ticks(2.2)
    assert shoe.acked == {JOURNAL: 2}
