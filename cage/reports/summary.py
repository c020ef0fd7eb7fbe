"""The summary report of a shoe or a day: handle, win, theoretical win, commission, patrons, chips.

The caller supplies the exact odds as ratios: the cage has no rules of the game. Wagers for the
dealers count like any other. Tokens have no handle; the winnings that they cost the house count,
and `tokens` is their face.
"""

from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, FromClause, Select, and_, case, func, select, tuple_

from cage.ledger.posting import REVERSAL
from cage.ledger.reading import BALANCE_KEYS, Filter, Ledger
from cage.ledger.sql_tables import BOOK, ENTRY, POSTING, POSTING_TO_ENTRY, select_postings
from cage.reports.drop_and_hold import FloatReport, float_reports
from cage.reports.patrons import Edges, PatronReport, patron_reports, theoretical_of
from cage.reports.time_of_play import seconds_of_play
from events.types import (
    CommissionAccrued,
    CommissionReversed,
    CoupSettled,
    CoupVoided,
    HandsCorrected,
)

__all__ = ["SummaryReport", "summary_reports"]

_SETTLED: Final = ENTRY.c.kind.in_((CoupSettled.TYPE, REVERSAL))
_LAST_PHASE: Final = 2
_FIRST: Final = "/2/1"  # ends the id of the first settlement of a coup's last phase


class SummaryReport(Struct, frozen=True, kw_only=True):
    """One shoe or one day of one table. Amounts are minor units.

    Args:
        table: `<site>/<table>`.
        key: the shoe, or the business day.
        coups: completely settled coups, without those found void later.
        voids: coups that are void now, where they became so.
        first: time of the first settlement, RFC 3339; empty if there is none.
        last: time of the last settlement.
        hands_per_hour: coups an hour between the two, pauses of over an hour left out; None below
            two coups.
        handle: stakes of settled wagers, pushes included.
        win: stakes lost less winnings, before commission.
        commission: accrued less reversed.
        house: win plus commission.
        theoretical: the house's average share of that handle, to the nearest unit; None if the
            odds of a rulebook are missing.
        accrued: commission that settlements created.
        reversed_: commission reversed with its settlement.
        collected: commission taken in any way, less what was returned.
        outstanding: commission owed and not yet taken.
        uncollected: commission given up and still unpaid.
        recovered: commission paid after it had been given up, less what was returned.
        corrections: number of reversed settlements.
        tokens: the face of the tokens that were played.
        currency: ISO 4217; empty where the entries name none.
        rulebooks: the rulebooks of the settlements.
        patrons: each patron's wagers.
        floats: a day's chip inventory; empty by shoe, since trays are counted by day.
    """

    table: str
    key: str
    coups: int
    voids: int
    first: str
    last: str
    hands_per_hour: float | None
    handle: int
    win: int
    commission: int
    house: int
    theoretical: int | None
    accrued: int
    reversed_: int
    collected: int
    outstanding: int
    uncollected: int
    recovered: int
    corrections: int
    rulebooks: tuple[str, ...] = ()
    patrons: tuple[PatronReport, ...] = ()
    floats: tuple[FloatReport, ...] = ()
    tokens: int = 0
    currency: str = ""


def summary_reports(
    ledger: Ledger, by: Literal["shoe", "day"], chosen: Filter, edges: Edges | None = None
) -> list[SummaryReport]:
    """Return a report for each shoe or day, and each currency played in it, table by table.

    Args:
        ledger: the snapshot to read.
        by: a correction belongs to the shoe of its coup, and to the day of the correction.
        chosen: selects the entries.
        edges: the house's share of each bet, for the theoretical win.
    """
    named = ledger.currencies(chosen, by)
    mixed = {where for where, names in named.items() if len(names) > 1}
    found = [
        replace(each, currency=next(iter(named.get(where, ())), ""))
        for each in _summary_reports(ledger, by, chosen, edges)
        if (where := (each.table, each.key)) not in mixed
    ]
    names = {name for where in mixed for name in named[where]}
    for name in sorted(names | {""} if names else ()):
        ours = replace(chosen, currency=name)
        found += [
            replace(each, currency=name)
            for each in _summary_reports(ledger, by, ours, edges)
            if (each.table, each.key) in mixed and (name or each.coups)
        ]
    return sorted(found, key=lambda each: (each.table, each.key, each.currency))


