"""SIGKILL at every step, and what must hold afterwards, with real processes on both brokers.

Every game is held against an undisturbed one of the same seed: a coup that settled has the same
cards and the same lines; one that did not was misaligned, for a stated reason, and was voided.
"""

import asyncio
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Final, Literal

import pytest

from events.types import SettlementLine
from tests.kill.game import Coup, Game, Kill, Record
from tests.support.brokers.brokers import BROKERS, Broker, running

# A coup makes some fifteen appends: counted from one kill to the next, these numbers walk the
# point of death over all of them.
A_WHOLE_COUP = range(1, 17)

TABLE_STEPS = [
    f"{what}.{when}"
    for what in ("append", "ack", "settlement", "event", "answer")
    for when in ("before", "after")
]
SHOE_STEPS = ["journal.before", "journal.after", "event.before", "event.after", "ack.received"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Coup]:
    """The coups of a quiet game with the same seed, longer than any that is disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with running("nats", folder / "broker") as broker:
        record = asyncio.run(Game(folder, broker).play(coups=24))
    assert record.tally.voided == 0
    assert record.verdict_ok
    return record.coups


def _hold(record: Record, undisturbed: dict[str, Coup]) -> None:
    """What no kill may break."""
    assert record.verdict_ok, record.verdict_reason
    assert record.judged.settlements >= len(record.settlements), "not judged by cards and rulebook"
    assert (record.judged.not_judged, record.judged.not_decoded) == (0, 0)
    assert len(record.settlements) == len(set(record.settlements)), "settled twice"
    settled = {coup: each for coup, each in record.coups.items() if each.phase == "settled"}
    for name, coup in record.coups.items():
        if coup.phase == "settled":
            assert coup.cards == undisturbed[name].cards, name
            assert _money(coup.lines) == _money(undisturbed[name].lines), name
        else:
            assert coup.phase == "voided", f"{name} was left {coup.phase}"
            assert coup.misaligned, f"{name} did not settle, and nothing says why"
    for played in record.played:
        if played.phase == "settled":
            fell = sorted(card.value for card in played.dealt.cards)
            assert fell == sorted(card.value for card in settled[played.coup].cards.values())
    # The cage's books equal the log's settlements, and it acknowledged the last of them.
    lines = [line for coup in settled.values() for line in coup.lines]
    assert (record.booked.settlements, record.booked.unbooked) == (len(settled), 0)
    booked = Counter(record.accounts)
    assert booked["seat"] + booked["collected"] == sum(line.stake - line.paid for line in lines)
    assert -booked["commission"] == sum(line.commission for line in lines)
    assert record.acknowledged >= record.last_settlement


def _money(lines: tuple[SettlementLine, ...]) -> list[tuple[object, ...]]:
    """The lines by seat: seven patrons bet at once, and may be heard in any order."""
    return sorted(
        (line.seat, line.bet, line.result, line.stake, line.winnings, line.commission, line.paid)
        for line in lines
    )


# A core's death before a step is tried on the one broker, after it on the other.
_STEPS_HERE = [(step, "nats" if step.endswith(".before") else "mosquitto") for step in TABLE_STEPS]
_STEPS_IN_SOAK = [
    (step, "mosquitto" if step.endswith(".before") else "nats") for step in TABLE_STEPS
]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("step", "broker"),
    [*_STEPS_HERE, *(pytest.param(*each, marks=pytest.mark.soak) for each in _STEPS_IN_SOAK)],
    indirect=["broker"],
)
async def test_a_core_killed_at_any_step_loses_no_card_and_settles_nothing_twice(
    step: str, broker: Broker, tmp_path: Path, undisturbed: dict[str, Coup]
) -> None:
    times = A_WHOLE_COUP if step.startswith("append") else (1, 3, 8)
    game = Game(tmp_path, broker, [Kill("table", step, nth) for nth in times])
    record = await game.play()
    assert [kill.nth for kill in record.sprung] == list(times)
    assert record.tally.voided == 0, "a core's death alone breaks no coup"
    _hold(record, undisturbed)


# A driver's death is the same to both brokers. Here broker and mode go from one step to the next;
# `make soak` kills at every step in all four.
_ALL: Final = [(each, mode) for each in BROKERS for mode in ("immediate", "deferred")]
_DRIVERS: Final = [
    pytest.param(step, *each, marks=[] if (at + turn) % len(_ALL) == 0 else pytest.mark.soak)
    for at, step in enumerate(SHOE_STEPS)
    for turn, each in enumerate(_ALL)
]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("step", "broker", "disclosure"), _DRIVERS, indirect=["broker"])
async def test_a_driver_killed_at_any_step_loses_no_card_or_the_coup_says_why(
    step: str,
    disclosure: Literal["immediate", "deferred"],
    broker: Broker,
    tmp_path: Path,
    undisturbed: dict[str, Coup],
) -> None:
    times = (1, 2, 3, 5, 8, 13)
    kills = [Kill("shoe", step, nth) for nth in times]
    record = await Game(tmp_path, broker, kills, disclosure=disclosure).play()
    assert len(record.sprung) == len(times)
    assert record.tally.settled > 0
    _hold(record, undisturbed)


# Each service stands still while the one broker is killed, and while the other is wiped.
_BROKERS_HERE: Final = {
    ("table", "nats", False, 1), ("table", "mosquitto", True, 4),
    ("shoe", "mosquitto", False, 1), ("shoe", "nats", True, 4),
}  # fmt: skip
_BROKERS: Final = [
    pytest.param(*each, marks=[] if each in _BROKERS_HERE else pytest.mark.soak)
    for each in product(("table", "shoe"), BROKERS, (False, True), (1, 4))
]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("service", "broker", "wipe", "nth"), _BROKERS, indirect=["broker"])
async def test_a_broker_killed_or_wiped_in_mid_coup_changes_nothing(
    service: Literal["table", "shoe"],
    wipe: bool,
    nth: int,
    broker: Broker,
    tmp_path: Path,
    undisturbed: dict[str, Coup],
) -> None:
    steps = TABLE_STEPS if service == "table" else SHOE_STEPS
    kills = [Kill(service, step, nth, "wait", wipe) for step in steps]
    record = await Game(tmp_path, broker, kills).play()
    assert len(record.sprung) == len(kills)
    broken = {coup.misaligned for coup in record.coups.values() if coup.misaligned}
    # A driver that stands still for longer than the window of copies, as this test makes it do,
    # may take the rest of a report's copies for a report of its own: it says so, and nothing pays.
    assert broken <= ({"report_lost"} if service == "shoe" else set()), broken
    _hold(record, undisturbed)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "broker", ["mosquitto", pytest.param("nats", marks=pytest.mark.soak)], indirect=True
)
async def test_everything_killed_in_turn(
    broker: Broker, tmp_path: Path, undisturbed: dict[str, Coup]
) -> None:
    kills = [
        Kill("table", "append.after", 9),
        Kill("shoe", "event.after", 6),
        Kill("table", "ack.before", 4),
        Kill("shoe", "journal.after", 9),
        Kill("table", "settlement.after", 1),
        Kill("shoe", "ack.received", 3),
    ]
    record = await Game(tmp_path, broker, kills).play()
    assert len(record.sprung) == len(kills)
    _hold(record, undisturbed)
