"""A closed file is packed and unpacked: every reader reads both forms, and damage is named."""

import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from baccarat.cli.main import main
from events.errors import LogRefused
from events.log.backup import back_up
from events.log.closed_file import open_file
from events.log.packed_file import PackedFile
from events.log.packing import convert
from events.log.reader import reading
from events.log.segments import archive_folder, find_segments, segments_in
from events.log.verify import verify
from table_core.service.snapshots import inspect_log
from tests.support.log.closed_books import SITE_T1, Chain, base_of, chain, events_of
from tests.support.log.packed import MUTATIONS, forms, mutated, packed_chain
from tests.support.table.money_game import BOOKS

RULEBOOK = BOOKS["au-commission"]()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    return chain(tmp_path_factory.mktemp("plain"), RULEBOOK, 34)


@pytest.fixture(scope="module")
def packed(plain: Chain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed_chain(plain, tmp_path_factory.mktemp("packed"))


def test_what_is_read_of_packed_files_is_what_was_read_before(plain: Chain, packed: Path) -> None:
    assert forms(packed) == {".packed"}
    assert events_of(packed) == plain.rows
    assert verify(packed) == verify(plain.path)
    assert inspect_log(packed) is None
    with reading(plain.path) as before, reading(packed) as after:
        assert list(after.read()) == list(before.read())
        assert list(after.checkpoints()) == list(before.checkpoints())
        assert [after.at(n) for n in range(1, 60)] == [before.at(n) for n in range(1, 60)]
    for file in archive_folder(packed).iterdir():
        if file.suffix == ".packed":
            assert verify(file, alone=True) == verify(
                archive_folder(plain.path) / f"{file.stem}.sqlite", alone=True
            )


def test_a_file_is_unpacked_row_by_row_as_it_was(
    plain: Chain, packed: Path, tmp_path: Path
) -> None:
    path = tmp_path / "data" / packed.name
    shutil.copytree(packed.parent, path.parent)
    assert len(list(convert(path, pack=False))) == len(plain.files)
    assert forms(path) == {".sqlite"}
    for file in plain.files:
        with (
            closing(open_file(file.path)) as before,
            closing(open_file(archive_folder(path) / file.path.name)) as after,
        ):
            assert list(after.rows(0)) == list(before.rows(0))
            assert sorted(after.requests()) == sorted(before.requests())
            assert list(after.checkpoints(0)) == list(before.checkpoints(0))
    assert verify(path) == verify(plain.path)
    assert list(convert(path, pack=False)) == []


def test_a_damaged_file_is_not_packed_and_stays(plain: Chain, tmp_path: Path) -> None:
    path = tmp_path / "data" / plain.path.name
    shutil.copytree(plain.path.parent, path.parent)
    bad = segments_in(archive_folder(path), SITE_T1)[0].path
    bad.chmod(0o644)
    data = bad.read_bytes()
    at = data.index(b'"card_dealt"')
    bad.write_bytes(data[:at] + b'"cArd_dealt"' + data[at + 12 :])
    with pytest.raises(LogRefused, match="left as it is"):
        list(convert(path, pack=True))
    assert bad.exists()
    assert main(["log", "pack", str(path)]) == 1


def test_both_forms_of_a_file_are_one_file(plain: Chain, packed: Path, tmp_path: Path) -> None:
    path = tmp_path / "data" / packed.name
    shutil.copytree(packed.parent, path.parent)
    shutil.copy(plain.files[0].path, archive_folder(path))
    found = find_segments(archive_folder(path), SITE_T1, base_of(path))
    assert [file.path.suffix for file in found] == [".sqlite", ".packed"]
    assert verify(path).ok


def test_a_backup_takes_packed_files_as_they_are(
    plain: Chain, packed: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copies" / "copy.sqlite"
    copy.parent.mkdir()
    back_up(packed, copy, inspect_log)
    assert forms(copy) == {".packed"}
    assert verify(copy) == verify(plain.path)


def test_one_coup_is_read_without_the_rest(packed: Path) -> None:
    (file, *_) = segments_in(archive_folder(packed), SITE_T1)
    with closing(PackedFile.open(file.path)) as opened:
        assert len(list(opened.bare(file.first + 3, file.first + 9))) == 7
        assert opened.unpacked == 1


@pytest.mark.parametrize("kind", MUTATIONS)
def test_damage_is_found_and_named(
    packed: Path, tmp_path: Path, kind: Callable[[bytes, random.Random], bytes]
) -> None:
    rng = random.Random(27)
    for _ in range(12):
        mutated(packed, tmp_path, kind, rng)
