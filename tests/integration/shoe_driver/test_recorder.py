"""Journal, decoder and outbox in step: over lives, over a full disk, and with much left to tell.

A journal goes on in another file, also on a disk that refuses it; and one journal is followed by
another, which must know what it needs of a device that is answered.
"""

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from events.errors import LinkError, LogRefused, LogUnwritable
from shoe_driver.decode import Decoder
from shoe_driver.journal.files import read_records
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import MAGIC, Record, RecordKind, encode_record
from shoe_driver.link.states import LinkState
from shoe_driver.outbox import IN_FLIGHT, KEPT
from shoe_driver.process.recorder import Recorder
from shoe_driver.process.retention import JournalRetention
from shoe_driver.profiles.catalogue import profile_text
from tests.support.clock import FakeClock
from tests.support.machine.disk import disk_full_at
from tests.support.machine.waiting import until_blocking
from tests.support.shoe.recorder_life import CLOCK, SHIPPED, Do, data, life, open_life, sent
from tests.support.shoe.ref_bytes import BOOT, DRAWN, POWER_UP, RESEND, Device, host_said
from tests.support.shoe.shoe_bytes import PROFILE, frames, said, stream
from tests.support.shoe.shoe_line import only_journal, size_of_journal

COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"
LATEST_US = 5_250_001  # behind the first copy no other comes so late


def test_a_new_life_tells_the_same_events_again_and_the_break(tmp_path: Path) -> None:
    with open_life(tmp_path) as (recorder, do):
        do(recorder.arrived(data(stream("D P1 9H, D B1 2D"))))
        first = sent(recorder, do)
        journal = recorder.journal
    assert said(first) == [
        "link_open pty:/x",
        "link_up",
        "card_drawn player 1 9H",
        "card_drawn banker 1 2D",
    ]
    (tmp_path / f"{journal}.acked").write_bytes(b"2\n")  # killed before the note was renewed
    with life(tmp_path) as (recorder, do):
        do(recorder.settle())
        assert recorder.journal == journal
        again = sent(recorder, do)
        assert recorder.counts == (0, 0, 0)
    assert again[:2] == first[2:]
    assert said(again[2:]) == ["link_down driver restarted"]


def test_what_was_acknowledged_is_not_told_again(tmp_path: Path) -> None:
    with open_life(tmp_path) as (recorder, do):
        do(recorder.hang_up("stopped"))
        assert len(sent(recorder, do)) == 2
    with life(tmp_path) as (recorder, do):
        do(recorder.settle())
        assert sent(recorder, do) == []
        assert recorder.decoder.head == 2


def test_what_is_noted_already_is_not_noted_again(tmp_path: Path) -> None:
    with open_life(tmp_path) as (recorder, do):
        assert len(sent(recorder, do)) == 1
        note = tmp_path / f"{recorder.journal}.acked"
        do(recorder.note_acked())
        until_blocking(lambda: note.exists() and int(note.read_bytes() or b"0") == 1, "it is noted")
        note.unlink()
        do(recorder.note_acked())
    assert not note.exists()


def test_days_without_a_core_cost_no_memory_and_no_event(tmp_path: Path) -> None:
    cards = KEPT + 3 * IN_FLIGHT
    with life(tmp_path) as (recorder, do):
        reports = stream(", ".join(["D P1 9H"] * cards), copies=1)
        for start in range(0, len(reports), 4096):
            do(recorder.arrived(data(reports[start : start + 4096])))
        assert (recorder.decoder.head, recorder.outbox.kept) == (cards, KEPT)
        told = sent(recorder, do)
        assert recorder.outbox.kept == 0
    assert [event.seq for event in told] == list(range(1, cards + 1))
    assert told[-1].offset == (cards - 1) * 8


def test_a_break_that_could_not_be_stored_is_owed_and_a_card_is_not(tmp_path: Path) -> None:
    with open_life(tmp_path) as (recorder, do):
        with disk_full_at(size_of_journal(tmp_path)):
            with pytest.raises(LogUnwritable):
                do(recorder.arrived(data(frames("D P1 9H")[0])))
            for reason in ("full", "still full"):
                with pytest.raises(LogUnwritable):
                    do(recorder.hang_up(reason))
            assert recorder.decoder.link is LinkState.OPEN
        do(recorder.settle())
        assert said(sent(recorder, do)) == ["link_open pty:/x", "link_down full"]


