"""Who may read a file, told of somebody else: by owner, group and others, of it and its folders."""

import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from baccarat.site.doctor import SystemUser, first_unreadable, owner_of

# Root may read all: where the suite runs as root, the file is given to somebody else.
OWNER = SystemUser("owner", os.geteuid() or 65_532, frozenset())
MEMBER = SystemUser("member", 65_533, frozenset({65_533, os.getegid()}))
STRANGER = SystemUser("stranger", 65_533, frozenset({65_533}))


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that anybody may enter, unlike the suite's own."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)
        yield place


# mode -> who of owner, member and stranger may
MODES = {
    0o600: (True, False, False),
    0o640: (True, True, False),
    0o644: (True, True, True),
    0o604: (True, False, True),
    0o044: (False, True, True),
}


@pytest.mark.parametrize("mode", MODES, ids=oct)
def test_the_first_that_fits_decides_as_the_kernel_has_it(folder: Path, mode: int) -> None:
    path = folder / "harbour.toml"
    path.touch()
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, OWNER.uid, os.getegid())
    for reader, may in zip((OWNER, MEMBER, STRANGER), MODES[mode], strict=True):
        assert first_unreadable(path, reader) == (None if may else path.resolve()), reader


def test_a_closed_folder_above_is_what_stands_in_the_way(folder: Path) -> None:
    inner = folder / "site" / "rules"
    inner.mkdir(parents=True)
    inner.chmod(0o755)
    path = inner / "harbour.toml"
    path.touch()
    path.chmod(0o644)
    (folder / "site").chmod(0o700)
    assert first_unreadable(path, STRANGER) == (folder / "site").resolve()
    (folder / "site").chmod(0o711)  # to enter is enough
    assert first_unreadable(path, STRANGER) is None


def test_root_reads_all_and_what_is_not_there_is_said(folder: Path) -> None:
    path = folder / "harbour.toml"
    path.touch()
    path.chmod(0)
    assert first_unreadable(path, SystemUser("root", 0, frozenset())) is None
    with pytest.raises(FileNotFoundError):
        first_unreadable(folder / "gone.toml", STRANGER)


def test_a_link_is_followed_to_what_is_read(folder: Path) -> None:
    (folder / "kept").mkdir(0o700)
    (folder / "kept" / "harbour.toml").touch()
    (folder / "kept" / "harbour.toml").chmod(0o644)
    (folder / "harbour.toml").symlink_to(folder / "kept" / "harbour.toml")
    assert first_unreadable(folder / "harbour.toml", STRANGER) == (folder / "kept").resolve()


def test_an_owner_has_a_name_and_all_groups(folder: Path) -> None:
    found = owner_of(folder)
    assert found is not None
    me = pwd.getpwuid(os.geteuid())
    assert (found.name, found.uid) == (me.pw_name, me.pw_uid)
    assert found.groups == frozenset(os.getgrouplist(me.pw_name, me.pw_gid))
    assert owner_of(folder / "gone") is None
