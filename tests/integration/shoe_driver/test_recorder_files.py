"""A journal's next file: on a disk that refuses it, and on one that was left in the midst of it."""

from pathlib import Path

from structlog.testing import capture_logs

from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import RecordKind
from shoe_driver.link.states import LinkState
from shoe_driver.process.retention import JournalRetention
from tests.integration.shoe_driver.test_recorder import COUP, files, small
from tests.support.machine.disk import disk_full_at
from tests.support.shoe.recorder_life import data, life, sent
from tests.support.shoe.shoe_bytes import stream


def test_a_disk_that_refuses_another_file_costs_neither_link_nor_card(
    tmp_path: Path,
) -> None:
    with small(tmp_path) as (recorder, do):
        do(recorder.happened(RecordKind.OPEN, "pty:/x"))
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
    with small(tmp_path) as (recorder, do):
        do(recorder.happened(RecordKind.OPEN, "pty:/x"))
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