def test_a_disk_that_lost_what_was_acknowledged_begins_a_new_journal(tmp_path: Path) -> None:
    """Its numbers are taken: the core would drop new cards under them as copies of old ones."""
    with open_life(tmp_path) as (recorder, do):
        do(recorder.hang_up("stopped"))
        sent(recorder, do)
        before, path = recorder.journal, tmp_path / f"{recorder.journal}.journal"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with life(tmp_path) as (recorder, do):
        do(recorder.settle())
        do(recorder.happened(RecordKind.OPEN, "pty:/x"))
        assert recorder.journal != before
        assert [event.seq for event in sent(recorder, do)] == [1]
    assert path.exists()


def test_a_damaged_journal_stops_the_driver_and_is_left_alone(tmp_path: Path) -> None:
    with open_life(tmp_path) as (recorder, do):
        do(recorder.hang_up("stopped"))
    path = only_journal(tmp_path)
    damaged = bytearray(path.read_bytes())
    damaged[-60] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(LogRefused, match="the journal is damaged"), life(tmp_path):
        pytest.fail("it started")
    assert path.read_bytes() == damaged


def test_a_journal_is_read_to_its_end_with_the_profile_it_was_begun_with(
    tmp_path: Path,
) -> None:
    other = SHIPPED.replace(b'1 = "cannot_read"', b'1 = "blind"')
    with life(tmp_path) as (recorder, do):
        do(recorder.arrived(data(stream("E 1"))))
    with life(tmp_path, other) as (recorder, do):
        do(recorder.settle())
        assert recorder.needs_new_journal
        assert not do(recorder.roll())  # not while something is unacknowledged
        do(recorder.arrived(data(stream("E 1", first_seq=2))))
        told = sent(recorder, do)
        assert said(told) == ["error_raised cannot_read", "error_raised cannot_read"]
        assert {event.profile_hash for event in told} == {PROFILE.digest}
        before, counts = recorder.journal, recorder.counts
        assert do(recorder.roll())
        assert recorder.journal != before
        assert recorder.counts == counts == (1, 0, 0)
        do(recorder.arrived(data(stream("E 1", first_seq=3))))
        assert said(sent(recorder, do)) == ["error_raised blind"]
        assert not recorder.needs_new_journal


def small(folder: Path, **wish: int) -> AbstractContextManager[tuple[Recorder, Do]]:
    """A life whose files are followed by others after every coup."""
    return life(folder, keep=JournalRetention(segment_bytes=1, **wish))


def open_small(folder: Path, **wish: int) -> AbstractContextManager[tuple[Recorder, Do]]:
    """The same, once its port is open."""
    return open_life(folder, keep=JournalRetention(segment_bytes=1, **wish))


def coups(recorder: Recorder, do: Do, count: int, first: int = 1) -> None:
    """So many coups, each in a file of its own; all of their copies long past."""
    for coup in range(first - 1, first - 1 + count):
        do(recorder.arrived(data(stream(COUP, first_seq=coup * 5 % 9 + 1))))
        assert do(recorder.begin_segment())


def files(folder: Path) -> list[Path]:
    """The segments that are there; the first of them, which bears no number, is the last."""
    return sorted(folder.glob("*.journal"))


def names(folder: Path) -> list[str]:
    """The segments that are there, by number."""
    return sorted(path.stem.partition(".")[2] or "0001" for path in files(folder))


def test_a_link_that_is_up_goes_on_in_another_file_and_so_do_its_events(
    tmp_path: Path,
) -> None:
    with open_small(tmp_path) as (recorder, do):
        coups(recorder, do, 3)
        assert recorder.decoder.link is LinkState.UP
        told = sent(recorder, do)
        journal = recorder.journal
    assert [event.seq for event in told] == list(range(1, 18))
    assert {event.journal for event in told} == {journal}
    assert said(told).count("link_up") == 1
    assert not [line for line in said(told) if line.startswith("report_lost")]
    assert names(tmp_path) == ["0001", "0002", "0003", "0004"]
    # Decoded in one go, and each file by itself, they are the same events to the last field.
    whole, alone = Decoder(PROFILE, journal), []
    together = []
    with JournalFolder(tmp_path) as folder:
        for path in folder.newest():
            one = Decoder(PROFILE, journal)
            for record in read_records(path):
                together += whole.feed(record)
                alone += one.feed(record)
    assert together == alone == told


