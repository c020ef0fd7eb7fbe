"""One journal is followed by another: what it must know of a device that is answered."""

import json
from pathlib import Path

from shoe_driver.decode import Decoder
from shoe_driver.journal.files import read_records
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import MAGIC, Record, RecordKind, encode_record
from shoe_driver.process.recorder import Recorder
from shoe_driver.profiles.catalogue import profile_text
from tests.support.shoe.recorder_life import CLOCK, SHIPPED, Do, data, life, sent
from tests.support.shoe.ref_bytes import BOOT, DRAWN, POWER_UP, RESEND, Device, host_said
from tests.support.shoe.shoe_bytes import frames, said, stream

EIGHT_OF_SPADES = b"\x11\x18"
REF = profile_text("ref-crc")
OTHER_REF = REF.replace(b'1 = "cannot_read"', b'1 = "blind"')


def files(folder: Path) -> list[Path]:
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
    with life(tmp_path, REF) as (recorder, do):
        do(recorder.happened(RecordKind.OPEN, "pty:/x"))
        told = heard(recorder, do, device.say(POWER_UP) + device.say(DRAWN, EIGHT_OF_SPADES))
        assert told == ["link_open pty:/x", "link_up", "shoe_booted", "card_drawn player 1 8S"]
        recorder.decoder.replies()  # lost on its way
        do(recorder.hang_up("unplugged"))
        sent(recorder, do)
    with life(tmp_path, OTHER_REF) as (recorder, do):
        do(recorder.settle())
        sent(recorder, do)
        assert do(recorder.roll())
        assert len(files(tmp_path)) == 2
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
    with life(tmp_path, REF) as (recorder, do):
        do(recorder.happened(RecordKind.OPEN, "pty:/x"))
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
        [_, journal] = files(tmp_path)
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
