"""How the kit judges a source of wagers, without a bus: what it blames, and what it must not."""

import json

import pytest

from simulators.conformance.wagers import PlacedWagers, WagerFault, WagerJudge

BETS: dict[str, tuple[int, int | None, int]] = {"banker": (500, None, 100)}


def judge(fault: WagerFault) -> WagerJudge:
    made = WagerJudge("wagers", BETS)
    made.open("c1", fault)
    return made


def ask(judge: WagerJudge, transaction: str, *, coup: str = "c1", seat: int = 1) -> list[str]:
    """The codes of the answers to a request; an acceptance has none."""
    wager = {"seat": seat, "bet": "banker", "stake": 500}
    body = {"transaction": transaction, "coup": coup, "wagers": [wager]}
    return [str(each.code) for each in judge.answer(json.dumps(body).encode(), 0.0)]


def came_again(judge: WagerJudge) -> bool:
    return "was refused with catching_up, and came again" in (judge.complaint or "")


@pytest.mark.parametrize("fault", ["catching_up", "refused"])
def test_a_repeat_that_was_on_its_way_before_the_refusal_is_no_mistake(fault: WagerFault) -> None:
    source = judge(fault)
    first = ask(source, "t1")
    assert ask(source, "t1") == first != ["None"]
    assert ask(source, "t2", seat=2) == ["None"]  # its own next one may be on its way as well
    assert ask(source, "t1") == first
    source.close(1.0)
    assert source.verdict(PlacedWagers(placed=("wagers/t2/0",))) is None


@pytest.mark.parametrize(("coup", "after"), [("c1", "asked anew"), ("c2", "in the next coup")])
def test_a_repeat_by_a_source_that_knows_its_refusal_is_named(coup: str, after: str) -> None:
    source = judge("catching_up")
    ask(source, "t1")
    if after == "in the next coup":
        ask(source, "t2")
        source.close(1.0)
        source.open("c2", "")
        ask(source, "t3", coup=coup)
    else:
        ask(source, "t2", coup=coup)
    assert source.complaint is None
    ask(source, "t1")
    assert came_again(source)


def test_a_source_that_only_repeats_its_refusal_is_named_when_betting_closes() -> None:
    source = judge("catching_up")
    ask(source, "t1")
    ask(source, "t1")
    assert source.complaint is None
    source.close(1.0)
    assert came_again(source)