def _summary_reports(
    ledger: Ledger, by: Literal["shoe", "day"], chosen: Filter, edges: Edges | None
) -> list[SummaryReport]:
    balances = {
        (each.table, each.key): each.accounts for each in ledger.balances(chosen, by) if each.key
    }
    handles = _handles(ledger, by, chosen)
    commission = _commission(ledger, by, chosen)
    events = _events(ledger, by, chosen)
    patrons = patron_reports(ledger, by, chosen, edges)
    floats = _floats(ledger, by, chosen)
    # Free hands move nothing, and are coups like any other.
    played = {where for where, each in events.items() if where[1] and (each.coups or each.voids)}
    found = {
        where: _summary_report(
            where,
            balances.get(where, {}),
            handles.get(where, {}),
            commission.get(where, (0, 0)),
            events.get(where, _Events(0, 0, "", "", 0)),
            edges,
        )
        for where in sorted(balances.keys() | played | floats.keys())
    }
    return [
        replace(each, patrons=patrons.get(where, ()), floats=tuple(floats.get(where, ())))
        for where, each in found.items()
    ]


_Where = tuple[str, str]


class _Events(Struct, frozen=True):
    coups: int
    voids: int
    first: str
    last: str
    corrections: int
    seconds: float = 0


def _summary_report(
    where: _Where,
    accounts: dict[str, int],
    handles: dict[tuple[str, str], int],
    commission: tuple[int, int],
    events: _Events,
    edges: Edges | None,
) -> SummaryReport:
    win, kept = -accounts.get("win", 0), -accounts.get("commission", 0)
    return SummaryReport(
        table=where[0],
        key=where[1],
        coups=events.coups,
        voids=events.voids,
        first=events.first,
        last=events.last,
        hands_per_hour=_per_hour(events),
        handle=sum(handles.values()),
        win=win,
        commission=kept,
        house=win + kept,
        theoretical=theoretical_of(handles, edges),
        accrued=commission[0],
        reversed_=commission[1],
        collected=accounts.get("collected", 0),
        outstanding=accounts.get("outstanding", 0),
        uncollected=accounts.get("uncollected", 0),
        recovered=accounts.get("recovered", 0),
        corrections=events.corrections,
        tokens=-accounts.get("promo_used", 0),
        rulebooks=tuple(sorted({rulebook for rulebook, _ in handles})),
    )


def _floats(ledger: Ledger, by: str, chosen: Filter) -> dict[_Where, list[FloatReport]]:
    """Return the floats by day; none if the filter selects only part of a table's play."""
    whole = (chosen.shoe, chosen.coup, chosen.seat, chosen.bet) == (None,) * 4
    found: dict[_Where, list[FloatReport]] = {}
    for each in float_reports(ledger, chosen) if by == "day" and whole else ():
        if chosen.currency not in {None, each.currency}:
            continue
        found.setdefault((each.table, each.day), []).append(each)
    return found


def _per_hour(events: _Events) -> float | None:
    if events.coups < 2 or not events.seconds:  # noqa: PLR2004 - an interval has two ends
        return None
    return round((events.coups - 1) * 3600 / events.seconds, 1)


def _handles(ledger: Ledger, by: str, chosen: Filter) -> dict[_Where, dict[tuple[str, str], int]]:
    key = (BOOK.c.stream, BALANCE_KEYS[by], ENTRY.c.rulebook, POSTING.c.bet)
    asked = (
        select_postings(*key, func.sum(POSTING.c.amount))
        .where(_SETTLED, POSTING.c.account == "pool", POSTING.c.result != "void")
        .where(*chosen.conditions())
        .group_by(*key)
    )
    found: dict[_Where, dict[tuple[str, str], int]] = {}
    for table, name, rulebook, bet, amount in ledger.connection.execute(asked):
        found.setdefault((table, name), {})[rulebook, bet] = int(amount)
    return found


