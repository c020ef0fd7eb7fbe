"""The property's questions, each against a small computation over the logs that knows no SQL."""

import itertools
import zoneinfo
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from psycopg.rows import dict_row

from benchmarks.instruments.postgres import Postgres
from events.types import (
    AlarmCleared,
    AlarmRaised,
    BettingOpened,
    CommissionAccrued,
    CoupSettled,
    CoupVoided,
    DealerAssigned,
    Entry,
    HandsCorrected,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    Settlement,
    SettlementLine,
    ShoeReported,
    WagersPlaced,
)
from table_core.odds.exact import exact_odds
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook_file import full_shoe
from tests.support.cage.ledgers import MemoryLedger
from tests.support.property.logs import dealt, entries_in, into_archive, played, write_log

_CORPUS: Final = Path(__file__).parents[2] / "corpus" / "0.1.0" / "table.sqlite"
_ZONE: Final = "Australia/Sydney"
_SHIFTS: Final = {"day": time(6), "swing": time(14), "grave": time(22)}
_BOOK: Final = "nz-scale-one"

Logs = dict[str, list[Entry]]


class Asked:
    """The archive of some logs, and what is in them."""

    def __init__(self, url: str, logs: Logs) -> None:
        self.logs = logs
        self._db = psycopg.connect(url, row_factory=dict_row, autocommit=True)
        self._db.execute("SET TIME ZONE 'UTC'")

    def __call__(self, query: str, *given: object) -> list[dict[str, Any]]:
        return self._db.execute(query, given).fetchall()

    def close(self) -> None:
        self._db.close()