def test_in_mid_deal_and_in_mid_frame_the_file_goes_on(tmp_path: Path) -> None:
    clock = FakeClock()
    with open_life(tmp_path, keep=JournalRetention(segment_bytes=1), clock=clock) as (recorder, do):
        do(recorder.arrived(data(stream("D P1 9H"), clock)))
        clock.now_us += LATEST_US  # no copy can come any more
        assert not do(recorder.begin_segment())
        do(recorder.arrived(data(stream("G player", copies=2, first_seq=2), clock)))
        assert not do(recorder.begin_segment())  # copies may come
        clock.now_us += LATEST_US
        do(recorder.arrived(data(frames("P", first_seq=3)[0][:3], clock)))
        assert not do(recorder.begin_segment())
        do(recorder.happened(RecordKind.QUIET))
        assert do(recorder.begin_segment())


def test_a_new_life_reads_no_more_than_it_needs_and_all_of_that(tmp_path: Path) -> None:
    with open_small(tmp_path) as (recorder, do):
        coups(recorder, do, 3)
        told = sent(recorder, do)
        journal = recorder.journal
    first = files(tmp_path)[-1]
    damaged = first.read_bytes()[:-1] + b"\0"
    for acked, needs_first in ((17, False), (9, False), (3, True)):
        (tmp_path / f"{journal}.acked").write_bytes(b"%d\n" % acked)
        if not needs_first:
            whole = first.read_bytes()
            first.write_bytes(damaged)  # proves that it is not read
        with life(tmp_path) as (recorder, do):
            again = sent(recorder, do)
            assert again == told[acked:]
        if not needs_first:
            first.write_bytes(whole)


def test_a_core_with_an_older_log_is_told_from_older_files(tmp_path: Path) -> None:
    with open_small(tmp_path) as (recorder, do):
        coups(recorder, do, 3)
        told = sent(recorder, do)
        recorder.outbox.acknowledge(4)
        assert sent(recorder, do) == told[4:]


def test_a_file_between_the_others_that_is_missing_is_refused(tmp_path: Path) -> None:
    with small(tmp_path) as (recorder, do):
        coups(recorder, do, 2)
    files(tmp_path)[0].unlink()
    with (
        pytest.raises(LogRefused, match="the journal's next file is missing; put it back"),
        life(tmp_path),
    ):
        pytest.fail("it started")


def test_old_files_go_when_nobody_needs_them_and_not_before(tmp_path: Path) -> None:
    with open_small(tmp_path, megabytes=1) as (recorder, do):
        coups(recorder, do, 3)
        old = tmp_path / "j20200101t000000-0.journal"
        old.write_bytes(bytes(2_000_000))
        do(recorder.drop_old_files())
        assert len(files(tmp_path)) == 5  # the core has said nothing
        sent(recorder, do)
        (tmp_path / "hold").write_bytes(b"")
        recorder.release(8)
        do(recorder.drop_old_files())
        assert old.exists()  # a person holds it
        (tmp_path / "hold").unlink()
        do(recorder.drop_old_files())
        assert not old.exists()
        assert names(tmp_path) == ["0001", "0002", "0003", "0004"]  # small enough


def test_by_age_only_what_is_acknowledged_and_settled_goes(tmp_path: Path) -> None:
    with open_small(tmp_path, days=1) as (recorder, do):
        coups(recorder, do, 3)
        for path in files(tmp_path):
            os.utime(path, (0, 0))
        recorder.release(17)
        do(recorder.drop_old_files())
        assert names(tmp_path) == ["0001", "0002", "0003", "0004"]  # nothing is acknowledged
        told = sent(recorder, do)
        recorder.outbox.acknowledge(9)
        do(recorder.drop_old_files())
        assert names(tmp_path) == ["0002", "0003", "0004"]  # up to event 8
        recorder.outbox.acknowledge(17)
        recorder.release(17)
        do(recorder.drop_old_files())
        assert names(tmp_path) == ["0004"]  # the newest stays
        journal = recorder.journal
    (tmp_path / f"{journal}.acked").unlink()
    with life(tmp_path) as (recorder, do):
        assert sent(recorder, do) == []
        assert recorder.decoder.head == len(told)
        recorder.outbox.acknowledge(3)  # a core with an older log asks for what is gone
        do(recorder.refill())
        [note] = recorder.notes
        assert note.startswith(
            f"the core asks for event 4 of journal {journal}, and those up to 17"
        )


def test_a_torn_tail_is_told_to_people(tmp_path: Path) -> None:
    with open_life(tmp_path):
        path = only_journal(tmp_path)
    with path.open("ab") as file:
        file.write(b"\x02\x00\x00")
    with life(tmp_path) as (recorder, _):
        [note] = recorder.notes
        assert f"an unfinished tail of 3 bytes was cut off {path.name}" in note


