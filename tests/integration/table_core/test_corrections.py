"""Corrections over real brokers: revisions follow one another, each with its difference."""

from pathlib import Path

import msgspec
import pytest

from events.cards import Winner
from events.commands import CorrectWager, EndShoe, LoadShoe, OpenBetting, VoidCoup, WagerRequest
from events.log.store import EventLog
from tests.support.machine.waiting import until
from tests.support.service.table_service import Table1, played, service
from tests.support.table.coups import COUP
from tests.support.table.settled_coups import hands


async def test_each_revision_takes_back_the_one_before_it(table: Table1, tmp_path: Path) -> None:
    async with played(table, tmp_path):  # 1,000 on Player, who wins
        await table.must("supervisor", hands("8S KH", "7D 2C", transaction="a"))
        (wager,) = msgspec.json.decode(table.settlements[0].data)["settlement"]["lines"]
        more = CorrectWager(
            transaction="b",
            coup=COUP,
            wager=wager["wager"],
            to=WagerRequest(seat=1, bet="banker", stake=4000),
            reason="the slip says so",
        )
        await table.must("supervisor", more)
        await table.must("supervisor", hands("7S KH", "8D KC", transaction="c"))
        await until(lambda: len(table.settlements) == 4, "not all revisions were published")
    sent = tuple(table.settlements)
    revisions = [msgspec.json.decode(each.data)["settlement"] for each in sent]
    assert [each["revision"] for each in revisions] == [1, 2, 3, 4]
    assert [each["paid"] for each in revisions] == [2000, 0, 7800, 7800]
    assert [each.get("reverses") for each in revisions[1:]] == [
        each["settlement_id"] for each in revisions[:-1]
    ]
    differences = [
        sum(seat["paid"] for seat in each.get("difference", ())) for each in revisions[1:]
    ]
    assert differences == [-2000, 7800, 0]
    assert [each.actor for each in sent[1:]] == ["supervisor"] * 3


async def test_a_void_after_the_settlement_reaches_the_displays(
    table: Table1, tmp_path: Path
) -> None:
    async with played(table, tmp_path):
        void = VoidCoup(transaction="v", coup=COUP, reason="a card of another shoe")
        await table.must("supervisor", void)
        await until(lambda: table.states[-1].totals.voids == 1, "the display never heard")
    seen = table.states[-1]
    assert seen.totals.house == 0
    assert seen.shoe is not None
    assert seen.shoe.roads.bead_plate == ()


@pytest.mark.parametrize("user", ["dealer", "wagers", "cage", "display"])
async def test_only_a_supervisor_corrects(table: Table1, tmp_path: Path, user: str) -> None:
    async with played(table, tmp_path):
        answer = await table.ask(user, hands("8S KH", "7D 2C", transaction="a"))
        assert (answer.result, answer.code) == ("refused", "not_allowed")
        same = await table.ask("supervisor", hands("9S KH", "2D 3C", transaction="b"))
        assert (same.result, same.code) == ("refused", "changes_nothing")
    assert len(table.settlements) == 1


async def test_a_coup_of_an_earlier_shoe_is_corrected_after_a_restart(
    table: Table1, tmp_path: Path
) -> None:
    async with played(table, tmp_path):
        await table.ask("dealer", EndShoe(transaction="e"))
        await table.ask("dealer", LoadShoe(transaction="l2", shoe="20261127-02"))
        table.head = 7
    table.acks.clear()
    async with service(table.port, tmp_path):
        await table.core_comes()
        table.states.clear()  # the earlier core's last one may have come until now
        await until(lambda: table.states and not table.states[-1].catching_up, "never caught up")
        await table.must("dealer", OpenBetting(transaction="o2"))
        answer = await table.must("supervisor", hands("8S KH", "7D 2C", transaction="a"))
        again = await table.ask("supervisor", hands("8S KH", "7D 2C", transaction="a"))
        assert (again.result, again.position) == ("exists", answer.position)
        await until(lambda: table.states[-1].totals.paid == 0, "the totals never followed")
        unknown = msgspec.structs.replace(
            hands("8S KH", "7D 2C", transaction="u"), coup="20261126-01/1"
        )
        assert (await table.ask("supervisor", unknown)).code == "unknown_coup"
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as log:
        stored = [each.type for each in log.read()]
    at = stored.index("hands_corrected")
    assert stored[at : at + 3] == ["hands_corrected", "deal_completed", "coup_settled"]
    last = msgspec.json.decode(table.settlements[-1].data)["settlement"]
    assert (last["winner"], last["revision"]) == (Winner.BANKER.value, 2)
