"""Editions between a log's folders and the archive: what is published, and what is believed."""

from hashlib import sha256
from pathlib import Path

import pytest

from baccarat.property.editions import read_edition
from events.errors import InputError
from events.log.editions import PROFILES, RULEBOOKS, editions_folder, write_editions
from property.archive.store import Edition
from property.archive.stream_listener import verified_editions
from property.archive.stream_reader import StreamMessage
from property.hub.subjects import edition_subject, named_edition
from property.uplink.editions import EditionQueue
from shoe_driver.profiles.catalogue import profile_text, shipped_texts
from table_core.rulebooks.shipped import shipped_sources
from tests.support.cage.books import source

BOOK = source("ez", "id=harbour").encode()
PROFILE = profile_text("enq-bcc") + b"# our own\n"
B7, B8 = ("harbour", "b7"), ("harbour", "b8")


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def said(
    data: bytes, kind: str = "rulebook", *, table: tuple[str, str] = B7, name: str = ""
) -> StreamMessage:
    return StreamMessage(edition_subject(*table, kind, name or digest(data)), {}, data, 1)


def test_a_subject_says_whose_edition_it_is_of_what_kind_and_hash() -> None:
    subject = edition_subject(*B7, "profile", digest(BOOK))
    assert subject == f"property.v1.harbour.b7.edition.profile.{digest(BOOK)}"
    assert named_edition(subject) == ("harbour/b7", "profile", digest(BOOK))
    for other in (subject[:-1], subject + "0", subject.upper(), edition_subject(*B7), "a\n"):
        with pytest.raises(InputError, match="none of an edition"):
            named_edition(other)


def test_what_is_published_is_what_lies_beside_the_log_and_was_not_yet(tmp_path: Path) -> None:
    log = tmp_path / "log" / "table.sqlite"
    queue = EditionQueue(log)
    assert queue.pending() == ([], "")
    write_editions(editions_folder(log, RULEBOOKS), [BOOK])
    write_editions(editions_folder(log, PROFILES), [PROFILE])
    found, wrong = queue.pending()
    assert [tuple(each) for each in found] == [
        ("rulebook", digest(BOOK), BOOK),
        ("profile", digest(PROFILE), PROFILE),
    ]
    assert wrong == ""
    queue.published(found[0])
    assert queue.pending() == (found[1:], "")
    queue.published(found[1])
    assert queue.pending() == ([], "")
    queue.begin_again()
    assert queue.pending() == (found, "")


def test_what_is_damaged_or_too_long_is_said_and_holds_nothing_back(tmp_path: Path) -> None:
    log = tmp_path / "log" / "table.sqlite"
    folder = editions_folder(log, RULEBOOKS)
    write_editions(folder, [BOOK])
    damaged = folder / f"{'0' * 64}.toml"
    damaged.write_bytes(BOOK)
    found, wrong = EditionQueue(log).pending()
    assert [each.source for each in found] == [BOOK]
    assert str(damaged) in wrong
    damaged.unlink()
    long = BOOK + b"#" * 60 * 1024
    write_editions(folder, [long])
    found, wrong = EditionQueue(log).pending()
    assert [each.source for each in found] == [BOOK]
    assert wrong == f"{folder / digest(long)}.toml: longer than 61440 bytes"


def test_each_edition_is_verified_and_taken_once() -> None:
    messages = [
        said(BOOK),
        said(BOOK, table=B8),
        said(PROFILE, "profile"),
        said(BOOK, name=digest(PROFILE)),
        said(BOOK, "profile"),
        said(PROFILE, "rulebook"),
        said(b""),
        said(BOOK, "other"),
    ]
    assert verified_editions(messages, read_edition) == [
        Edition("rulebook", "harbour", BOOK),
        Edition("profile", "enq-bcc", PROFILE),
    ]


def test_every_edition_that_ships_is_taken() -> None:
    messages = [*map(said, shipped_sources()), *(said(text, "profile") for text in shipped_texts())]
    assert len(verified_editions(messages, read_edition)) == len(messages)


def test_a_key_that_is_slow_to_read_is_not_read() -> None:
    with pytest.raises(InputError, match="more than 500 dots"):
        read_edition("rulebook", b"a" + b".a" * 30_000 + b" = 1\n")
