"""Editions by their hash: kept whole beside the log, copied with it, found again, never guessed."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.rulebooks.editions import (
    ProfileKeeper,
    available_rulebooks,
    keep_profiles,
    keep_rulebooks,
)
from events.clock import SystemClock
from events.errors import LogUnwritable
from events.log.editions import (
    PROFILES,
    RULEBOOKS,
    copy_editions,
    damaged_editions,
    editions_folder,
    read_editions,
    shipped_editions,
    write_editions,
)
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.types import LinkOpen, LinkUp, ShoeEvent
from shoe_driver.journal.files import Journal
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.profiles.catalogue import profile_text
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.service.table import Table
from tests.support.cage.books import source
from tests.support.shoe.recorder_life import life
from tests.support.table.coups import shoe_event

OWN = profile_text("enq-bcc") + b"# our own\n"


def digest(text: bytes) -> str:
    return sha256(text).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_editions_are_kept_by_their_hash_and_damage_is_put_right(tmp_path: Path) -> None:
    folder = tmp_path / "log" / RULEBOOKS
    assert write_editions(folder, []) == ()
    assert not folder.exists()
    assert write_editions(folder, [b"one", b"two", b"one"]) == tuple(
        map(digest, (b"one", b"two", b"one"))
    )
    assert names(folder) == sorted(f"{digest(each)}.toml" for each in (b"one", b"two"))
    damaged = folder / f"{digest(b'one')}.toml"
    damaged.write_bytes(b"on")
    assert read_editions(folder).sources == {digest(b"two"): b"two"}
    [line] = read_editions(folder).left_out
    assert line.startswith(str(damaged))
    write_editions(folder, [b"one"])
    assert read_editions(folder) == ({digest(each): each for each in (b"one", b"two")}, ())


def test_another_services_user_can_read_them_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_editions(tmp_path / PROFILES, [b"one"])
    finally:
        os.umask(before)
    assert (tmp_path / PROFILES).stat().st_mode & 0o777 == 0o755
    [path] = (tmp_path / PROFILES).iterdir()
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_closed_file_of_the_log_has_the_editions_of_the_log(tmp_path: Path) -> None:
    beside = tmp_path / RULEBOOKS
    assert editions_folder(tmp_path / "table.sqlite", RULEBOOKS) == beside
    assert editions_folder(tmp_path / "archive" / "s.t-1-2.sqlite", RULEBOOKS) == beside
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "elsewhere" / "table.sqlite")
    elsewhere = tmp_path / "elsewhere" / RULEBOOKS
    assert editions_folder(tmp_path / "link.sqlite", RULEBOOKS) == elsewhere


def test_a_copy_has_all_of_them_but_what_is_damaged(tmp_path: Path) -> None:
    log, copy = tmp_path / "log" / "table.sqlite", tmp_path / "copy" / "monday.sqlite"
    write_editions(log.parent / RULEBOOKS, [b"one", b"two"])
    write_editions(log.parent / PROFILES, [b"three"])
    write_editions(copy.parent / PROFILES, [b"before"])
    copy_editions(log, copy)
    assert len(names(copy.parent / RULEBOOKS)) == len(names(copy.parent / PROFILES)) == 2
    assert not damaged_editions(log)
    (log.parent / RULEBOOKS / f"{digest(b'one')}.toml").write_bytes(b"")
    [line] = damaged_editions(log)
    assert digest(b"one") in line
    copy_editions(log, copy)
    assert read_editions(copy.parent / RULEBOOKS).sources.keys() == {digest(b"one"), digest(b"two")}


def test_the_newest_edition_that_ships_is_the_last_of_its_id(tmp_path: Path) -> None:
    for name in ("ez.toml", "ez.2.toml", "ez.10.toml", "au.toml", "README.md", "ez.0.toml"):
        (tmp_path / name).write_bytes(name.encode())
    assert dict(shipped_editions(tmp_path)) == {
        "au": (b"au.toml",),
        "ez": (b"ez.toml", b"ez.2.toml", b"ez.10.toml"),
    }


def test_every_shipped_edition_is_kept_beside_a_log(tmp_path: Path) -> None:
    log = tmp_path / "table.sqlite"
    own = tmp_path / "harbour.toml"
    own.write_text(source("ez", "id=harbour"))
    first, *_ = keep_rulebooks(log, [str(own)])
    own.unlink()
    found = available_rulebooks(log)
    assert found.books[first].id == "harbour"
    assert {book.id for book in found.books.values()} == {"harbour", *shipped_ids()}
    assert read_editions(tmp_path / RULEBOOKS).sources == found.sources


def test_what_is_beside_the_log_and_cannot_be_used_is_said_and_what_is_given_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "table.sqlite"
    own = tmp_path / "harbour.toml"
    own.write_text(source("ez", "id=harbour"))
    first, *_ = keep_rulebooks(log, [str(own)])
    (tmp_path / RULEBOOKS / f"{first}.toml").write_bytes(b"id = 1")
    write_editions(tmp_path / RULEBOOKS, [b"form = 9"])  # of a later build
    found = available_rulebooks(log)
    assert first not in found.books
    assert sorted(line.split(":")[0].rpartition("/")[2] for line in found.left_out) == sorted(
        [f"{first}.toml", f"{digest(b'form = 9')}.toml"]
    )
    assert available_rulebooks(log, [str(own)]).books[first].id == "harbour"
    assert main(["replay", str(log)]) == 2
    assert capsys.readouterr().err.count("left out: ") == 2


def test_the_driver_keeps_each_profile_beside_its_journals(tmp_path: Path) -> None:
    clock = SystemClock()
    Journal.create(tmp_path, "j20261127t000000-1", OWN, clock).close()  # of an earlier build
    with life(tmp_path):
        assert read_editions(tmp_path / PROFILES).sources == {digest(OWN): OWN}
    with JournalFolder(tmp_path) as folder:
        folder.begin(profile_text("text-line"), clock).close()
    assert digest(profile_text("text-line")) in read_editions(tmp_path / PROFILES).sources


def test_what_the_driver_reads_by_is_kept_beside_the_log_when_it_is_first_cited(
    tmp_path: Path,
) -> None:
    log, journals = tmp_path / "log" / "table.sqlite", tmp_path / "journal"
    keeper = ProfileKeeper(log, keep_profiles(log, ["enq-bcc"]), journals)
    write_editions(journals / PROFILES, [OWN])
    before = read_editions(log.parent / PROFILES).sources
    keeper(digest(profile_text("enq-bcc")))
    keeper("0" * 64)  # of a driver on another machine: it is said, and the table plays on
    assert read_editions(log.parent / PROFILES).sources == before
    keeper(digest(OWN))
    assert read_editions(log.parent / PROFILES).sources == before | {digest(OWN): OWN}


def test_the_table_says_what_an_event_was_read_by_before_it_appends_it(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []

    def note(event: ShoeEvent) -> None:
        told.append((event.profile_hash, log.position))

    def refuse(event: ShoeEvent) -> None:
        raise LogUnwritable(f"{event.profile_hash} cannot be kept")

    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as log:
        book = load_rulebook("ez")
        table = Table(log, Topics("site", "t1"), book, SystemClock(), roles={})
        table.on_profile_cited = note
        before = log.position
        for _ in range(2):
            table.hear(shoe_event(1, LinkOpen(transport="pty:x")))
        assert told == [("0" * 64, before)]
        table.on_profile_cited, position = refuse, log.position
        with pytest.raises(LogUnwritable, match="cannot be kept"):
            table.hear(shoe_event(2, LinkUp()))
        assert log.position == position > before


def test_a_disk_that_keeps_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / RULEBOOKS).write_bytes(b"a file where the folder should be")
    with pytest.raises(LogUnwritable, match="no edition can be kept"):
        keep_rulebooks(tmp_path / "table.sqlite")