def _commission(ledger: Ledger, by: str, chosen: Filter) -> dict[_Where, tuple[int, int]]:
    def of(kind: str) -> ColumnElement[Any]:
        return func.sum(case((ENTRY.c.kind == kind, POSTING.c.amount), else_=0))

    key = (BOOK.c.stream, BALANCE_KEYS[by])
    asked = (
        select_postings(*key, of(CommissionAccrued.TYPE), of(CommissionReversed.TYPE))
        .where(POSTING.c.account == "commission")
        .where(*chosen.conditions())
        .group_by(*key)
    )
    rows = ledger.connection.execute(asked)
    return {(row[0], row[1]): (-int(row[2]), int(row[3])) for row in rows}


def _events(ledger: Ledger, by: str, chosen: Filter) -> dict[_Where, _Events]:
    """Count entries, not postings: a coup without wagers has no postings."""
    settled = ENTRY.c.kind == CoupSettled.TYPE
    ended = and_(
        settled, ENTRY.c.phase == _LAST_PHASE, ENTRY.c.ref.endswith(_FIRST, autoescape=True)
    )
    counts = and_(ended, tuple_(ENTRY.c.book, ENTRY.c.coup).not_in(_voids("coup")))
    void = tuple_(ENTRY.c.book, ENTRY.c.position).in_(_voids())
    key = (BOOK.c.stream, BALANCE_KEYS[by])
    there = ENTRY.join(BOOK, BOOK.c.id == ENTRY.c.book)
    if (chosen.seat, chosen.bet) != (None, None):
        there = there.join(POSTING, POSTING_TO_ENTRY)
    asked = (
        select(
            *key,
            func.count(case((counts, ENTRY.c.coup)).distinct()),
            func.count(case((void, ENTRY.c.coup)).distinct()),
            func.min(case((settled, ENTRY.c.at))),
            func.max(case((settled, ENTRY.c.at))),
            func.count(case((ENTRY.c.kind == REVERSAL, ENTRY.c.ref)).distinct()),
        )
        .select_from(there)
        .where(*chosen.conditions())
        .group_by(*key)
    )
    seconds = _seconds(ledger, key, there, chosen)
    return {
        (row[0], row[1]): _Events(
            row[2], row[3], row[4] or "", row[5] or "", row[6], seconds.get((row[0], row[1]), 0)
        )
        for row in ledger.connection.execute(asked)
    }


def _voids(column: str = "position") -> Select[Any]:
    """Select the coups that are void now, or where they became so: not those that count again."""
    void = ENTRY.alias()
    again = (
        select(ENTRY.c.book, ENTRY.c.coup, func.max(ENTRY.c.position).label("position"))
        .where(ENTRY.c.kind == HandsCorrected.TYPE)
        .group_by(ENTRY.c.book, ENTRY.c.coup)
        .subquery()
    )
    same = and_(again.c.book == void.c.book, again.c.coup == void.c.coup)
    return (
        select(void.c.book, void.c[column])
        .select_from(void.outerjoin(again, same))
        .where(void.c.kind == CoupVoided.TYPE)
        .where(void.c.position > func.coalesce(again.c.position, 0))
    )


def _seconds(
    ledger: Ledger, key: tuple[ColumnElement[Any], ...], there: FromClause, chosen: Filter
) -> dict[_Where, float]:
    """Return the seconds of play between the first settlement and the last."""
    asked = (
        select(*key, ENTRY.c.at)
        .select_from(there)
        .where(ENTRY.c.kind == CoupSettled.TYPE, *chosen.conditions())
        .order_by(ENTRY.c.book, ENTRY.c.position)
    )
    found: dict[_Where, list[str]] = {}
    for row in ledger.connection.execute(asked):
        found.setdefault((row[0], row[1]), []).append(row[2])
    return {where: seconds_of_play(times) for where, times in found.items()}
