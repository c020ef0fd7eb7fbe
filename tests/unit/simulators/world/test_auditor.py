"""The auditor's own rules against the table's, over every deal that random shoes hold."""

from fractions import Fraction
from random import Random

import pytest

from events.cards import Card, Hand
from events.types import (
    BettingClosed,
    BettingOpened,
    CardDealt,
    CommissionCollected,
    CommissionPrepaid,
    CommissionReturned,
    CoupMisaligned,
    CoupSettled,
    CoupVoided,
    PayerAmount,
    Refund,
    Settlement,
    SettlementLine,
    TableEvent,
    Wager,
    WagersPlaced,
)
from simulators.device.printed_rules import dealt_hands, next_place
from simulators.world.auditor.audited_coup import Violation
from simulators.world.auditor.auditor import Auditor
from simulators.world.auditor.chips import Chips
from simulators.world.auditor.rules import (
    RULEBOOKS,
    Hands,
    is_complete,
    phase_of,
    settle_together,
    settle_wager,
)
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.draw import judge_hands
from table_core.rules.settlement import settle

COUP = "20261127-01/1"
CARDS = (Card.S8, Card.D2, Card.CA, Card.H3)  # Player 9, a natural, against 5


def deals(seed: int, count: int) -> list[Hands]:
    rng, made = Random(seed), []
    for _ in range(count):
        cards: list[Card] = []
        while next_place(cards) is not None:
            cards.append(rng.choice(list(Card)))
        made.append(Hands(*dealt_hands(cards)))
    return made


def test_the_auditor_knows_every_rulebook_that_is_shipped_and_every_bet_of_it() -> None:
    books = {name: set(load_rulebook(name).bets) for name in shipped_ids()}
    assert {name: set(bets) for name, bets in RULEBOOKS.items()} == books


@pytest.mark.sweep
@pytest.mark.parametrize("name", shipped_ids())
def test_the_auditor_pays_every_bet_as_the_table_does(name: str) -> None:
    rulebook, rng = load_rulebook(name), Random(name)
    for hands in deals(20261127, 1_500):
        outcome = judge_hands(hands.player, hands.banker)
        for bet in rulebook.bets.values():
            wager = Wager(id="w", seat=1, bet=bet.id, stake=rng.randint(1, 100_000))
            (line,) = settle(rulebook, outcome, [wager])
            right = settle_wager(name, bet.id, wager.stake, hands)
            assert right == (line.result, line.winnings, line.commission, line.paid)
            assert phase_of(bet.id) == bet.phase


def test_a_whole_deal_is_one_that_the_dealer_ends_and_no_other() -> None:
    for hands in deals(1, 3_000):
        assert is_complete(hands)
        for fewer in (
            Hands(hands.player[:-1], hands.banker),
            Hands(hands.player, hands.banker[:-1]),
        ):
            assert not is_complete(fewer)
        assert not is_complete(Hands((*hands.player, Card.SA), hands.banker))
        assert not is_complete(Hands(hands.player, (*hands.banker, Card.SA)))


def test_odd_amounts_go_the_patrons_way() -> None:
    six = Hands((Card.ST, Card.S5), (Card.ST, Card.S6))  # dealt or not: 5 against 6
    assert settle_wager("au-even-money", "banker", 101, six) == ("win", 51, 0, 152)
    assert settle_wager("au-commission", "banker", 119, six) == ("win", 119, 5, 233)
    assert Fraction(119, 20) > 5


def test_a_maximum_is_shared_as_the_table_shares_it_and_not_otherwise() -> None:
    # Eight in three spades against seven: 25 to 1.
    suited = Hands((Card.S2, Card.S3, Card.S3), (Card.DT, Card.D7))
    outcome, rng = judge_hands(suited.player, suited.banker), Random(8)
    rulebook, cut = load_rulebook("mini-lucky8"), 0
    for _ in range(200):
        wagers = [
            Wager(id=f"w{n}", seat=n, bet=bet, stake=rng.randint(1, 30_000))
            for n in range(1, 8)
            for bet in ("lucky8_player", "player")
        ]
        lines = settle(rulebook, outcome, wagers)
        asked = [(wager.bet, wager.stake) for wager in wagers]
        said = [line.winnings for line in lines]
        rights = settle_together("mini-lucky8", asked, suited, said)
        assert rights == [(e.result, e.winnings, e.commission, e.paid) for e in lines]
        cut += any(line.winnings < 25 * line.stake for line in lines if line.bet != "player")
        said[0], said[2] = said[0] - 2, said[2] + 2
        rights = settle_together("mini-lucky8", asked, suited, said)
        assert [right.winnings for right in rights] != said
    assert 0 < cut < 200


