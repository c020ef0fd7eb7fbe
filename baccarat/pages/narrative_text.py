"""Render narratives, what-ifs, coup lists and table states as text for a terminal.

Each line is shown by `show_lines`: people and devices have written what stands in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from events.free_text import show_lines
from events.money import UNKNOWN_CURRENCY, Currency
from table_core.history.what_if import WhatIf, WhatIfSide, WhatIfWager
from table_core.narrative.coup import (
    CoupNarrative,
    SeatMoney,
    SettlementChange,
    SettlementNarrative,
)
from table_core.narrative.formatting import amount, face, faces
from table_core.narrative.timeline import TimelineLine
from table_core.narrative.wager_outcome import WagerNarrative
from table_core.projections.table_document import StateView
from table_core.replay.coup_events import CoupLine
from table_core.rules.rulebook import Rulebook

__all__ = ["list_text", "state_text", "story_text", "what_if_text"]

_SECONDS = len("2026-11-27T21:40:07.123")


def list_text(
    lines: Iterable[CoupLine], events: int, head: str, rulebooks: Mapping[str, Rulebook]
) -> str:
    """Return the coups of a log as text; amounts are written as each coup's rulebook says."""
    rows = [_coup_row(line, rulebooks.get(line.rulebook_hash)) for line in lines]
    if not rows:
        rows = ["No coup has begun in this log."]
    ending = f"{events:,} events, newest hash {head}" if events else "The log has no events."
    how = "One of them in full: --coup ID. The table at any moment: --at POSITION or TIME."
    return show_lines([*rows, "", ending, how])


def _coup_row(line: CoupLine, rulebook: Rulebook | None) -> str:
    hands = f"Player {faces(line.player)}  Banker {faces(line.banker)}" if line.result else ""
    came = line.state if line.state != "settled" else f"{line.result}"
    staked, paid = (
        amount(each, rulebook.money if rulebook else UNKNOWN_CURRENCY)
        for each in (line.staked, line.paid)
    )
    money = f"staked {staked} paid {paid}" if line.staked else ""
    again = (f"revision {line.revision}",) if line.revision > 1 else ()
    notes = ", ".join((*again, *line.troubles))
    return (
        f"{line.coup:<15} {_time(line.opened_at)}  {came:<11} {hands:<34} {money:<34} {notes}"
    ).rstrip()


# ---- one coup ----


def story_text(story: CoupNarrative, calls: Mapping[int, str] = MappingProxyType({})) -> str:
    """Return one coup as a timeline, with the dealer's calls by the position they follow."""
    answer = f", dealer {story.dealer}" if story.dealer else ""
    answer += f", supervisor {story.supervisor}" if story.supervisor else ""
    title = f" ({story.rulebook_title})" if story.rulebook_title else ""
    lines = [
        f"Coup {story.coup} of table {story.table}, {story.site}{answer}",
        f"Rules {story.rulebook}{title}, file {story.rulebook_hash}",
        f"Amounts in {story.currency or 'units of 100 of the rulebook that is not at hand'}",
        "",
        f"Player  {faces(story.player.cards)} = {_points(story.player.total)}",
        f"Banker  {faces(story.banker.cards)} = {_points(story.banker.total)}",
        f"Result  {_result(story)}",
        "",
        f"Positions {story.first} to {story.last}, hash {story.last_hash}",
        "",
    ]
    for line in story.lines:
        lines += _line(line)
        if line.position in calls:
            lines.append(f"{'':>34} the dealer calls: {calls[line.position]}")
    for settlement in story.settlements:
        lines += ["", *_settlement(settlement, story.money)]
    for change in story.changes:
        lines += ["", *_change(change, story.money)]
    if story.seats:
        lines += ["", "By seat, as it stands now:"]
        lines += [_seat(seat, story.money) for seat in story.seats]
    return show_lines(lines)


def _seat(seat: SeatMoney, currency: Currency) -> str:
    laid, received, net = (amount(each, currency) for each in (seat.staked, seat.paid, seat.net))
    return f"  seat {seat.seat:>2}  laid {laid:>12}  received {received:>12}  net {net:>12}"


def _points(points: int | None) -> str:
    return "not known" if points is None else str(points)


def _result(story: CoupNarrative) -> str:
    result = story.result.capitalize() if story.result else "none"
    if story.phase == "settled":
        return result
    why = f": {story.reason}" if story.reason else ""
    return (
        f"{story.phase}{why}" if story.result is None else f"{story.phase}{why} (cards: {result})"
    )


def _line(line: TimelineLine) -> Iterator[str]:
    mark = {"trouble": "!", "decision": ">"}.get(line.tone, " ")
    yield f"{_time(line.at)} {line.position:>7} {mark} {line.who}: {line.says}"
    for detail in line.details:
        yield f"{'':>34} {detail}"
    if line.raw is not None and line.raw.hex:
        raw = line.raw
        spaced = " ".join(raw.hex[at : at + 2] for at in range(0, len(raw.hex), 2))
        yield f"{'':>34} bytes {spaced}, journal {raw.journal}, offset {raw.offset}"


def _settlement(settlement: SettlementNarrative, currency: Currency) -> Iterator[str]:
    s = settlement
    state = "" if s.in_force else ", taken back later"
    yield f"Settlement {s.id} at position {s.position}{state}"
    yield f"  Player {s.player}, Banker {s.banker}"
    for wager in s.wagers:
        yield from _wager(wager)
    yield (
        f"  staked {amount(s.staked, currency)}, paid {amount(s.paid, currency)}, "
        f"commission {amount(s.commission, currency)}"
    )


