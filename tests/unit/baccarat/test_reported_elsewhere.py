"""Failures that people reported of programs like this one: each by its symptom, and held here."""

import codecs
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast
from unicodedata import normalize

import httpx
import msgspec
import pytest

from baccarat.read_files import read_password
from baccarat.rulebooks.library import named_rulebook
from baccarat.site.brokers import BrokerFiles, nats_conf
from baccarat.site.identities import Identity
from baccarat.site.metrics import TableHealth
from cage.ledger.received_event import LedgerEvent
from cage.reorder_buffer import ReorderBuffer
from displays.auth.accounts import UserAccount
from displays.auth.passwords import hash_password, password_matches
from displays.property_board.board import make_board_app
from events.cards import Winner, parse_card
from events.commands import Answer
from events.commands.registry import COMMANDS
from events.errors import InputError
from events.log.reader import reading
from events.log.store import EventLog
from events.mqtt.bus import matches
from events.mqtt.presence import read_status
from events.proof.keys import load_signing_key
from events.types import FrameRejected
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile
from simulators.shoe.dealing import DealingShoe, ReportStep
from table_core.batch import CaseJudge, answer_line
from table_core.process.table_writer import parse_command
from table_core.rulebooks.shipped import load_rulebook, shipped_source
from table_core.rules.draw import Outcome, deal_cards
from tests.support.clock import FakeClock
from tests.support.log.logs import ORIGIN, grow
from tests.support.machine.commands import here

RULES: Final = "au-commission"
CORPUS: Final = Path("tests/corpus/0.1.0/table.sqlite").absolute()
SETTLE: Final = ("settle", "--rulebook", RULES, "--cards", "KH,9D,5S,KC")


def refused(*words: object, stdin: bytes = b"") -> str:
    """Run a command that is refused; return its one line."""
    done = here(*words, stdin=stdin)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    return done.err


def batch(wager: str) -> Any:
    line = f'{{"case":"c","rules":"{RULES}","cards":["KH","9D","5S","KC"],"wagers":[{{{wager}}}]}}'
    return msgspec.json.decode(
        answer_line(line.encode(), {RULES: CaseJudge(load_rulebook(RULES))}.get)
    )


# The symptom, and how the wager's number stands in the document.
NUMBERS: Final = {
    "an integer of 65 bits is read as another number": '"seat":3,"stake":19933688932870350000',
    "an integer of more than 64 bits becomes a float": '"seat":3,"stake":73786976294838206464',
    "a large stake is rounded to the nearest float": '"seat":3,"stake":9007199254740993',
    "a stake with a decimal point is cut": '"seat":3,"stake":2500.9',
    "an exponent is taken for a large stake": '"seat":3,"stake":1e30',
    "a number in quotes is taken for the number": '"seat":3,"stake":"2500"',
    "true is taken for seat 1": '"seat":true,"stake":2500',
}


@pytest.mark.parametrize("symptom", NUMBERS)
def test_a_number_that_another_reader_changes_is_refused(symptom: str) -> None:
    (settled,) = batch(f'"id":"w","bet":"banker",{NUMBERS[symptom]}')["settlements"]
    code = "invalid_seat" if "seat 1" in symptom else "invalid_stake"
    assert (settled["result"], settled["code"]) == ("refused", code)


def test_a_stake_that_is_no_number_passes_every_comparison() -> None:
    with pytest.raises(InputError, match="malformed"):
        batch('"id":"w","bet":"banker","seat":3,"stake":NaN')


DIGITS: Final = {
    "an underscore makes a thousand": "1_000",
    "digits of another script are taken": "\uff12\uff15\uff10\uff10",
    "a superscript digit ends in a traceback": "²",
    "a space before the digits is swallowed": " 2500",
}


@pytest.mark.parametrize("symptom", DIGITS)
def test_a_text_that_int_would_take_is_no_stake(symptom: str) -> None:
    assert "write [SEAT:]BET=STAKE" in refused(*SETTLE, "--wager", f"banker={DIGITS[symptom]}")


TIMES: Final = {
    "a leap second ends in a traceback": "2026-12-31T23:59:60Z",
    "a day that the month has not is the next month's": "2026-02-30T00:00:00Z",
    "a year of five digits ends in a traceback": "10000-01-01T00:00:00Z",
    "a time without a zone is taken for local time": "2026-11-27T21:40:07",
    "a superscript position ends in a traceback": "²",
}


