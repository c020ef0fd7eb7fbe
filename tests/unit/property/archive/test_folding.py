"""What the archive's rows say of a table's events, event by event."""

from collections.abc import Sequence
from typing import Final

import pytest

from events.types import (
    BettingOpened,
    CoupVoided,
    DealerAssigned,
    ShoeEnded,
    ShoeLoaded,
    TableEvent,
    Wager,
    WagersPlaced,
    WagersWithdrawn,
    encode_envelope,
)
from property.archive.batch import ArchiveRow
from property.archive.folding import ArchivedState, FoldedRows, fold_events

_LOADED: Final = ShoeLoaded(shoe="s", decks=8)
_ENDED: Final = ShoeEnded(shoe="s", reason="r")


def _opened(number: int) -> BettingOpened:
    return BettingOpened(coup=f"s/{number}", rulebook="b", rulebook_hash="h")


def _placed(*wagers: str) -> WagersPlaced:
    """Return wagers, each as id, patron and seat: `w1 ann 3`."""
    told = [each.split() for each in wagers]
    return WagersPlaced(
        coup="s/1",
        wagers=tuple(
            Wager(id=i, seat=int(seat), bet="tie", stake=10, patron=None if who == "-" else who)
            for i, who, seat in told
        ),
    )


def _withdrawn(*wagers: str) -> WagersWithdrawn:
    return WagersWithdrawn(coup="s/1", wagers=wagers)


def _voided(number: int) -> CoupVoided:
    return CoupVoided(coup=f"s/{number}", reason="r", refunds=())


def _rows(events: Sequence[TableEvent], first: int = 1) -> list[ArchiveRow]:
    return [
        ArchiveRow("a/b", position, event.TYPE, at, stored, b"")
        for position, event in enumerate(events, first)
        for at in [f"2026-01-01T00:00:{position:02}.000000000Z"]
        for stored in [
            encode_envelope(
                event, index=0, stream="a/b", position=position, at=at, actor="x", cause="c/1",
                correlation="",
            )
        ]
    ]  # fmt: skip


def _lay(folded: FoldedRows) -> dict[str, str | None]:
    """Return since which second each patron of the first coup lay; None for who withdrew."""
    row = folded.coups["s/1"]
    assert row.ended_at is not None
    seconds = (at and at[17:19] for at in row.laid_at)
    return dict(zip(row.patrons, seconds, strict=True)) | {"until": row.ended_at[17:19]}


@pytest.mark.parametrize(
    ("events", "lay"),
    [
        pytest.param(
            [_placed("w1 ann 1", "w2 bob 2"), _placed("w3 ann 3"), _voided(1)],
            {"ann": "03", "bob": "03", "until": "05"},
            id="from the first wager to the end",
        ),
        pytest.param(
            [_placed("w1 ann 1"), _withdrawn("w1"), _voided(1)],
            {"ann": None, "until": "05"},
            id="a withdrawn wager does not lie",
        ),
        pytest.param(
            [_placed("w1 ann 1"), _placed("w2 ann 1"), _withdrawn("w1"), _voided(1)],
            {"ann": "04", "until": "06"},
            id="from the first that was not withdrawn",
        ),
        pytest.param(
            [_placed("w1 ann 1"), _opened(2)],
            {"ann": "03", "until": "04"},
            id="a coup that was never finished ends with the next",
        ),
        pytest.param([_placed("w1 ann 1"), _ENDED], {"ann": "03", "until": "04"}, id="or its shoe"),
        pytest.param([_placed("w1 - 1"), _LOADED], {"until": "04"}, id="who has no name is nobody"),
    ],
)
def test_when_a_patrons_wagers_lay(events: list[TableEvent], lay: dict[str, str | None]) -> None:
    rows = _rows([_LOADED, _opened(1), *events])
    assert _lay(fold_events(7, ArchivedState(), rows)) == lay
    # In two parts the wagers of the first are rows, of which those withdrawn later are told.
    for cut in range(len(rows)):
        state = ArchivedState()
        first = fold_events(7, state, rows[:cut])
        if not first.coups:
            placed = list(first.placed.values())
            assert _lay(fold_events(7, state, rows[cut:], placed)) == lay


def test_who_dealt_is_who_was_there_when_the_coup_began() -> None:
    first, second = (DealerAssigned(dealer=name, supervisor=None) for name in ("mia", "noa"))
    events = [first, _opened(1), second, _voided(1), _opened(2)]
    state = ArchivedState()
    folded = fold_events(7, state, _rows(events))
    assert folded.coups["s/1"].dealer == "mia"
    assert folded.coups["s/1"].void
    assert state.open is not None
    assert (state.open.dealer, state.dealer) == ("noa", "noa")


def test_what_cannot_be_read_is_told_and_changes_nothing() -> None:
    known, newer = _rows([_opened(1)]), _rows([_opened(2)], 2)[0]
    newer = newer._replace(stored=newer.stored.replace(b'"v":1', b'"v":9'))
    unknown = newer._replace(position=3, type="from_a_later_build")
    state = ArchivedState()
    folded = fold_events(7, state, [*known, newer, unknown])
    assert (folded.coups, state.unread) == ({}, 2)
    assert state.open is not None
    assert state.open.coup == "s/1"
