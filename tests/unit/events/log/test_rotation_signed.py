"""Checkpoints and evidence across closed files."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from baccarat.cli.main import main
from baccarat.history.evidence_from_log import gather
from events.commands.shoe import EndShoe
from events.log.reader import reading
from events.log.segments import archive_folder, segments_in
from events.log.verify import parse_kept_checkpoints, verify
from table_core.evidence.bundle import verify_evidence
from tests.support.log.closed_books import ORIGIN, writable
from tests.support.log.logs import forging
from tests.support.table.evidence import KEY, OTHER_KEY, signed_table


class Signed(NamedTuple):
    """A log in two files; checkpoints that somebody kept of the first, and of the second."""

    path: Path
    kept: tuple[bytes, bytes]
    coup: str
    events: int


@pytest.fixture
def signed(tmp_path: Path) -> Signed:
    path = tmp_path / "data" / "table.sqlite"
    with signed_table(path) as table:
        table.ready()
        coup = table.coup()
        old = table.checkpoints.newest
        table.ask("dealer", EndShoe(transaction=table.transaction(), reason="done"))
        table.table.close_books()
        table.checkpoints.look()
        assert table.log.new_file() is not None
    with signed_table(path, key=OTHER_KEY, retiring=KEY) as table:  # the keys change, too
        table.ready("20261127-02")
        table.coup()
        new = table.checkpoints.newest
        count = table.log.position
    assert old is not None
    assert new is not None
    return Signed(path, (old, new), coup, count)


def test_checkpoints_of_all_files_agree_and_the_one_carried_on_counts_once(signed: Signed) -> None:
    verdict = verify(signed.path)
    assert (verdict.ok, verdict.events) == (True, signed.events), verdict
    with reading(signed.path) as reader:
        sizes = [size for size, _ in reader.checkpoints()]
    assert sizes == sorted(set(sizes))
    assert verdict.checkpoints == len(sizes)
    held = [each for note in signed.kept for each in parse_kept_checkpoints("kept", note)]
    assert verify(signed.path, held=held, keys={KEY.verifier}).ok


def test_a_checkpoint_made_just_behind_the_seam_is_of_the_file_before(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        table.ready()
        table.coup()
        table.ask("dealer", EndShoe(transaction=table.transaction(), reason="done"))
        table.table.close_books()
        assert table.log.new_file() is not None
        table.checkpoints.look()  # it covers what the closed file holds, and lies in the new one
        assert table.log.newest_checkpoint() == (table.log.base, table.checkpoints.newest)
        table.ready("20261127-02")
    assert verify(path).ok, verify(path)
    assert verify(path, keys={KEY.verifier}).ok
    assert verify(path, alone=True).ok


def test_a_checkpoint_from_elsewhere_finds_a_change_in_a_closed_file(signed: Signed) -> None:
    (held,) = parse_kept_checkpoints("kept", signed.kept[0])
    (file,) = segments_in(archive_folder(signed.path), ORIGIN)
    with forging(writable(file)) as db:
        db.execute("UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = 4")
    assert verify(signed.path, held=[held]).first_bad == 4


def test_a_file_alone_answers_for_what_it_holds(signed: Signed) -> None:
    (file,) = segments_in(archive_folder(signed.path), ORIGIN)
    alone = verify(signed.path, alone=True)
    assert (alone.ok, alone.base, alone.root) == (True, file.last, verify(signed.path).root)


def test_evidence_of_a_coup_in_a_closed_file_is_made_and_verified(signed: Signed) -> None:
    data = gather(signed.path, signed.coup, build="test")
    assert json.loads(data)["coup"] == signed.coup
    verdict = verify_evidence(data, frozenset({KEY.verifier, OTHER_KEY.verifier}))
    assert verdict.ok, verdict


def test_counting_goes_over_all_files(signed: Signed, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "stats", "--json", str(signed.path)]) == 0
    told = json.loads(capsys.readouterr().out)
    files = [signed.path, *(each.path for each in segments_in(archive_folder(signed.path), ORIGIN))]
    assert told["events"] == signed.events
    assert (told["shoes"], told["coups"], told["settlements"]) == (2, 2, 2)
    assert told["bytes"] == sum(each.stat().st_size for each in files)
