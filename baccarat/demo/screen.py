"""Show the demo in the terminal: a live table, or a line a coup where there is no terminal."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from baccarat.demo.counters import DemoStatistics, Summary
from baccarat.demo.machine import LEDGER, PUBLIC_KEY
from baccarat.demo.spectator import Spectator
from events.cards import Hand
from events.money import Currency
from events.types import Settlement
from simulators.people.dealer_and_patrons import PlayedCoup
from table_core.narrative.formatting import DRAW_WORDS, amount
from table_core.projections.table_document import CoupView, StateView

__all__ = ["LineScreen", "LiveScreen", "print_summary", "settlement_line"]

_FRAMES_PER_SECOND: Final = 10
_SUITS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}
_RED: Final = frozenset("HD")


def settlement_line(settlement: Settlement, currency: Currency) -> str:
    """Return a settled coup in one line."""
    hands = "  ".join(
        f"{name} {' '.join(str(card) for card in cards):<8} = {points}"
        for name, cards, points in (
            ("Player", settlement.player, settlement.player_total),
            ("Banker", settlement.banker, settlement.banker_total),
        )
    )
    winner = settlement.winner.value if settlement.winner else "-"
    return (
        f"{settlement.coup:<16} {hands}  {winner:<6}  "
        f"staked {amount(settlement.staked, currency):>10}  "
        f"paid {amount(settlement.paid, currency):>10}"
    )


class LineScreen:
    """A line for every coup.

    Args:
        spectator: watches the table.
        out: where the lines go.
        currency: of the amounts.
    """

    def __init__(self, spectator: Spectator, out: IO[str], currency: Currency) -> None:
        self._spectator = spectator
        self._out = out
        self._currency = currency

    async def run(self) -> None:
        """Watch until cancelled."""
        await self._spectator.run()

    def on_settlement(self, settlement: Settlement) -> None:
        """Print a settled coup."""
        print(settlement_line(settlement, self._currency), file=self._out, flush=True)

    def on_coup(self, coup: PlayedCoup) -> None:
        """Print a coup that ended without a settlement."""
        if coup.phase != "settled":
            print(f"{coup.coup:<16} {coup.phase}", file=self._out, flush=True)


class LiveScreen:
    """The table's current state, drawn again ten times a second.

    Args:
        spectator: watches the table.
        ledger: counts.
        console: the terminal.
        title: the line at the top.
    """

    def __init__(
        self, spectator: Spectator, ledger: DemoStatistics, console: Console, title: str
    ) -> None:
        self._spectator = spectator
        self._ledger = ledger
        self._console = console
        self._title = title

    async def run(self) -> None:
        """Watch and draw until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._spectator.run())
            tasks.create_task(self._draw())

    def on_settlement(self, settlement: Settlement) -> None:
        """Do nothing: the next frame shows it."""

    def on_coup(self, coup: PlayedCoup) -> None:
        """Do nothing: the next frame shows it."""

    async def _draw(self) -> None:
        with Live(console=self._console, auto_refresh=False, transient=False) as live:
            while True:
                live.update(self._frame(), refresh=True)
                await asyncio.sleep(1 / _FRAMES_PER_SECOND)

    def _frame(self) -> RenderableType:
        state = self._spectator.state
        if state is None:
            return Panel("waiting for the table", title=self._title)
        currency = Currency(state.rulebook.currency, state.rulebook.decimals)
        parts: list[RenderableType] = [_health(self._spectator, state)]
        if state.coup is not None:
            parts.append(_coup(state.coup))
            parts.append(_wagers(state.coup, self._spectator.settlement, currency))
        parts.append(_totals(self._ledger, currency))
        return Panel(Group(*parts), title=self._title)


