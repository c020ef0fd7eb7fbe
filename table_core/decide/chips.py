"""Commands about the table's chips: float, fills, credits, counts, the drop. Pure.

None of them changes a coup. A count is taken between coups, when no chip is being moved.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from events.commands import (
    ChipCommand,
    CloseFloat,
    CorrectChips,
    CountChips,
    CountDrop,
    Credit,
    Fill,
    OpenFloat,
    Refusal,
)
from events.commands.text_lengths import COMMAND_LENGTHS
from events.money import MAX_STAKE
from events.types import (
    ChipMove,
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
    Pieces,
    amount_of,
)
from table_core.decide.decision import ANY, DecisionContext, Handlers, Offers
from table_core.refusals import Decision, first_refusal, refuse
from table_core.state.shoe import DAY_AND_NUMBER
from table_core.state.table import MOST_SLIPS, TableFloat, TableState

__all__ = [
    "HANDLERS",
    "OFFERS",
    "close_float",
    "correct_chips",
    "count_chips",
    "count_drop",
    "open_float",
    "signatures_refusal",
]

_MOST_PIECES: Final = 1_000_000  # of one denomination: ten racks a thousand times over
_MOST_ROWS: Final = 16  # denominations in one tray
_SIGNATURES: Final = range(2, 9)  # two at least: nobody counts alone
_LONGEST: Final = COMMAND_LENGTHS.of("slip")  # a number or a reference is a key, not a text


def open_float(state: TableState, command: OpenFloat, context: DecisionContext) -> Decision:
    """Open a float with a counted tray."""
    last = state.floats[-1] if state.floats else None
    currency = context.rulebook.currency
    refusal = _busy(state) or first_refusal(
        (
            last is not None and last.open,
            "float_open",
            f"close float {last.id if last else ''} before opening another",
        ),
        (
            not DAY_AND_NUMBER.fullmatch(command.float_id),
            "invalid_float",
            f"{command.float_id!r} is no float id; write YYYYMMDD-NN",
        ),
        (
            last is not None and command.float_id <= last.id,
            "float_known",
            f"float ids rise, and {last.id if last else ''} has been opened already",
        ),
        (
            command.currency != currency,
            "wrong_currency",
            f"this table is played in {currency}, not in {command.currency!r}",
        ),
    )
    refusal = refusal or _faults(command, command.chips, context, least=0)
    return refusal or (
        FloatOpened(
            float_id=command.float_id,
            currency=command.currency,
            chips=command.chips,
            amount=amount_of(command.chips),
            signed=command.signed,
        ),
    )


def _moved(
    state: TableState,
    command: Fill | Credit,
    context: DecisionContext,
    *,
    fact: type[ChipsFilled | ChipsCredited],
) -> Decision:
    """Record chips that moved by a slip, in either direction."""
    found = _open(state)
    if isinstance(found, Refusal):
        return found
    return _slip_faults(state, found, command, context) or (
        fact(
            float_id=found.id,
            slip=command.slip,
            reference=command.reference,
            chips=command.chips,
            amount=amount_of(command.chips),
            signed=command.signed,
        ),
    )


def count_chips(state: TableState, command: CountChips, context: DecisionContext) -> Decision:
    """Record a count of the tray between opening and closing."""
    found = _open(state)
    if isinstance(found, Refusal):
        return found
    return (
        _busy(state)
        or _faults(command, command.chips, context, least=0)
        or (
            ChipsCounted(
                float_id=found.id,
                occasion=command.occasion,
                chips=command.chips,
                amount=amount_of(command.chips),
                signed=command.signed,
            ),
        )
    )


def close_float(state: TableState, command: CloseFloat, context: DecisionContext) -> Decision:
    """Close the float with a last count of the tray."""
    found = _open(state)
    if isinstance(found, Refusal):
        return found
    return (
        _busy(state)
        or _faults(command, command.chips, context, least=0)
        or (
            FloatClosed(
                float_id=found.id,
                chips=command.chips,
                amount=amount_of(command.chips),
                signed=command.signed,
            ),
        )
    )


def count_drop(state: TableState, command: CountDrop, _: DecisionContext) -> Decision:
    """Record the count room's count of a box: the first, or a later one with a reason."""
    found = _known(state, command.float_id)
    if isinstance(found, Refusal):
        return found
    amount, reason = amount_of(command.notes), command.reason.strip()
    was = next((each[1] for each in found.drops if each[0] == command.box), None)
    refusal = first_refusal(
        (not _is_key(command.box), "invalid_box", f"a box's number has 1 to {_LONGEST} characters"),
        (
            was is not None and not reason,
            "box_counted",
            f"box {command.box} came to {was}; say why it is counted again",
        ),
        (was is None and bool(reason), "unknown_box", f"box {command.box} was not counted before"),
        (was == amount, "changes_nothing", f"box {command.box} came to {was} before"),
    )
    refusal = refusal or _row_faults(command.notes, unit=1, least=1)
    refusal = refusal or signatures_refusal(command.signed)
    return refusal or (
        DropCounted(
            float_id=found.id,
            box=command.box,
            notes=command.notes,
            amount=amount,
            was=was or 0,
            reason=reason,
            signed=command.signed,
        ),
    )