@pytest.mark.parametrize("symptom", TIMES)
def test_a_time_that_is_none_is_named(symptom: str) -> None:
    assert refused("replay", CORPUS, "--at", TIMES[symptom]).startswith("baccarat: --at ")


@pytest.mark.parametrize("name", ["a?b", "a#b", "a%20b", "100%", "it's", "a;b", "x:memory:"])
def test_a_sign_of_addresses_in_a_path_opens_another_database(name: str, tmp_path: Path) -> None:
    path = tmp_path / name / f"{name}.sqlite"
    path.parent.mkdir()
    with closing(EventLog.open(path, ORIGIN)) as log:
        grow(log, 3)
    with reading(path) as log:
        assert sum(1 for _ in log.read()) == 3
    assert {each.name.partition(".sqlite")[0] for each in path.parent.iterdir()} == {name}
    assert here("log", "verify", path).code == 0


def test_a_log_without_events_is_reported_as_proved(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    path.touch()
    assert here("log", "verify", path).code == 1
    path.unlink()
    EventLog.open(path, ORIGIN).close()
    done = here("log", "verify", path)
    assert "0 events" in done.out
    assert "may have been cut or rewritten" in done.out


def test_the_wal_stays_as_large_as_a_slow_reader_made_it(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with closing(EventLog.open(path, ORIGIN)) as log:
        grow(log, 1)
        with reading(path) as slow:
            assert next(iter(slow.read()))
            while path.with_name(f"{path.name}-wal").stat().st_size < 10 * 1024 * 1024:
                grow(log, 2_000)
        # The first commit takes the WAL in, the next begins it anew.
        grow(log, 1_000)
        grow(log, 1)
        assert path.with_name(f"{path.name}-wal").stat().st_size <= 8 * 1024 * 1024


def test_a_rulebook_saved_with_line_ends_of_windows_is_no_file(tmp_path: Path) -> None:
    source = shipped_source(RULES)
    path = tmp_path / "own.toml"
    path.write_bytes(source.replace(b"\n", b"\r\n"))
    assert named_rulebook(str(path)).bets == named_rulebook(RULES).bets


PASSWORD_FILES: Final[dict[str, bytes]] = {
    "a mark before the password makes it a wrong one": codecs.BOM_UTF8 + b"secret",
    "a password file in UTF-16 ends in a traceback": "secret".encode("utf-16-le"),
    "a password file in Latin-1 ends in a traceback": "caf\u00e9".encode("latin-1"),
    "an empty password file is an empty password": b"\n",
    "a second line becomes part of the password": b"secret\nother\n",
}


@pytest.mark.parametrize("symptom", PASSWORD_FILES)
def test_a_password_file_that_holds_none_is_named(symptom: str, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(PASSWORD_FILES[symptom])
    with pytest.raises(InputError) as told:
        read_password(path)
    assert str(told.value).startswith(f"{path}: ")
    path.write_bytes(b" secret\r\n")
    assert read_password(path) == "secret"


def test_a_password_is_cut_at_72_bytes_or_ends_in_a_traceback() -> None:
    login = Identity(login="b7-core", says=(), hears=())
    place = BrokerFiles(
        folder=Path(), host="h", port=1, websockets=2, ca=Path("a"), cert=Path("c"), key=Path("k")
    )
    with pytest.raises(InputError, match=r"b7-core: nats-server takes 72 bytes"):
        nats_conf(place, [login], {"b7-core": "x" * 73}, 4, "")


def test_an_accent_that_another_keyboard_composes_is_a_wrong_password() -> None:
    composed = "caf\u00e9-Z\u00fcrich"
    apart = normalize("NFD", composed)
    assert apart != composed
    account = UserAccount(password=hash_password(composed), roles=("dealer",))
    assert password_matches(account, apart)
    assert not password_matches(account, "cafe-Zurich")


def test_a_password_counts_only_up_to_a_nul_or_ends_in_a_traceback() -> None:
    account = UserAccount(password=hash_password("abcdefgh\0x"), roles=("dealer",))
    assert not password_matches(account, "abcdefgh\0y")
    assert not password_matches(account, "abcdefgh\udcff")
    with pytest.raises(InputError, match="no UTF-8"):
        hash_password("abcdefgh\udcff")


@pytest.mark.parametrize("ends", [b"\r\n", b"", b"\n\n"], ids=["crlf", "none", "two"])
def test_another_line_end_after_a_key_is_part_of_the_key(ends: bytes, tmp_path: Path) -> None:
    made = here("keys", "new", tmp_path / "t.key", "--name", "a/b")
    path = tmp_path / "t.key"
    path.write_bytes(path.read_bytes().rstrip() + ends)
    assert str(load_signing_key(path).verifier) == made.out.strip()


@pytest.mark.parametrize("name", ["#", "+/#", "+/x", "+/+"])
def test_a_wildcard_hears_the_brokers_own_topics(name: str) -> None:
    assert not matches(name, "$SYS/x")
    assert matches("$SYS/#", "$SYS/x")


@pytest.mark.parametrize("name", [*COMMANDS, "state", "status"])
def test_an_empty_message_ends_its_reader(name: str) -> None:
    """A retained topic that is cleared sends one to every reader."""
    if name == "status":
        assert read_status(b"") is None
    elif name == "state":
        health = TableHealth(table="b7", disks={}, clock=FakeClock(0, now_us=5_000_000))
        health.on_state(b"")
        assert health.state == {}
    else:
        answer = parse_command(name, b"")
        assert isinstance(answer, Answer)
        assert answer.code == "invalid_request"


def test_a_redelivered_message_is_booked_after_the_later_ones_again() -> None:
    buffer = ReorderBuffer(0)
    for position in (1, 2, 3, 4, 2, 5, 1):
        buffer.offer(LedgerEvent("s/t", position, f"{position:032x}", "", None, None, b""))
    assert [each.position for each in buffer.ready] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("digits", ["9" * 5_000, "²", "٣", "-1", ""])
async def test_a_browsers_last_event_id_ends_in_an_error_of_the_server(digits: str) -> None:
    source: Any = SimpleNamespace(change=1, live=True)
    app = make_board_app(source, cast("Any", None), cast("Any", None))
    route: Any = app.routes[1]
    epoch = route.endpoint.__self__._epoch
    asked = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
    async with asked as client:
        answer = await client.head("/events", params={"known": f"{digits}-{epoch}"})
    assert answer.status_code == 200


# What stands on the line before the shoe's first report.
NOISE: Final[dict[str, bytes]] = {
    "a stray start byte swallows all frames after it": b"\x05",
    "half a frame and its length swallow the next": b"\x05\x31\x44",
    "4,095 NULs come before the data": b"\0" * 4_095,
    "a break while the device powers up": b"\xff\0\xff",
    "the text of a boot loader": b"U-Boot 2023.04\r\nOK\r\n",
    "a flow control byte": b"\x11\x13",
}


@pytest.mark.parametrize("symptom", NOISE)
def test_what_stands_before_the_first_frame_costs_no_frame(symptom: str) -> None:
    shoe = DealingShoe(seed=3, disclosure="immediate", profile="enq-bcc")
    sent = [*shoe.new_shoe("20261127-01")[0], *shoe.coup(None)[0]]
    quiet, noisy = _decoded(sent, b""), _decoded(sent, NOISE[symptom])
    assert [each for each in noisy if not isinstance(each, FrameRejected)] == quiet
    assert len(noisy) > len(quiet) > 10


def _decoded(sent: Sequence[object], before: bytes) -> list[object]:
    decoder, told = Decoder(load_profile("enq-bcc"), "j"), list[object]()

    def feed(kind: RecordKind, at: int, payload: bytes) -> None:
        told.extend(each.report for each in decoder.feed(Record(kind, at, at * 1_000, payload)))

    feed(RecordKind.OPEN, 0, b"port")
    feed(RecordKind.DATA, 1_000, before)
    for number, step in enumerate(sent, 1):
        assert isinstance(step, ReportStep)
        for copy, data in enumerate(step.copies):
            feed(RecordKind.DATA, number * 1_000_000 + copy * 20_000, data)
    return told


HANDS: Final = {
    # Player draws a king to 5. Banker has 4 and stands on it, but would draw had no card come.
    "a third card of no points counts as no card": ("2H AD 3S 3C KC", 5, 4, Winner.PLAYER),
    "a tie is won by the house": ("9H 9D KS KC", 9, 9, Winner.TIE),
}


@pytest.mark.parametrize("symptom", HANDS)
def test_a_hand_is_judged_as_the_table_of_play_says(symptom: str) -> None:
    cards, player, banker, winner = HANDS[symptom]
    outcome = deal_cards([parse_card(each) for each in cards.split()])
    assert isinstance(outcome, Outcome)
    assert (outcome.player_total, outcome.banker_total, outcome.winner) == (player, banker, winner)