def print_summary(console: Console, summary: Summary, currency: Currency) -> None:
    """Print the demo's summary for people."""
    paid, commission = amount(summary.paid, currency), amount(summary.commission, currency)
    for what, value in (
        ("coups", f"{summary.coups}, {summary.cards} cards, {summary.misaligned} misaligned"),
        ("void", f"{summary.voided}"),
        ("settlements", f"{summary.settlements}, the cage acknowledged {summary.acknowledged}"),
        ("staked", amount(summary.staked, currency)),
        ("paid", f"{paid}, after {commission} commission"),
        ("house", amount(summary.house, currency)),
        ("lost", f"{summary.lost} cards, and {summary.duplicates} doubled"),
        ("latency", _latency(summary)),
        ("faults", _counts(summary.faults)),
        ("by hand", _counts(summary.done)),
        ("log", summary.log),
    ):
        if value:
            console.print(f"{what:<12} {value}", soft_wrap=True, highlight=False)
    key = Path(summary.log).with_name(PUBLIC_KEY)
    console.print(f"Check it: baccarat log verify {summary.log} --key {key}", soft_wrap=True)
    ledger = Path(summary.log).with_name(LEDGER)
    console.print(
        f"And the books: baccarat cage reconcile {summary.log} --ledger {ledger}", soft_wrap=True
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(name if times == 1 else f"{name} {times}" for name, times in counts.items())


def _latency(summary: Summary) -> str:
    if summary.latency_ms.p50 is None:
        return "no coup was settled"
    return (
        f"{summary.latency_ms.p50:.1f} ms median, {summary.latency_ms.p99:.1f} ms at p99, "
        "from the deciding frame's last byte to the cage's book"
    )


def _health(spectator: Spectator, state: StateView) -> RenderableType:
    link = spectator.link
    words = Text()
    words.append("bus ", "dim")
    words.append("connected" if spectator.connected else "lost", _colour(spectator.connected))
    words.append("   shoe link ", "dim")
    words.append(state.link.state, _colour(state.link.state in {"open", "up"}))
    if link is not None:
        words.append(
            f"   {link.reports} reports, {link.short_copies} short of copies, "
            f"{link.rejected} rejected",
            "dim",
        )
    if state.shoe is not None:
        words.append(f"   shoe {state.shoe.id}, {state.shoe.cards} cards drawn", "dim")
    for alarm in state.alarms:
        words.append(f"\n! {alarm.text}", "bold red")
    return words


def _coup(coup: CoupView) -> RenderableType:
    hands = [
        Panel(_hand(coup, hand), title=f"{hand.value.title()}  {_points(points)}", width=30)
        for hand, points in ((Hand.PLAYER, coup.player_total), (Hand.BANKER, coup.banker_total))
    ]
    said = Text(f"coup {coup.id}  {coup.phase.value}", "bold")
    if coup.winner is not None:
        said.append(
            f"  {coup.winner.value.title()}{' by a natural' if coup.natural else ''}", "bold green"
        )
    applied = [rule.rule for rule in coup.rules if rule.rule != "initial"]
    drawn = [card.rule for card in coup.cards if card.rule and card.rule != "initial"]
    for rule in dict.fromkeys(applied or drawn):
        said.append(f"\n{DRAW_WORDS[rule]}", "italic")
    return Group(said, Columns(hands))


def _hand(coup: CoupView, hand: Hand) -> Text:
    text = Text()
    for dealt in coup.cards:
        if dealt.hand is not hand:
            continue
        if dealt.card is None:
            text.append(" ▒▒ ", "reverse blue")
        else:
            rank = "10" if dealt.card.rank == "T" else dealt.card.rank
            style = "bold red on white" if dealt.card.suit in _RED else "bold black on white"
            text.append(f" {rank}{_SUITS[dealt.card.suit]} ", style)
        text.append(" ")
    return text


def _wagers(coup: CoupView, settlement: Settlement | None, currency: Currency) -> RenderableType:
    grid = Grid(box=None, padding=(0, 2))
    for heading, width in (("seat", 4), ("bet", 20), ("stake", 12), ("", 5), ("paid", 12)):
        right = heading in {"stake", "paid"}
        grid.add_column(heading, justify="right" if right else "left", min_width=width)
    settled = (
        {line.wager: line for line in settlement.lines}
        if settlement is not None and settlement.coup == coup.id
        else {}
    )
    for wager in coup.wagers:
        line = settled.get(wager.id)
        grid.add_row(
            str(wager.seat),
            wager.bet,
            amount(wager.stake, currency),
            line.result if line else "",
            amount(line.paid, currency) if line else "",
        )
    return grid


def _totals(ledger: DemoStatistics, currency: Currency) -> RenderableType:
    staked, paid, commission, house = (
        amount(each, currency)
        for each in (ledger.staked, ledger.paid, ledger.commission, ledger.house)
    )
    return Text(
        f"{len(ledger.played)} coups   staked {staked}   paid {paid}   "
        f"commission {commission}   house {house}",
        "dim",
    )


def _points(points: int | None) -> str:
    return "" if points is None else str(points)


def _colour(good: bool) -> str:
    return "green" if good else "bold red"
