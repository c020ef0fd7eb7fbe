"""Files of a site are put in their place: whole, and for whoever could read what stood there."""

import os
import stat
from pathlib import Path

import pytest

from baccarat.atomic_files import FileWrite, write_all_atomically, write_atomically


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_new_file_has_the_mode_that_was_asked_for(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        path = write_atomically(tmp_path / "acl", b"topic\n", mode)
    finally:
        os.umask(before)
    assert (path.read_bytes(), mode_of(path)) == (b"topic\n", mode)
    assert list(tmp_path.iterdir()) == [path]


def test_who_could_read_what_stood_there_still_can(tmp_path: Path) -> None:
    path = tmp_path / "broker.key"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with path.open("rb") as reader:
        write_atomically(path, b"newer", 0o600)
        assert reader.read() == b"old"  # whoever reads it meanwhile has one or the other, whole
    assert (path.read_bytes(), mode_of(path)) == (b"newer", 0o640)


def test_what_a_broken_attempt_left_is_written_over_and_no_link_is_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"as it was")
    (tmp_path / ".acl.new").symlink_to(elsewhere)
    write_atomically(tmp_path / "acl", b"topic\n", 0o600)
    assert elsewhere.read_bytes() == b"as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["acl", "elsewhere"]


def test_of_two_that_belong_together_neither_is_placed_where_one_cannot_be_written(
    tmp_path: Path,
) -> None:
    first = tmp_path / "b7.pem"
    first.write_bytes(b"old")
    absent = tmp_path / "absent" / "b7.key"
    with pytest.raises(FileNotFoundError):
        write_all_atomically([FileWrite(first, b"new", 0o644), FileWrite(absent, b"new", 0o600)])
    assert first.read_bytes() == b"old"