def correct_chips(state: TableState, command: CorrectChips, context: DecisionContext) -> Decision:
    """Correct a count or a slip, or void a slip."""
    found = _known(state, command.float_id)
    if isinstance(found, Refusal):
        return found
    was = found.recorded(command.move, command.slip)
    if was is None:
        what = f"{command.move} {command.slip}".strip()
        return refuse("nothing_to_correct", f"float {found.id} has no {what}")
    counted = command.move in {"opening", "closing"}
    refusal = first_refusal(
        (not command.reason.strip(), "reason_required", "say why it is corrected"),
        (sorted(was, key=_by_size) == sorted(command.chips, key=_by_size), "changes_nothing",
         "that is what is recorded"),
    )  # fmt: skip
    if not refusal:
        unit = context.rulebook.unit
        refusal = _row_faults(command.chips, unit=unit, least=0 if counted else 1)
    refusal = refusal or (_no_rows(command.chips) if counted else None)
    refusal = refusal or signatures_refusal(command.signed)
    return refusal or (
        ChipsCorrected(
            float_id=found.id,
            move=command.move,
            slip=command.slip,
            chips=command.chips,
            amount=amount_of(command.chips),
            was=amount_of(was),
            reason=command.reason,
            signed=command.signed,
        ),
    )


# ---- which float ----


def _open(state: TableState) -> TableFloat | Refusal:
    if not state.floats:
        return refuse("no_float", "open a float first")
    last = state.floats[-1]
    if not last.open:
        return refuse("float_closed", f"float {last.id} is closed; open the next one")
    return last


def _known(state: TableState, float_id: str) -> TableFloat | Refusal:
    for each in state.floats:
        if each.id == float_id:
            return each
    known = ", ".join(each.id for each in state.floats) or "none"
    return refuse("unknown_float", f"no float {float_id!r} is remembered; known: {known}")


def _busy(state: TableState) -> Refusal | None:
    if state.in_progress:
        return refuse("coup_in_progress", "chips are counted between coups")
    return None


# ---- checks of a command's chips and slips ----


def _faults(
    command: ChipCommand, chips: Sequence[Pieces], context: DecisionContext, *, least: int
) -> Refusal | None:
    return (
        _no_rows(chips)
        or _row_faults(chips, unit=context.rulebook.unit, least=least)
        or signatures_refusal(command.signed)
    )


def _no_rows(chips: Sequence[Pieces]) -> Refusal | None:
    return None if chips else refuse("no_chips", "say how many pieces of which denomination")


def _row_faults(chips: Sequence[Pieces], *, unit: int, least: int) -> Refusal | None:
    if len(chips) > _MOST_ROWS:
        return refuse("invalid_denomination", f"a tray has {_MOST_ROWS} denominations at the most")
    seen: set[int] = set()
    for each in chips:
        if each.denomination < 1 or each.denomination % unit or each.denomination in seen:
            text = f"{each.denomination} is said twice, or is no positive multiple of {unit}"
            return refuse("invalid_denomination", text)
        if not least <= each.pieces <= _MOST_PIECES:
            text = f"{each.pieces} pieces of {each.denomination}: {least} to {_MOST_PIECES}"
            return refuse("invalid_pieces", text)
        seen.add(each.denomination)
    if amount_of(chips) > MAX_STAKE:
        return refuse("invalid_pieces", f"they come to more than {MAX_STAKE}")
    return None


def _slip_faults(
    state: TableState, found: TableFloat, command: Fill | Credit, context: DecisionContext
) -> Refusal | None:
    move: ChipMove = "fill" if isinstance(command, Fill) else "credit"
    used = any(each.recorded(move, command.slip) is not None for each in state.floats)
    refusal = first_refusal(
        (
            not _is_key(command.slip) or len(command.reference) > _LONGEST,
            "invalid_slip",
            f"a slip's number has 1 to {_LONGEST} characters, the cage's reference no more",
        ),
        (used, "slip_used", f"{move} slip {command.slip} was used before"),
        (
            len(found.slips) >= MOST_SLIPS,
            "too_many_slips",
            f"float {found.id} has {MOST_SLIPS} slips; close it and open the next",
        ),
    )
    return refusal or _faults(command, command.chips, context, least=1)


def signatures_refusal(signed: Sequence[str]) -> Refusal | None:
    """Return why these are not the signatures of two people or more; None if they are."""
    if len(signed) in _SIGNATURES and len(set(signed)) == len(signed) and all(map(_is_key, signed)):
        return None
    text = f"{_SIGNATURES.start} to {_SIGNATURES.stop - 1} people sign, by the house's references"
    return refuse("signatures_required", text)


def _is_key(text: str) -> bool:
    return 1 <= len(text) <= _LONGEST and text == text.strip()


def _by_size(each: Pieces) -> tuple[int, int]:
    return (each.denomination, each.pieces)


HANDLERS: Final[Handlers] = {
    OpenFloat: open_float,
    Fill: partial(_moved, fact=ChipsFilled),
    Credit: partial(_moved, fact=ChipsCredited),
    CountChips: count_chips,
    CloseFloat: close_float,
    CountDrop: count_drop,
    CorrectChips: correct_chips,
}
OFFERS: Final = Offers(
    bare=(
        OpenFloat(transaction=ANY, float_id="", currency="", chips=()),
        Fill(transaction=ANY, slip="", chips=()),
        Credit(transaction=ANY, slip="", chips=()),
        CountChips(transaction=ANY, chips=()),
        CloseFloat(transaction=ANY, chips=()),
    ),
    details=frozenset({"invalid_float", "invalid_slip", "no_chips"}),
)
