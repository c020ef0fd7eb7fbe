"""The driver's steps in order: store, then send and answer; lose, say why, and open again."""

import pytest

from events.errors import LinkError, LogUnwritable
from events.mqtt.messages import Message
from events.mqtt.presence import Status, encode_status
from shoe_driver.process.effects import (
    DropFile,
    JournalFile,
    ListFiles,
    OpenPort,
    StoreRecords,
)
from shoe_driver.process.retention import JournalRetention
from shoe_driver.transports.port_errors import LinkEnded, PortError
from tests.support.shoe.ref_bytes import BEAT, DRAWN, POWER_UP, Device, ref_frame
from tests.support.shoe.scripted_driver import JOURNAL, TOPICS, ScriptedDriver
from tests.support.shoe.shoe_bytes import frames, stream

FULL = LogUnwritable("the disk is full")
GONE = PortError("unplugged", "plug it in")
CARD = b"\x11\x18"


def connected(profile: str = "enq-bcc") -> ScriptedDriver:
    driver = ScriptedDriver(profile)
    driver.do(driver.process.on_connect())
    driver.noted.clear()
    return driver


def test_what_was_read_is_stored_then_sent_and_then_answered() -> None:
    driver = connected("ref-crc")
    device = Device()
    boot, card = driver.says(device.say(POWER_UP)), driver.says(device.say(DRAWN, CARD))
    assert driver.play(driver.link, boot, card) == [
        *("open", "store OPEN", "event 1", "write"),
        *("store DATA", "up 3", "event 2", "event 3", "write"),
        *("store DATA", "event 4", "write"),
    ]


def test_of_what_the_disk_refuses_nothing_is_sent_or_answered_and_the_break_is_owed() -> None:
    driver = connected("ref-crc")
    full = driver.says(ref_frame(POWER_UP, 1), refusing=FULL)
    assert driver.play(driver.link, full, driver.later(0), driver.fails.clear, driver.later(0)) == [
        *("open", "store OPEN", "event 1", "write"),
        *("close", "down 1", "down 1", "down 1"),
        *("store CLOSE", "event 2", "open", "store OPEN", "event 3", "write"),
    ]
    assert {status.reason for status in driver.statuses[1:-1]} == {"the disk is full"}


def test_a_card_that_was_not_stored_is_not_told_when_there_is_room_again() -> None:
    driver = connected()
    card, other = frames("D P1 9H, D B1 2D")
    full = driver.says(card * 3, refusing=FULL)
    driver.play(driver.link, full, driver.fails.clear, driver.says(other * 3))
    journal = b"".join(record.payload for record in driver.files[JOURNAL])
    assert card not in journal
    assert other in journal


def test_a_link_that_is_down_always_says_why() -> None:
    """Also while its port is open, and the journal does not have that yet."""
    driver = ScriptedDriver()
    driver.before[StoreRecords] = lambda: driver.do(driver.process.on_connect())
    driver.play(driver.link, driver.says(GONE), driver.later(0))
    said = [(status.state, status.reason) for status in driver.statuses]
    assert said[0] == ("down", "the port is open, and the journal does not have it yet")
    assert ("down", "unplugged") in said
    assert all(bool(reason) == (state == "down") for state, reason in said)


def test_a_lost_port_is_closed_stored_and_opened_again_with_growing_pauses() -> None:
    driver = connected()
    assert driver.play(driver.link, driver.says(GONE)) == [
        *("open", "store OPEN", "event 1", "close", "down 1", "store CLOSE", "event 2"),
    ]
    status = driver.statuses[-1]
    assert (status.reason, status.hint, status.opened) == ("unplugged", "plug it in", 1)
    driver.arriving.clear()
    driver.fails[OpenPort] = LinkError("not there")
    driver.waits.clear()
    driver.live()
    driver.play(driver.link, *[driver.later(0)] * 6)
    assert driver.waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.5, 1.5, 1.5])
    assert [line.event for line in driver.lines].count("link.down") == 2  # once a reason


def test_after_a_link_that_was_proven_the_first_pause_is_short_again() -> None:
    driver = connected()
    driver.fails[OpenPort] = LinkError("not there")
    lost = (driver.says(stream("D P1 9H")), driver.says(GONE))
    driver.play(driver.link, driver.later(0), driver.later(0), driver.fails.clear, *lost)
    assert driver.waits == pytest.approx([0.1, 0.2, 0.4, 0.25, 1.0, 0.1])


def test_a_pause_is_short_after_an_attempt_that_took_long() -> None:
    driver = connected()
    driver.fails[OpenPort] = LinkError("no answer within 2 s")
    driver.before[OpenPort] = driver.later(2)
    driver.play(driver.link)
    assert driver.waits == pytest.approx([0.05])


def test_each_timer_is_armed() -> None:
    driver = connected()
    for steps in (driver.beat, driver.tick, driver.tidy, driver.link):
        driver.play(steps)
    assert driver.waits == [1.0, 0.9, 60.0, 0.25]
    _, beat, *_ = driver.process.running()
    assert driver.play(beat, driver.later(0)) == ["online"]


def test_silence_is_stored_and_a_device_that_should_beat_is_given_up() -> None:
    driver = connected("ref-crc")
    beat = driver.says(ref_frame(BEAT, 0))
    noted = driver.play(driver.link, beat, *[driver.later(1)] * 12)
    stored = [each for each in noted if each.startswith(("store", "close"))]
    assert stored[:5] == ["store OPEN", "store DATA", "store SILENCE", "close", "store CLOSE"]
    assert "no heartbeat for 9 s" in {status.reason for status in driver.statuses}


