"""What the dealer should do now, and with which commands, from the state. Pure.

The table advises only what it would accept: each line that a command belongs to is left out while
that command is refused. Where a person must decide first, it says stop.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from events.commands import Refusal
from table_core.state.coup import OVER, Phase
from table_core.state.dealing import due_places
from table_core.state.table import Coup, TableState

__all__ = ["ADVICE", "Advice", "advise"]

_CARDS: Final = frozenset({Phase.CLOSED, Phase.DEALING})
_STOPS: Final[Mapping[Phase, tuple[str, ...]]] = {
    Phase.DISPUTED: ("call_supervisor", "confirm_result", "void_coup"),
    Phase.HELD: ("call_supervisor", "resolve_irregularity", "void_coup"),
    Phase.MISALIGNED: ("call_supervisor", "enter_card", "realign", "void_coup"),
}
"""The phases in which nobody touches cards or chips, and what the dealer or a supervisor does."""
# What keeps betting shut, and what opens it again: a command, or none where a person does it.
_OPENS_AGAIN: Final[Mapping[str, str]] = {
    "no_shoe": "load_shoe",
    "shoe_ended": "load_shoe",
    "last_coup_played": "end_shoe",
    "unfit_shoe": "end_shoe",
    "dummy_coup_due": "free_hand",
    "commission_outstanding": "collect_commission",
    "no_dealer": "take_table",
}
_WAITS: Final = ("catching_up", "link_down", "shoe_error", "shoe_locked", "log_unsound")
_SAID: Final = """
    correction pay return pay_first open_betting load_shoe end_shoe free_hand collect_commission
    take_table
    take_wagers close_betting draw enter_card disclose end_round disputed held misaligned
"""
ADVICE: Final = frozenset(
    f"advice.{line}" for line in (*_SAID.split(), *(f"wait.{code}" for code in _WAITS))
)
"""Every line that there is."""


class Advice(Struct, frozen=True, kw_only=True):
    """What the dealer should do now.

    Args:
        lines: keys of texts, in order.
        commands: that the table accepts now, the most likely first.
        stop: nobody touches anything, and the dealer calls a supervisor.
    """

    lines: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    stop: bool = False


def advise(state: TableState, refusals: Mapping[str, Refusal]) -> Advice:
    """Return what the dealer should do.

    Args:
        state: of the table.
        refusals: the commands that the table would refuse now, by `current_refusals`.
    """
    phase = state.phase
    if phase in _STOPS:
        can_enter = state.coup is not None and (state.coup.unread or due_places(state.coup))
        shut = {*refusals, *(() if can_enter else ("enter_card",))}
        commands = tuple(name for name in _STOPS[phase] if name not in shut)
        return Advice(lines=(f"advice.{phase.value}",), commands=commands, stop=True)
    steps = [*(_between_coups(state, refusals) if phase in OVER else _in_coup(state))]
    open_now = [(line, command) for line, command in steps if command not in refusals]
    return Advice(
        lines=tuple(line for line, _ in open_now if line),
        commands=tuple(dict.fromkeys(command for _, command in open_now if command)),
    )


def _between_coups(state: TableState, refusals: Mapping[str, Refusal]) -> Iterator[tuple[str, str]]:
    """Yield the lines between two coups, each with its command."""
    if any(each.due for each in state.to_move):
        yield "advice.correction", "acknowledge_correction"
    if _is_to_be_paid(state):
        yield ("advice.return" if state.phase is Phase.VOIDED else "advice.pay"), ""
    yield "advice.open_betting", "open_betting"
    refusal = refusals.get("open_betting")
    if refusal is not None and refusal.code in _OPENS_AGAIN:
        command = _OPENS_AGAIN[refusal.code]
        yield f"advice.{command}", command
    elif refusal is not None:
        yield f"advice.wait.{refusal.code}", ""
    if state.shoe is not None and not state.shoe.burn_recorded and not state.shoe.ended:
        yield "", "burn"


def _is_to_be_paid(state: TableState) -> bool:
    """Return whether the last coup's chips are still to be moved, as far as the table knows.

    Whoever ends a shoe has moved them. A shoe that ends by itself after its last coup has not.
    """
    coup, shoe = state.coup, state.shoe
    if coup is None or shoe is None or not coup.wagers or not coup.id.startswith(f"{shoe.id}/"):
        return False
    by_itself = shoe.last_coup is not None and shoe.coups >= shoe.last_coup
    return by_itself or not shoe.ended


def _in_coup(state: TableState) -> Iterator[tuple[str, str]]:
    coup = state.coup
    if coup is None:
        return
    if coup.phase is Phase.BETTING:
        yield "advice.take_wagers", "place_wager"
        yield "advice.close_betting", "close_betting"
    elif coup.phase in _CARDS:
        yield from _dealing(coup)
    else:
        yield "advice.end_round", ""
        yield "", "confirm_result"


def _dealing(coup: Coup) -> Iterator[tuple[str, str]]:
    if coup.settlements:
        yield "advice.pay_first", ""
    due = due_places(coup)
    if due:
        yield "advice.draw", ""
    if coup.unread:
        yield "advice.enter_card", "enter_card"
    elif not due:
        yield "advice.disclose", ""
    if any(dealt.card is not None for dealt in coup.cards):
        yield "", "mark_unreadable"
