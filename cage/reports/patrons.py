"""The patron report of a shoe or a day: turnover, average wager, time, theoretical win.

A patron is the opaque reference of the wagers, or the seat of wagers without one. Reversed
settlements and void wagers do not count. A token is no stake, but what it wins is the house's loss.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal

from msgspec import Struct
from sqlalchemy import ColumnElement, Select, case, func, select

from cage.ledger.posting import REVERSAL
from cage.ledger.reading import BALANCE_KEYS, Filter, Ledger
from cage.ledger.sql_tables import BOOK, ENTRY, POSTING, select_postings
from cage.reports.time_of_play import seconds_of_play
from events.types import CoupSettled, WagersPlaced

__all__ = ["Edges", "PatronReport", "patron_reports", "theoretical_of"]

Edges = Mapping[tuple[str, str], Fraction]
"""(rulebook, bet) to the house's average share of a stake, commission included."""

_SETTLED: Final = ENTRY.c.kind.in_((CoupSettled.TYPE, REVERSAL))
_FIRST: Final = "/1"  # ends the id of a settlement that reverses none
_SEAT: Final = case((POSTING.c.patron != "", 0), else_=POSTING.c.seat)
_WHO: Final[tuple[ColumnElement[Any], ...]] = (POSTING.c.patron, _SEAT)
_MINUTE_S: Final = 60

# (table, shoe or day), and (patron, seat)
_Where = tuple[str, str]
_Who = tuple[str, int]


class PatronReport(Struct, frozen=True, kw_only=True):
    """One patron in one shoe or on one day. Amounts are minor units.

    Args:
        patron: the opaque reference; empty if the wagers had none.
        seat: the seat of wagers without a reference; else 0.
        coups: number of coups in which the patron wagered money.
        turnover: sum of the stakes, pushes included.
        average: turnover divided by coups, to the nearest unit.
        minutes: from the first wager to the last settlement, added up over shoes; pauses of over
            an hour do not count.
        win: the house's win before commission.
        theoretical: the house's average share of that turnover; None if the odds are unknown.
        tokens: the face of the tokens that the patron has played.
    """

    patron: str
    seat: int
    coups: int
    turnover: int
    average: int
    minutes: int
    win: int
    theoretical: int | None
    tokens: int = 0


def patron_reports(
    ledger: Ledger, by: Literal["shoe", "day"], chosen: Filter, edges: Edges | None
) -> dict[_Where, tuple[PatronReport, ...]]:
    """Return the patrons of each shoe or day of each table, those with references first.

    Args:
        ledger: the snapshot to read.
        by: as in `cage.reports.summary.summary_reports`.
        chosen: selects the entries.
        edges: the house's share of each bet, for the theoretical win.
    """
    key = (BOOK.c.stream, BALANCE_KEYS[by])
    handles, wins, tokens = _wagered(ledger, key, chosen)
    coups, times = _coups(ledger, key, chosen), _times(ledger, key, chosen)
    found: dict[_Where, list[PatronReport]] = {}
    there = handles.keys() | tokens.keys()
    for where, who in sorted(there, key=lambda each: (each[0], each[1][0] == "", each[1])):
        bets, spent = handles.get((where, who), {}), tokens.get((where, who), 0)
        turnover, played = sum(bets.values()), coups.get((where, who), 0)
        if not (turnover or played or spent):
            continue
        made = PatronReport(
            patron=who[0],
            seat=who[1],
            coups=played,
            turnover=turnover,
            average=round(Fraction(turnover, played)) if played else 0,
            minutes=round(times.get((where, who), 0) / _MINUTE_S),
            win=wins.get((where, who), 0),
            theoretical=theoretical_of(bets, edges),
            tokens=spent,
        )
        found.setdefault(where, []).append(made)
    return {where: tuple(made) for where, made in found.items()}