def test_a_core_that_has_more_than_the_disk_begins_a_new_journal(tmp_path: Path) -> None:
    """The disk has lost events, and its own note of them: only the core knows."""
    with open_life(tmp_path) as (recorder, do):
        before = recorder.journal
        do(recorder.abandon(9))
        with pytest.raises(LinkError, match="has lost events: another is begun"):
            recorder.require_trusted_journal()
        assert do(recorder.roll())
        recorder.require_trusted_journal()
        assert recorder.journal != before
        do(recorder.happened(RecordKind.OPEN, "pty:/x"))
        assert [event.seq for event in sent(recorder, do)] == [1]
        assert "(1 of 9 are there)" in recorder.notes[0]


def test_a_disk_that_refuses_another_file_costs_neither_link_nor_card(
    tmp_path: Path,
) -> None:
    with open_small(tmp_path) as (recorder, do):
        do(recorder.arrived(data(stream(COUP))))
        with disk_full_at(100), capture_logs() as lines:
            assert not do(recorder.begin_segment())
        assert [line["event"] for line in lines] == ["journal.cannot_go_on"]
        assert recorder.decoder.link is LinkState.UP
        do(recorder.arrived(data(stream(COUP, first_seq=6))))
        assert not do(recorder.begin_segment())  # asked again in a minute
        assert len(files(tmp_path)) == 1
        assert [event.seq for event in sent(recorder, do)] == list(range(1, 13))


def test_killed_when_the_next_file_was_just_begun(tmp_path: Path) -> None:
    """It is there with where the journal stood, and nothing else; or it is not there at all."""
    with open_small(tmp_path) as (recorder, do):
        do(recorder.arrived(data(stream(COUP))))
        told = sent(recorder, do)
        assert do(recorder.begin_segment())
        journal = recorder.journal
    (tmp_path / f".{journal}.0003.journal.new").write_bytes(b"half of a header")
    for acked in (7, 3):
        (tmp_path / f"{journal}.acked").write_bytes(b"%d\n" % acked)
        with life(tmp_path, keep=JournalRetention(segment_bytes=1)) as (recorder, do):
            assert recorder.decoder.head == 7
            assert sent(recorder, do) == told[acked:]


def test_a_torn_second_file_is_repaired_and_the_first_is_not_touched(
    tmp_path: Path,
) -> None:
    with small(tmp_path) as (recorder, do):
        do(recorder.arrived(data(stream(COUP))))
        assert do(recorder.begin_segment())
        do(recorder.arrived(data(stream("P", first_seq=6))))
        told = sent(recorder, do)
        journal = recorder.journal
    second, first = files(tmp_path)
    before = first.read_bytes()
    second.write_bytes(second.read_bytes()[:-3])
    (tmp_path / f"{journal}.acked").write_bytes(b"2\n")
    with life(tmp_path) as (recorder, do):
        assert sent(recorder, do) == told[2:-1]  # the last was not whole: it never happened
        assert "cut off" in recorder.notes[0]
    assert first.read_bytes() == before
    with JournalFolder(tmp_path) as folder:
        assert folder.newest() == [first, second]


EIGHT_OF_SPADES = b"\x11\x18"
REF = profile_text("ref-crc")
OTHER_REF = REF.replace(b'1 = "cannot_read"', b'1 = "blind"')


def journals_of(folder: Path) -> list[Path]:
    """The journals, each in one file, the older first."""
    return sorted(folder.glob("*.journal"), key=lambda path: int(path.stem.rpartition("-")[2]))


def heard(recorder: Recorder, do: Do, said_by_device: bytes) -> list[str]:
    """What it makes of it, in words."""
    do(recorder.arrived(data(said_by_device)))
    return said(sent(recorder, do))