def _wager(wager: WagerNarrative) -> Iterator[str]:
    yield f"  seat {wager.seat:>2} {wager.name}: {wager.why} [{wager.source}]"
    for step in wager.sums:
        yield f"          {step}"


def _change(change: SettlementChange, currency: Currency) -> Iterator[str]:
    reason = change.reason or "no reason given"
    yield f"Changed at position {change.position} by {change.who}: {reason}"
    yield f"  before  {change.was}" + (f"  ({change.before})" if change.before else "")
    yield f"  after   {change.now}  ({change.after})"
    for seat in change.seats:
        staked = ""
        if seat.staked_before != seat.staked_after:
            staked = (
                f"staked {amount(seat.staked_before, currency)} before, "
                f"{amount(seat.staked_after, currency)} after, "
            )
        yield (
            f"  seat {seat.seat:>2}  {staked}paid {amount(seat.before, currency)} before, "
            f"{amount(seat.after, currency)} after, difference {amount(seat.owed, currency)}"
        )


# ---- what if ----


def what_if_text(found: WhatIf, currency: Currency) -> str:
    """Return a coup next to its hypothetical variant."""
    lines = [f"Coup {found.coup}, what if. Nothing in the log is changed.", ""]
    lines += [f"  {change}" for change in found.changes]
    lines += ["", f"  {'':<10} {'happened':<32} what if"]
    for name, left, right in _sides(found.happened, found.instead):
        lines.append(f"  {name:<10} {left:<32} {right:<32}".rstrip())
    lines += ["", *_two_columns(found.happened.rules, found.instead.rules)]
    if found.sequence:
        lines += ["", "The drawing would have gone another way:"]
        lines += [f"  {sentence}" for sentence in found.sequence]
    else:
        lines += ["", "The same cards would have been due."]
    lines += ["", *(_beside(wager, currency) for wager in found.wagers)]
    return show_lines(lines).rstrip()


def _sides(happened: WhatIfSide, instead: WhatIfSide) -> Iterator[tuple[str, str, str]]:
    sides = (happened, instead)
    yield "Player", *(f"{faces(s.player)} = {_points(s.player_total)}" for s in sides)  # type: ignore[misc]  # two sides, two columns
    yield "Banker", *(f"{faces(s.banker)} = {_points(s.banker_total)}" for s in sides)  # type: ignore[misc]  # as above
    yield "Result", *((s.winner or "cannot be said").capitalize() for s in sides)  # type: ignore[misc]  # as above


def _two_columns(left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    yield from (f"  happened   {rule}" for rule in left)
    yield from (f"  what if    {rule}" for rule in right)


def _beside(wager: WhatIfWager, currency: Currency) -> str:
    happened, instead = (_outcome(each, currency) for each in (wager.happened, wager.instead))
    more = "" if wager.difference is None else f"difference {amount(wager.difference, currency)}"
    stake = amount(wager.stake, currency)
    row = (
        f"  seat {wager.seat:>2} {wager.name:<18} {stake:>12}  {happened:<30} {instead:<30} {more}"
    )
    return row.rstrip()


def _outcome(wager: WagerNarrative | None, currency: Currency) -> str:
    return (
        "not settled" if wager is None else f"{wager.result}, paid {amount(wager.paid, currency)}"
    )


# ---- the table ----


def state_text(state: StateView) -> str:
    """Return the table at a moment as text."""
    shoe, coup, totals = state.shoe, state.coup, state.totals
    currency = Currency(state.rulebook.currency, state.rulebook.decimals)
    lines = [
        f"Table {state.table} at position {state.position}",
        f"Rules {state.rulebook.id} ({state.rulebook.title}), file {state.rulebook.hash}",
        f"Link  {state.link.state}{_errors(state.link.errors)}",
    ]
    if shoe is not None:
        ended = ", ended" if shoe.ended else ""
        lines.append(f"Shoe  {shoe.id}, {shoe.coups} coups, {shoe.cards} cards out{ended}")
    if coup is not None:
        why = f": {coup.reason}" if coup.reason else ""
        lines.append(f"Coup  {coup.id}, {coup.phase.value}{why}")
        lines += [
            f"      {card.hand.value.capitalize()} {card.number}  {face(card.card)}"
            for card in coup.cards
        ]
        lines += [
            f"      seat {wager.seat:>2} {wager.bet} {amount(wager.stake, currency)}"
            for wager in coup.wagers
        ]
    lines += [f"Alarm {alarm.name}: {alarm.text}" for alarm in state.alarms]
    lines.append(
        f"Since the log began: {totals.coups} coups, {totals.voids} void, "
        f"staked {amount(totals.staked, currency)}, paid {amount(totals.paid, currency)}, "
        f"commission {amount(totals.commission, currency)} ({currency})"
    )
    lines += [
        f"Besides: staked {each.staked:,}, paid {each.paid:,}, "
        f"commission {each.commission:,} in minor units of {each.currency}"
        for each in totals.others
    ]
    return show_lines(lines)


def _errors(errors: Sequence[str]) -> str:
    return f", errors {', '.join(errors)}" if errors else ""


def _time(at: str) -> str:
    return at[:_SECONDS].replace("T", " ")
