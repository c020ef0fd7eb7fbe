"""Whatever the umask is, a new private file is its owner's alone, and so is its new folder."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import pytest

from displays.auth.accounts import UserAccount, save_accounts
from displays.auth.login_record import LoginRecord
from displays.auth.session_store import KeptSessions, SessionStore
from events.log.backup import back_up, restore
from events.log.store import EventLog
from events.log.vouching import head_of
from property.witness.store import WitnessBook
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.profiles.catalogue import profile_text
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.snapshots import inspect_log, restore_state
from tests.support.brokers.tls_broker import quick_hashes
from tests.support.cage.ledgers import book_log
from tests.support.clock import FakeClock
from tests.support.log.closed_books import chain
from tests.support.machine.commands import here
from tests.support.table.evidence import ORIGIN, signed_table

_ENQ: Final = profile_text("enq-bcc")
# What others may read: certificates, editions that table and driver share, configurations without
# a secret, which services of several users read, and the folders of these.
PUBLIC: Final = (
    *("*.pem", "*rulebooks*", "*profiles*", "b7.toml", "*mosquitto.conf"),
    *("pki", "mosquitto", "nats"),
)


def done(*words: object) -> None:
    assert here(*words).code == 0


def message_keys(folder: Path) -> None:
    done("config", "init", folder / "b7.toml")
    done("keys", "messages", folder / "b7.toml", "--out", folder / "handed-over")


def logins(folder: Path) -> None:
    save_accounts(folder / "users.toml", {"mary": UserAccount(password="x", roles=("dealer",))})  # noqa: S106 - nobody's
    SessionStore(folder / "sessions", FakeClock()).save(KeptSessions(secret=b"s"))
    (folder / "logins.jsonl").touch(0o600)
    (folder / "logins.jsonl").write_text("no entry\n")
    LoginRecord(folder / "logins.jsonl", ORIGIN, FakeClock())  # which is set aside


def log(folder: Path) -> None:
    path = folder / "log" / "table.sqlite"
    path.parent.mkdir(0o700)
    with signed_table(path, head=head_of(path)) as table:
        table.coup()
    for name in ("copy", "again"):
        (folder / name).mkdir(0o700)
    done("log", "backup", path, folder / "copy" / "b7.sqlite")
    done("log", "restore", folder / "copy" / "b7.sqlite", folder / "again" / "table.sqlite")


def closed_files(folder: Path) -> None:
    """A log in several files, opened with a snapshot; its copies; packed, unpacked and restored."""
    made = chain(folder, load_rulebook("au-commission"), 34).path
    with closing(EventLog.open(made, ORIGIN)) as opened:
        restore_state(opened)
        opened.recorded("a/request")
    for name in ("copy", "again"):
        (folder / name).mkdir(0o700)
    for word in ("pack", "unpack"):
        done("log", word, made)
    back_up(made, folder / "copy" / "b7.sqlite", inspect_log)
    restore(folder / "copy" / "b7.sqlite", folder / "again" / "table.sqlite", inspect_log)


def ledger(folder: Path) -> None:
    book_log(str(folder / "cage.sqlite"), chain(folder, load_rulebook("au-commission"), 34).path)


def journal(folder: Path) -> None:
    clock = FakeClock()
    with JournalFolder(folder / "journal") as kept:
        kept.next_session()
        made = kept.begin(_ENQ, clock)
        made.close()
        kept.note_acked(made.header.journal, 1)
        with made.path.open("ab") as file:
            file.write(b"torn")
        kept.begin(_ENQ, clock).close()
        type(made)(made.path).close()  # which puts the torn end aside


def authority(folder: Path) -> None:
    done("pki", "init", folder / "pki", "--site", "harbour")
    done("pki", "issue", folder / "pki", "broker", "--host", "b7.example")
    done("config", "init", folder / "b7.toml")
    for kind in ("mosquitto", "nats"):
        pki, out = ("--pki", folder / "pki"), ("-o", folder / kind)
        with quick_hashes():
            done("config", "broker", "--kind", kind, *pki, *out, folder / "b7.toml")


MAKERS: Final[dict[str, Callable[[Path], object]]] = {
    "a signing key": lambda folder: done("keys", "new", folder / "table.key"),
    "message keys, to be handed over": message_keys,
    "users, sessions and the record of logins": logins,
    "a signed log and its head": log,
    "closed files, copies, index and snapshot": closed_files,
    "a ledger": ledger,
    "journals": journal,
    "certificates, and a broker's files": authority,
    "a witness's book": lambda folder: WitnessBook.open(folder / "witness.sqlite").close(),
}


@pytest.fixture(autouse=True)
def common_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_private_file_is_its_owners_alone(maker: str, tmp_path: Path) -> None:
    MAKERS[maker](tmp_path)
    made = {str(each.relative_to(tmp_path)): each.stat().st_mode for each in tmp_path.rglob("*")}
    private = {
        name: mode for name, mode in made.items() if not any(fnmatch(name, p) for p in PUBLIC)
    }
    assert private
    assert {name: oct(mode) for name, mode in private.items() if mode & 0o077} == {}