def test_a_new_journal_knows_what_the_one_before_has_told_of_its_device(
    tmp_path: Path,
) -> None:
    """The last acknowledgement was lost, so the device says its card again: it is one card."""
    device = Device()
    with open_life(tmp_path, REF) as (recorder, do):
        told = heard(recorder, do, device.say(POWER_UP) + device.say(DRAWN, EIGHT_OF_SPADES))
        assert told == ["link_open pty:/x", "link_up", "shoe_booted", "card_drawn player 1 8S"]
        recorder.decoder.replies()  # lost on its way
        do(recorder.hang_up("unplugged"))
        sent(recorder, do)
    with life(tmp_path, OTHER_REF) as (recorder, do):
        do(recorder.settle())
        sent(recorder, do)
        assert do(recorder.roll())
        assert len(journals_of(tmp_path)) == 2
        do(recorder.happened(RecordKind.OPEN, "pty:/x"))
        greeting = recorder.decoder.greeting()
        assert host_said(greeting) == [(RESEND, BOOT, 2)]
        told = heard(recorder, do, device.waiting() + device.beat())
        assert told == ["link_open pty:/x", "link_up"]
        assert device.answer(recorder.decoder.replies()) == b""
        assert device.unacked == 2
        told = heard(recorder, do, device.say(DRAWN, EIGHT_OF_SPADES))
        assert told == ["card_drawn player 1 8S"]
        journal, head = recorder.journal, recorder.decoder.head
    # Whoever has that journal alone, now or years later, decodes the same of it.
    with life(tmp_path, OTHER_REF) as (recorder, do):
        assert (recorder.journal, recorder.decoder.head) == (journal, head)
    with JournalFolder(tmp_path) as folder:
        alone = Decoder(recorder.profile, journal)
        for record in read_records(folder.newest()[0]):
            alone.feed(record)
    assert alone.head == head


def test_a_journal_that_is_forsaken_hands_nothing_on(tmp_path: Path) -> None:
    """Nobody knows how much of it the core was told: the device says what it is still owed."""
    device = Device()
    with open_life(tmp_path, REF) as (recorder, do):
        heard(recorder, do, device.say(POWER_UP))
        do(recorder.abandon(9))
        assert do(recorder.roll())
        assert host_said(recorder.decoder.greeting()) == [(RESEND, 0, 0)]


def test_a_shoe_of_another_kind_is_not_known_by_the_one_before(tmp_path: Path) -> None:
    with life(tmp_path, REF) as (recorder, do):
        heard(recorder, do, Device().say(POWER_UP))
    with life(tmp_path) as (recorder, do):
        do(recorder.settle())
        sent(recorder, do)
        assert do(recorder.roll())
        [_, journal] = journals_of(tmp_path)
        assert [record.kind for record in read_records(journal)] == [RecordKind.HEADER]
        assert heard(recorder, do, stream("D P1 9H")) == ["card_drawn player 1 9H"]


def journal_of_before(folder: Path) -> None:
    """One by a build that knew no late copies: its header does not say by which rules it is read.

    Copies two and three came 316 ms behind the first: they were told as a loss and a second card.
    """
    with JournalFolder(folder) as made:
        begun = made.begin(SHIPPED, CLOCK)
        begun.close()
    header = {"journal": begun.header.journal, "profile": SHIPPED.decode()}
    now, (one, two) = CLOCK.mono_us(), frames("D P1 8S, D B1 2D")
    happened = (
        (RecordKind.HEADER, 0, json.dumps(header).encode()),
        (RecordKind.OPEN, 0, b"pty:/x"),
        (RecordKind.DATA, 1_000, one),
        (RecordKind.DATA, 317_000, one * 2),
        (RecordKind.DATA, 2_000_000, two),
    )
    begun.path.write_bytes(
        MAGIC + b"".join(encode_record(Record(kind, now + at, at, of)) for kind, at, of in happened)
    )


def test_a_journal_of_before_keeps_its_events_and_their_numbers(tmp_path: Path) -> None:
    """Else the next card had a number that the core has already, and would be taken for a copy."""
    journal_of_before(tmp_path)
    with life(tmp_path) as (recorder, do):
        told = sent(recorder, do)
        assert said(told) == [
            *("link_open pty:/x", "link_up", "card_drawn player 1 8S"),
            *("report_lost 2 1", "card_drawn player 1 8S", "card_drawn banker 1 2D"),
        ]
        assert [event.seq for event in told] == [1, 2, 3, 4, 5, 6]
        do(recorder.settle())
        assert said(sent(recorder, do)) == ["link_down driver restarted"]
        assert do(recorder.roll()), "what comes now is read by the rules of now"
        now, report = CLOCK.mono_us(), frames("D P1 8S")[0]
        do(
            recorder.arrived(
                [
                    Record(RecordKind.DATA, now + at, now + at, copies)
                    for at, copies in ((0, report), (316_000, report * 2))
                ]
            )
        )
        assert said(sent(recorder, do)) == ["card_drawn player 1 8S"]
    with life(tmp_path) as (recorder, do):
        assert not recorder.needs_new_journal
