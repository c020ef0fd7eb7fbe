"""The fold of what the shoe says and of a shoe's life: loaded, heard, ended, audited."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from events.types.irregularities import ShoeErrorCleared
from events.types.shoe_life import BurnRecorded, CutCardCame, ShoeAudited
from events.types.shoe_reports import (
    CardOutOfGame,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
)
from events.types.table import ShoeEnded, ShoeLoaded, ShoeReported
from table_core.fold.parts import current_shoe
from table_core.persistent_list import Trail
from table_core.state.coup import OVER, Phase
from table_core.state.shoe import OF_CARDS, ORDERS_KEPT, ShoeView
from table_core.state.shoe_of_card import DRAWN_OUTSIDE, hear_shoes, shoe_of_excess, with_shoe
from table_core.state.shoe_procedure import BURN_ALARM
from table_core.state.table import STALLED, Coup, LinkView, TableState

__all__ = [
    "on_burn_recorded",
    "on_cut_card_came",
    "on_shoe_audited",
    "on_shoe_ended",
    "on_shoe_error_cleared",
    "on_shoe_loaded",
    "on_shoe_reported",
]


def on_shoe_loaded(state: TableState, event: ShoeLoaded) -> TableState:
    """A new shoe; of the one before cards may still be told, and a coup may go on."""
    before = (*state.replaced, state.shoe) if state.shoe else ()
    kept = tuple(shoe for shoe in before if state.in_progress or shoe.told or shoe.extra)
    # An overdrawn card of the shoe before is no card of this one.
    link = replace(state.link, carried=False, dummy=False)
    shoe = ShoeView(id=event.shoe, decks=event.decks)
    return replace(state, shoe=shoe, replaced=kept, link=link, past=Trail())


def on_shoe_ended(state: TableState, _: ShoeEnded) -> TableState:
    """No more coups come from the shoe."""
    shoe = current_shoe(state)
    orders = (*state.orders, (shoe.id, shoe.order))[-ORDERS_KEPT:]
    return _forget_burn(replace(state, shoe=replace(shoe, ended=True), orders=orders))


def on_shoe_audited(state: TableState, event: ShoeAudited) -> TableState:
    """All that will be known of its cards is known."""
    shoe = next((s for s in (state.shoe, *state.replaced) if s and s.id == event.shoe), None)
    if shoe is None:
        return state
    orders = tuple((name, shoe.order if name == shoe.id else o) for name, o in state.orders)
    return with_shoe(replace(state, orders=orders), replace(shoe, audited=True))


def on_burn_recorded(state: TableState, _: BurnRecorded) -> TableState:
    """The burn is known."""
    return _forget_burn(replace(state, shoe=replace(current_shoe(state), burn_recorded=True)))


def on_cut_card_came(state: TableState, event: CutCardCame) -> TableState:
    """The last coup is known."""
    return replace(state, shoe=replace(current_shoe(state), last_coup=event.last_coup))


def on_shoe_reported(state: TableState, event: ShoeReported) -> TableState:
    """What the shoe says, as far as it is a fact by itself: the link, the cards, the evidence."""
    source, report = event.source, event.source.report
    kind, before, coup = type(report), state.link, state.coup
    past = before.past
    if before.journal and before.journal != source.journal:
        past |= {before.journal}
    link = replace(before, journal=source.journal, seq=source.seq, past=past)
    if kind in _LINK_FOLDS:
        link = _LINK_FOLDS[kind](link, report)
    if coup is not None and kind in _COUP_FOLDS:
        coup = _COUP_FOLDS[kind](coup, report)
    state = replace(state, link=link, coup=coup)
    if state.shoe is None or kind not in OF_CARDS:
        return state
    between = not link.residue and not state.in_progress
    state = hear_shoes(state, report, between=between)
    if before.carried and not link.carried:
        shoe = shoe_of_excess(state)
        state = with_shoe(state, replace(shoe, discarded=shoe.discarded + 1))
    return state


def on_shoe_error_cleared(state: TableState, event: ShoeErrorCleared) -> TableState:
    """A person has seen that it is over. Reported once more, it stands again."""
    link = replace(state.link, errors=state.link.errors - {event.code})
    if event.code == link.state == STALLED:
        link = replace(link, state="open")  # nothing is proven: its next report says that it lives
    return replace(state, link=link)


def _round_over(coup: Coup, _: object) -> Coup:
    """The evidence that the shoe gives of a coup: its round is over."""
    return replace(coup, round_over=True)


def _with_result(coup: Coup, report: DeviceResult) -> Coup:
    """And what came out, where the coup is on."""
    if coup.phase is Phase.BETTING or coup.phase in OVER:
        return replace(coup, round_over=True)
    return replace(coup, round_over=True, device_result=report)


def _excess(coup: Coup, report: CardOutOfGame) -> Coup:
    """A card outside the game is remembered until it is judged and resolved; so is its end."""
    if report.reason != DRAWN_OUTSIDE:
        return replace(coup, excess=_TAKEN_OUT.get(coup.excess, coup.excess))
    if coup.phase in OVER or (coup.phase is Phase.BETTING and not coup.cards):
        return coup
    return replace(coup, excess="several" if coup.excess_open else "drawn")


# What becomes of an excess card that the shoe takes out of play: a person has still to say so
# where nobody has, and what was to be carried over is burned.
_TAKEN_OUT: Final = {"drawn": "taken_out", "carried": "burned", "dummy": "burned"}


def _out_of_game(link: LinkView, report: CardOutOfGame) -> LinkView:
    """A card that the shoe has taken out of play is not awaited as the next coup's first."""
    if report.reason == DRAWN_OUTSIDE:
        return link
    return replace(link, carried=False, dummy=False)


def _no_residue(link: LinkView, _: object) -> LinkView:
    """The round is over: no card of it comes any more."""
    return replace(link, residue=False) if link.residue else link


def _forget_burn(state: TableState) -> TableState:
    """A burn that is known, or whose shoe is over, is missed no more."""
    return replace(state, alarms=tuple(a for a in state.alarms if a.name != BURN_ALARM))


_LINK_FOLDS: Final[dict[type, Callable[[LinkView, Any], LinkView]]] = {
    LinkOpen: lambda link, _: replace(link, state="open"),
    LinkUp: lambda link, _: replace(link, state="up"),
    LinkDown: lambda link, _: replace(link, state="down"),
    LinkStalled: lambda link, _: replace(link, state=STALLED),
    ShoeBooted: lambda link, _: replace(link, errors=frozenset(), residue=False),
    CardOutOfGame: _out_of_game,
    ErrorRaised: lambda link, report: replace(link, errors=link.errors | {report.code}),
    ErrorCleared: lambda link, report: replace(link, errors=link.errors - {report.code}),
    LockChanged: lambda link, report: replace(link, locked=report.locked),
    DeviceResult: _no_residue,
    RoundForcedEnd: _no_residue,
    ShoeReady: _no_residue,
}

_COUP_FOLDS: Final[dict[type, Callable[[Coup, Any], Coup]]] = {
    DeviceResult: _with_result,
    RoundForcedEnd: _round_over,
    ShoeBooted: _round_over,
    CardOutOfGame: _excess,
}