def theoretical_of(handles: Mapping[tuple[str, str], int], edges: Edges | None) -> int | None:
    """Return the house's average share of the stakes, to the nearest unit.

    Args:
        handles: (rulebook, bet) to stakes in minor units.
        edges: the house's share of each bet. The result is None if it is None or lacks a bet.
    """
    if edges is None or any(amount and key not in edges for key, amount in handles.items()):
        return None
    exact = sum((amount * edges[key] for key, amount in handles.items() if amount), Fraction())
    return round(exact)


_Handles = dict[tuple[_Where, _Who], dict[tuple[str, str], int]]
_Amounts = dict[tuple[_Where, _Who], int]


def _wagered(
    ledger: Ledger, key: tuple[ColumnElement[Any], ...], chosen: Filter
) -> tuple[_Handles, _Amounts, _Amounts]:
    """Return each patron's stakes by bet, the house's win, and the tokens that were played."""
    columns = (*key, *_WHO, ENTRY.c.rulebook, POSTING.c.bet, POSTING.c.account)
    asked = _settled((*columns, func.sum(POSTING.c.amount)), ("pool", "win", "promo_used"), chosen)
    handles: _Handles = {}
    amounts: dict[str, _Amounts] = {"win": {}, "promo_used": {}}
    for table, name, patron, seat, rulebook, bet, account, amount in ledger.connection.execute(
        asked.group_by(*columns)
    ):
        place = ((table, name), (patron, seat))
        if account == "pool":
            handles.setdefault(place, {})[rulebook, bet] = int(amount)
        else:
            sums = amounts[account]
            sums[place] = sums.get(place, 0) - int(amount)
    return handles, amounts["win"], amounts["promo_used"]


def _coups(
    ledger: Ledger, key: tuple[ColumnElement[Any], ...], chosen: Filter
) -> dict[tuple[_Where, _Who], int]:
    """Return the number of coups in which each patron has a wager."""
    columns = (*key, *_WHO, ENTRY.c.coup)
    names = ("stream", "name", "patron", "seat", "coup")
    labelled = tuple(each.label(name) for each, name in zip(columns, names, strict=True))
    standing = (
        _settled(labelled, ("pool",), chosen)
        .group_by(*columns)
        .having(func.sum(POSTING.c.amount) > 0)
        .subquery()
    )
    by = (standing.c.stream, standing.c.name, standing.c.patron, standing.c.seat)
    rows = ledger.connection.execute(select(*by, func.count()).group_by(*by))
    return {((row[0], row[1]), (row[2], row[3])): row[4] for row in rows}


def _times(
    ledger: Ledger, key: tuple[ColumnElement[Any], ...], chosen: Filter
) -> dict[tuple[_Where, _Who], float]:
    """Return each patron's seconds at the table. A reversing settlement adds no time."""
    columns = (*key, *_WHO, ENTRY.c.shoe)
    settled = (ENTRY.c.kind == CoupSettled.TYPE) & ENTRY.c.ref.endswith(_FIRST, autoescape=True)
    asked = (
        select_postings(*columns, ENTRY.c.at)
        .where(
            (ENTRY.c.kind == WagersPlaced.TYPE) | settled,
            POSTING.c.account == "pool",
            *chosen.conditions(),
        )
        .order_by(ENTRY.c.book, ENTRY.c.position)
    )
    found: dict[tuple[Any, ...], list[str]] = {}
    for *who, at in ledger.connection.execute(asked):
        found.setdefault(tuple(who), []).append(at)
    times: dict[tuple[_Where, _Who], float] = {}
    for (table, name, patron, seat, _), played in found.items():
        place = ((table, name), (patron, seat))
        times[place] = times.get(place, 0) + seconds_of_play(played)
    return times


def _settled(
    columns: tuple[ColumnElement[Any], ...], accounts: tuple[str, ...], chosen: Filter
) -> Select[Any]:
    return select_postings(*columns).where(
        _SETTLED,
        POSTING.c.account.in_(accounts),
        POSTING.c.result != "void",
        *chosen.conditions(),
    )