def test_commission_that_lies_beside_the_wagers_is_chips_until_it_is_taken_or_goes_back() -> None:
    chips, five = Chips(prepaid=True), (PayerAmount(seat=1, amount=5),)
    line = SettlementLine(
        wager="w", seat=1, bet="banker", result="win", category="win",
        stake=100, winnings=100, commission=5, paid=195,
    )  # fmt: skip
    chips.lay(1, 100)
    chips.beside(CommissionPrepaid(coup=COUP, currency="AUD", amounts=five))
    chips.settle(line, 100)
    with pytest.raises(Violation, match="commission lies there"):
        chips.at_the_end(COUP, 5)
    chips.commission(CommissionCollected(coup=COUP, currency="AUD", method="prepaid", amounts=five))
    chips.at_the_end(COUP, 5)
    chips.hold()
    assert (chips.purse[1], chips.tray) == (95, -95)
    with pytest.raises(Violation, match="owes 6 of commission, and 5 was taken"):
        chips.at_the_end(COUP, 6)
    with pytest.raises(Violation, match="-5 beside its wagers"):
        chips.beside(CommissionReturned(coup=COUP, currency="AUD", amounts=five))


# ---- what it must see ----


def begun() -> list[TableEvent]:
    return [
        BettingOpened(coup=COUP, rulebook="ez", rulebook_hash="h"),
        WagersPlaced(coup=COUP, wagers=(Wager(id="w", seat=1, bet="player", stake=500),)),
        BettingClosed(coup=COUP, by="dealer"),
        *(
            CardDealt(coup=COUP, hand=hand, number=number, card=card)
            for (hand, number), card in zip(
                [(hand, number) for number in (1, 2) for hand in Hand], CARDS, strict=True
            )
        ),
    ]


def settled(revision: int = 1, paid: int = 1000, reverses: str | None = None) -> CoupSettled:
    line = SettlementLine(
        wager="w",
        seat=1,
        bet="player",
        result="win",
        category="win",
        stake=500,
        winnings=500,
        commission=0,
        paid=paid,
    )
    return CoupSettled(
        coup=COUP,
        settlement=Settlement(
            settlement_id=f"t1/{COUP}/2/{revision}",
            coup=COUP,
            phase=2,
            revision=revision,
            reverses=reverses,
            rulebook="ez",
            rulebook_hash="h",
            player=(CARDS[0], CARDS[2]),
            banker=(CARDS[1], CARDS[3]),
            player_total=9,
            banker_total=5,
            lines=(line,),
            staked=500,
            paid=paid,
            commission=0,
        ),
    )


def heard(*events: TableEvent) -> Auditor:
    auditor = Auditor("t1", "ez")
    for position, event in enumerate(events, start=1):
        auditor.hear(position, event)
    return auditor


def test_an_honest_coup_is_heard_to_its_end() -> None:
    auditor = heard(*begun(), settled())
    lying = Hands((CARDS[0], CARDS[2]), (CARDS[1], CARDS[3]))
    auditor.at_the_end(COUP, lying, broken_off=False)
    assert (auditor.chips.purse[1], auditor.chips.tray) == (500, -500)
    with pytest.raises(Violation, match="and there lie"):
        auditor.at_the_end(COUP, Hands(lying.banker, lying.player), broken_off=False)
    with pytest.raises(Violation, match="broken off"):
        auditor.at_the_end(COUP, lying, broken_off=True)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([*begun(), settled(paid=1001)], "not Paid"),
        ([*begun(), settled(), settled()], "comes twice"),
        ([*begun(), settled(), settled(2)], "does not take back"),
        ([*begun()[:-1], settled()], "came"),
        ([*begun(), CoupMisaligned(coup=COUP, reason="r", detail="d"), settled()], "misaligned"),
        ([*begun(), begun()[-1]], "a second card"),
        ([*begun(), begun()[1]], "after the close"),
        ([*begun(), CoupVoided(coup=COUP, reason="r", refunds=())], "wagers lie there"),
        (
            [
                *begun(),
                CoupVoided(coup=COUP, reason="r", refunds=(Refund(wager="w", seat=1, stake=600),)),
            ],
            "goes back, and there lies",
        ),
        ([*begun(), begun()[0]], "begins twice"),
        ([settled()], "never begun"),
    ],
)
def test_what_must_never_be_is_seen_at_once(events: list[TableEvent], said: str) -> None:
    with pytest.raises(Violation, match=said):
        heard(*events)


def test_a_position_that_is_missing_is_seen() -> None:
    auditor = Auditor("t1", "ez")
    with pytest.raises(Violation, match="position 2 after 0"):
        auditor.hear(2, begun()[0])