@pytest.fixture(scope="module")
def asked(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Tables that play at the same time, two of them with the same cards, and one of before.

    An event comes every minute or so: the games last through several shifts.
    """
    folder, url = tmp_path_factory.mktemp("logs"), postgres.database()
    owing = [*played(14, 20)]
    while not isinstance(owing[-1], CommissionAccrued):
        owing.pop()
    games = {
        "harbour/t1": played(11, 60),
        "harbour/t2": played(12, 60, _BOOK),
        "river/t1": played(13, 40, "prepaid"),
        "river/t2": owing,
        "river/t3": dealt(15, 10),
        "harbour/t3": dealt(15, 12),
    }
    paths = {"harbour/b7": _CORPUS}
    for number, (origin, events) in enumerate(games.items()):
        paths[origin] = folder / f"{number}.sqlite"
        write_log(paths[origin], origin, events, every_s=50 + number)
    into_archive(url, *paths.values())
    with psycopg.connect(url) as db:
        rows = [("harbour", name, begins, _ZONE) for name, begins in _SHIFTS.items()]
        db.cursor().executemany("INSERT INTO property.shift VALUES (%s, %s, %s, %s)", rows)
        edges = [(_BOOK, bet, edge.numerator, edge.denominator) for bet, edge in _edges().items()]
        db.cursor().executemany("INSERT INTO property.edge VALUES (%s, %s, %s, %s)", edges)
    made = Asked(url, {origin: entries_in(path) for origin, path in paths.items()})
    yield made
    made.close()


def _edges() -> dict[str, Fraction]:
    book = load_rulebook(_BOOK)
    return {bet: row.edge for bet, row in exact_odds(book, full_shoe(book.decks)).items()}


def _name(row: dict[str, Any]) -> str:
    return f"{row['site']}/{row['table']}"


class _Coup:
    """What became of a coup, event by event."""

    def __init__(self, opened: Entry, staff: DealerAssigned | None) -> None:
        self.opened = opened
        self.staff = staff
        self.settlement: Settlement | None = None
        self.void = False
        self.patrons: set[str] = set()
        self.laid: dict[str, str] = {}
        self.ended: str | None = None

    def hear(self, entry: Entry) -> None:
        match entry.data:
            case WagersPlaced(wagers=wagers):
                for name in (wager.patron for wager in wagers if wager.patron is not None):
                    self.patrons.add(name)
                    self.laid.setdefault(name, entry.at)
            case CoupSettled(settlement=settlement) if settlement.phase == 2:
                self.settlement = settlement
                self.ended = self.ended or entry.at
            case CoupVoided():
                self.void = True
                self.ended = self.ended or entry.at
            case HandsCorrected(counts_again=True):
                self.void = False


def _coups(log: list[Entry]) -> dict[str, _Coup]:
    found: dict[str, _Coup] = {}
    staff = None
    for entry in log:
        event = entry.data
        if isinstance(event, DealerAssigned):
            staff = event
        elif isinstance(event, BettingOpened):
            found[event.coup] = _Coup(entry, staff)
        elif (coup := found.get(str(getattr(event, "coup", "")))) is not None:
            coup.hear(entry)
    return found


def test_every_coup_is_as_the_log_leaves_it(asked: Asked) -> None:
    rows = asked("SELECT * FROM property.coup")
    assert len(rows) == sum(len(_coups(log)) for log in asked.logs.values()) > 150
    seen = Counter[str]()
    for origin, log in asked.logs.items():
        there = {row["coup"]: row for row in rows if _name(row) == origin}
        for name, coup in _coups(log).items():
            row, settled = there[name], coup.settlement
            assert row["void"] == coup.void, name
            assert row["patrons"] == sorted(coup.patrons)
            assert row["dealer"] == (coup.staff.dealer if coup.staff else None)
            assert (row["shoe"], str(row["number"])) == tuple(name.split("/"))
            if settled is None:
                assert row["winner"] is None
                continue
            player, banker = [c.value for c in settled.player], [c.value for c in settled.banker]
            assert (row["player"], row["banker"]) == (player, banker)
            assert row["winner"] == (settled.winner.value if settled.winner else None)
            assert row["player_total"] == settled.player_total
            assert row["rulebook"] == settled.rulebook
            assert row["player_pair"] == (player[:2] != [] and player[0][0] == player[1][0])
            seen[f"{row['winner']} {row['void']} {row['revision'] > 1}"] += 1
    assert {"player False False", "banker False True", "player True True"} <= seen.keys(), seen


def test_coups_are_found_by_card_result_dealer_and_patron(asked: Asked) -> None:
    def found(**given: str) -> set[tuple[str, str]]:
        names = ", ".join(f"{key} => %s" for key in given)
        query = f"SELECT * FROM property.find_coups({names}, most => 9999)"  # noqa: S608 - our names
        rows = asked(query, *given.values())
        return {(_name(row), row["coup"]) for row in rows}

    every = [
        (origin, name, coup)
        for origin, log in asked.logs.items()
        for name, coup in _coups(log).items()
    ]

    def cards(coup: _Coup) -> set[str]:
        lie = (*coup.settlement.player, *coup.settlement.banker) if coup.settlement else ()
        return {card.value for card in lie}

    def result(coup: _Coup) -> str:
        winner = coup.settlement.winner if coup.settlement else None
        return "void" if coup.void else winner.value if winner else ""

    for card in ("KH", "9D"):
        assert found(card=card) == {(o, n) for o, n, c in every if card in cards(c)} != set()
    for word in ("player", "tie", "void"):
        assert found(result=word) == {(o, n) for o, n, c in every if result(c) == word} != set()
    by_dealer = {(o, n) for o, n, c in every if c.staff and c.staff.dealer == "d-4"}
    assert found(dealer_ref="d-4") == by_dealer != set()
    assert found(patron_ref="p-1") == {(o, n) for o, n, c in every if "p-1" in c.patrons} != set()
    both = {(o, n) for o, n, c in every if "p-1" in c.patrons and result(c) == "banker"}
    assert found(patron_ref="p-1", result="banker") == both != set()


def _shift(site: str, at: str) -> tuple[date, str]:
    moment = datetime.fromisoformat(at)
    if site != "harbour":
        return moment.date(), ""
    local = moment.astimezone(zoneinfo.ZoneInfo(_ZONE))
    named = [name for name, begins in _SHIFTS.items() if begins <= local.time()]
    return (local.date(), named[-1]) if named else (local.date() - timedelta(days=1), "grave")


_Shift = tuple[str, date, str]


class _Won:
    """What one shift at one table came to."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()
        self.stakes: Counter[tuple[str, str]] = Counter()

    def add(self, sign: int, rulebook: str, line: SettlementLine) -> None:
        money = line.kind != "promo"
        lost = line.stake if money and line.result == "lose" else 0
        self.sums.update(commission=sign * line.commission, win=sign * (lost - line.winnings))
        if money and line.result != "void":
            self.sums["handle"] += sign * line.stake
            self.stakes[rulebook, line.bet] += sign * line.stake

    def theory(self, edges: dict[str, Fraction]) -> Fraction | None:
        wagered = [(key, stake) for key, stake in self.stakes.items() if stake]
        if any(book != _BOOK or bet not in edges for (book, bet), _ in wagered):
            return None
        return sum((stake * edges[bet] for (_, bet), stake in wagered), Fraction())


def _won(logs: Logs) -> dict[_Shift, _Won]:
    found: dict[_Shift, _Won] = defaultdict(_Won)
    for origin, log in logs.items():
        settled: dict[str | None, Settlement] = {}
        for entry in log:
            if not isinstance(entry.data, CoupSettled):
                continue
            made = entry.data.settlement
            settled[made.settlement_id] = made
            key = (origin, *_shift(origin.split("/")[0], entry.at))
            for sign, each in ((1, made), (-1, settled.get(made.reverses))):
                for line in each.lines if each is not None else ():
                    found[key].add(sign, each.rulebook, line)  # type: ignore[union-attr]  # has lines
    return found


def test_win_and_theoretical_win_by_table_shift_and_day(asked: Asked) -> None:
    won, edges = _won(asked.logs), _edges()
    rows = asked("SELECT * FROM property.win")
    assert len(rows) == len(won) > 6
    for row in rows:
        of = won[_name(row), row["day"], row["shift"]]
        want = {name: of.sums[name] for name in ("handle", "win", "commission")}
        assert {name: row[name] for name in want} == want
        exact = of.theory(edges)
        if exact is None:
            assert row["theoretical"] is None
        else:
            assert abs(row["theoretical"] - exact) <= Fraction(1, 2)
    assert any(row["theoretical"] for row in rows)
    assert any(row["theoretical"] is None for row in rows)
    assert {row["shift"] for row in rows} == {"", *_SHIFTS}


def test_commission_is_what_the_cage_books(asked: Asked) -> None:
    rows = {(_name(row), row["seat"]): row for row in asked("SELECT * FROM property.commission")}
    checked = Counter[str]()
    for origin, log in asked.logs.items():
        cage = MemoryLedger()
        cage.hear([entry.data for entry in log])
        accrued = Counter[int]()
        for entry in log:
            if isinstance(entry.data, CommissionAccrued):
                for each in entry.data.amounts:
                    accrued[each.seat] += each.amount
        owed, given_up = (cage.by_seat(each) for each in ("outstanding", "uncollected"))
        assert {seat for name, seat in rows if name == origin} == accrued.keys()
        for seat in accrued:
            row = rows[origin, seat]
            assert row["outstanding"] == owed[seat], (origin, seat)
            assert row["uncollected"] == given_up[seat], (origin, seat)
            assert row["accrued"] == accrued[seat]
            checked["owed"] += owed[seat] > 0
            checked["given up"] += given_up[seat] > 0
            checked["taken back"] += row["reversed"] > 0
    assert all(checked[name] for name in ("owed", "given up", "taken back")), checked


def test_the_same_patron_at_two_tables_at_once(asked: Asked) -> None:
    lay = [
        (patron, *origin.split("/"), name, at, coup.ended or "9999")
        for origin, log in asked.logs.items()
        for name, coup in _coups(log).items()
        for patron, at in coup.laid.items()
    ]
    want = {
        (a[0], *a[1:4], *b[1:4])
        for a, b in itertools.product(lay, lay)
        if a[0] == b[0] and a[1:3] < b[1:3] and a[4] < b[5] and b[4] < a[5]
    }
    rows = asked("SELECT * FROM property.two_tables()")
    names = ("patron", "site", "table", "coup", "other_site", "other_table", "other_coup")
    assert len(rows) == len(want) > 20
    assert {tuple(row[name] for name in names) for row in rows} == want
    assert all(row["since_at"] < row["until_at"] for row in rows if row["until_at"])


@pytest.mark.parametrize("k", [2, 5, 12])
def test_card_runs_that_repeat_across_shoes_and_tables(asked: Asked, k: int) -> None:
    places: dict[str, set[tuple[str, str, int]]] = defaultdict(set)
    for origin, log in asked.logs.items():
        shoes: dict[str, list[str]] = defaultdict(list)
        for name, coup in _coups(log).items():
            if coup.settlement is None:
                continue
            player, banker = coup.settlement.player, coup.settlement.banker
            order = (*player[:1], *banker[:1], *player[1:2], *banker[1:2], *player[2:], *banker[2:])
            shoes[name.split("/")[0]] += [card.value for card in order]
        for shoe, cards in shoes.items():
            for at in range(len(cards) - k + 1):
                places[" ".join(cards[at : at + k])].add((origin, shoe, at + 1))
    want = {
        (run, len(found), *place)
        for run, found in places.items()
        if len(found) > 1
        for place in found
    }
    rows = asked("SELECT * FROM property.repeated_runs(%s)", k)
    assert want
    assert {(r["run"], r["times"], _name(r), r["shoe"], r["place"]) for r in rows} == want
    assert len({(row["site"], row["table"]) for row in rows}) > 1


def test_live_tables_show_where_each_stands(asked: Asked) -> None:
    rows = {_name(row): row for row in asked("SELECT * FROM property.live")}
    assert rows.keys() == asked.logs.keys()
    words = {LinkOpen: "open", LinkUp: "up", LinkDown: "down", LinkStalled: "stalled"}
    for origin, log in asked.logs.items():
        row, alarms, link = rows[origin], set[str](), None
        settled = set[str]()
        for entry in log:
            event = entry.data
            if isinstance(event, AlarmRaised):
                alarms.add(event.alarm)
            elif isinstance(event, AlarmCleared):
                alarms.discard(event.alarm)
            elif isinstance(event, ShoeReported):
                link = words.get(type(event.source.report), link)
            elif isinstance(event, CoupSettled) and event.settlement.phase == 2:
                settled.add(event.coup)
        assert row["position"] == log[-1].position
        assert row["last_event_at"] == datetime.fromisoformat(log[-1].at)
        assert row["link"] == link
        assert row["alarms"] == sorted(alarms)
        assert [each["coup"] for each in row["newest"]] == [
            coup for coup in reversed(_coups(log)) if coup in settled
        ][:6]
        assert (row["feed"], row["feed_alarms"]) == ("running", [])
    assert any(row["alarms"] for row in rows.values())


@pytest.mark.parametrize("of", ["block", "tail"])
def test_an_archived_event_is_never_edited(asked: Asked, of: str) -> None:
    for change in (f"UPDATE property.{of} SET hash = ''", f"DELETE FROM property.{of}"):  # noqa: S608 - our names
        with pytest.raises(psycopg.errors.RaiseException, match="never edited"):
            asked(change)
    with pytest.raises(psycopg.errors.RaiseException, match="never edited"):
        asked(f"TRUNCATE property.{of}")