def test_a_link_at_rest_wakes_the_driver_once_a_second() -> None:
    driver = connected()  # whose silence of a minute in a deal is a stall
    driver.play(driver.link, driver.says(stream("D P1 9H")), *[driver.later(0)] * 50)
    assert driver.waits == [0.25] + [1.0] * 51


def test_half_a_frame_is_looked_at_four_times_a_second() -> None:
    driver = connected()
    half = driver.says(frames("D P1 9H")[0][:4])
    driver.play(driver.link, half, driver.later(0), driver.later(0))
    assert driver.waits[1:3] == [0.25, 0.25]


def test_a_process_that_stood_still_hears_no_silence_before_it_has_read() -> None:
    driver = connected("ref-crc")

    def late() -> None:
        driver.later(60)()
        driver.says(ref_frame(BEAT, 0), ref_frame(BEAT, 0))()

    noted = driver.play(driver.link, driver.says(ref_frame(BEAT, 0)), late, driver.later(0))
    assert "store SILENCE" not in noted


def test_half_a_frame_that_does_not_go_on_is_stored_as_quiet() -> None:
    driver = connected()
    half = driver.says(frames("D P1 9H")[0][:4])
    noted = driver.play(driver.link, half, *[driver.later(60)] * 2)
    assert noted[-3:] == ["store DATA", "store QUIET", "event 2"]


def test_what_had_waited_before_the_connection_is_stored_as_stale() -> None:
    driver = connected()
    driver.settle_s = 0.3
    noted = driver.play(driver.link, driver.says(stream("D P1 9H")))
    assert noted == ["open", "store STALE", "event 1", "store OPEN", "event 2"]
    assert driver.waits == [0.3, 0.25]
    assert [line.event for line in driver.lines] == ["link.stale", "link.open"]


def test_a_capture_is_played_to_its_end_once() -> None:
    driver = ScriptedDriver(transport="file:capture.raw")
    driver.do(driver.process.on_connect())
    ended = LinkEnded("the capture has ended", "it is not played again")
    played = driver.play(driver.link, driver.says(stream("D P1 9H"), ended), driver.later(0))
    assert played.count("open") == 1
    assert driver.waits[-1] is None  # the last status stays published
    driver.live()
    assert "open" not in driver.play(driver.link)
    driver.do(driver.process.on_connect())
    assert "has events already" in driver.statuses[-1].reason


def test_a_stop_is_stored_and_said_and_the_last_word_is_offline() -> None:
    driver = connected()
    driver.play(driver.link, lambda: driver.begin(driver.process.ending()))
    assert driver.noted == [
        *("open", "store OPEN", "event 1", "down 1"),
        *("close", "down 1", "store CLOSE", "event 2", "down 2", "offline"),
    ]
    assert driver.statuses[-1].reason == "driver stopped"
    assert driver.acked == {JOURNAL: 0}
    offline = encode_status(Status(state="offline", session=1, ts="2026-11-27T00:00:00.000000000Z"))
    own = TOPICS.status("shoe")
    driver.do(driver.process.subscriptions[own](Message(own, offline, retain=False)))
    assert driver.noted[-1] == "offline"


def test_a_stop_that_the_disk_or_the_broker_keeps_waiting_ends_all_the_same() -> None:
    driver = connected()
    driver.hangs = True
    driver.play(driver.process.ending(), driver.later(0), driver.later(0))
    assert driver.waits == [4.0, 3.0]
    said = [(line.event, line.fields.get("reason")) for line in driver.lines[1:]]
    assert said == [("journal.unwritable", "the disk hangs"), ("farewell.unheard", None)]


def test_a_core_that_has_more_than_the_disk_gets_a_new_journal() -> None:
    driver = connected()

    def more() -> None:
        ack = Message(TOPICS.shoe_ack, driver.ack(9, hello=True), retain=False)
        driver.do(driver.process.subscriptions[TOPICS.shoe_ack](ack))

    assert driver.play(driver.link, more, driver.later(0)) == [
        *("open", "store OPEN", "event 1", "open 1", "event 1"),
        *("close", "down 1", "store CLOSE", "event 2"),
        *("begin", "open", "store OPEN", "open 1", "event 1"),
    ]
    assert sorted(driver.files) == [JOURNAL, f"{JOURNAL[:-1]}2"]
    assert f"lost events of journal {JOURNAL} (1 of 9" in driver.statuses[-1].hint


def test_a_journal_of_another_profile_waits_for_the_core_and_is_then_followed() -> None:
    driver = connected()
    driver.play(driver.link, driver.says(stream("D P1 9H")))
    driver.now_us += 1
    other = ScriptedDriver("text-line")
    other.files, other.noted = driver.files, []
    other.live()
    assert other.play(other.link, *[other.later(0)] * 20)[:2] == ["store START", "open"]
    assert other.waits[:20] == [0.25] * 20
    assert "journal.not_rolled" in [line.event for line in other.lines]
    other.live()
    outbox = other.process.recorder.outbox
    assert other.play(other.link, lambda: outbox.acknowledge(outbox.head))[1] == "begin"


def test_a_file_that_cannot_be_dropped_is_said_and_the_rest_stays() -> None:
    driver = ScriptedDriver(keep=JournalRetention(days=1))
    driver.old_files = [JournalFile("a", 1, -1e9, 0), JournalFile("b", 1, -1e9, None)]
    recorder = driver.process.recorder
    driver.do(recorder.drop_old_files())
    assert driver.noted == ["begin"]  # the core has said nothing
    recorder.release(0)
    driver.play(driver.tidy, driver.later(0))
    assert driver.noted == ["begin", "drop a"]
    for effect in (DropFile, ListFiles):
        driver.fails[effect] = OSError("read-only")
        driver.do(recorder.drop_old_files())
    assert [line.event for line in driver.lines] == ["journal.dropped"] + 2 * [
        "journal.not_dropped"
    ]
