"""What a coup came to is told once: by replay, list and evidence alike, after every correction."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from events.types import CoupSettled, CoupVoided
from table_core.evidence.judge import EvidenceFault
from table_core.state.table import Coup
from tests.support.table.coups import COUP, SHOE, World
from tests.support.table.histories import Functions, histories, perform, play_history
from tests.support.table.stories import KeptWorld, listed

# Scale two of seed 1: Perfect Pairs pays 25 to 1 on two cards alike, 6 on two of one rank.
PAIR = """rules nz-scale-two
in none
open
bet 1 banker 1000, 1 perfect_pairs 1000
close
deal 2S 3D 2S KC"""
# Player's seven is a natural: no third card was due.
NEVER_LAY = f"""{PAIR}
P3 8D
correct_card P2 7S
void_coup"""
# 9S 9D are a mixed pair: 5 to 1.
MIXED = """rules nz-scale-one
in none
played 9S 9D | 7D KC | 1 player 1000, 1 perfect_pairs 500"""
HISTORIES = """
a later shoe's audit makes no coup's money another's
    in none
    played 6S KH | 7D KC
    open
    close
    deal 9S 2D
    void_coup
    end_shoe
    correct_hands player="8S KH" banker="7D KC" -> settlement(-1).coup=20261127-01/1
                             -> told(1).changes.difference=-1900 told(2).changes=none
                             -> told(2).settlements=none told(2).seats=none told(2).phase=voided
                             -> told(2).lines.type!~settled told(1).lines.-1.type=shoe_audited
                             -> told(2).lines.type!~corrected list(2).paid=0
commission is told of its own coup, whenever it moves
    rules au-commission commission.timing=per_shoe
    in none
    played 6S KH | 7D KC | 1 banker 1000
    played 6S KH | 7D KC | 1 banker 2000
    collect_commission
    correct_hands coup=01/1 player="8S KH" banker="7D KC"
                             -> commission_refunded: coup=20261127-01/1 amounts.amount=50
                             -> told(1).lines.-1.type=commission_refunded
                             -> told(1).lines.type~commission_collected
                             -> told(2).lines.-1.type=commission_collected
                             -> judged(1).commission=0 judged(2).commission=100
a pair that was left out is paid, shown and proved
    rules nz-scale-one
    in none
    played 9S 9D | 7D KC | 1 player 1000
    correct_wager to="1 perfect_pairs 500"
                             -> coup_settled: settlement.phase=1 settlement.reverses=none
                             -> coup_settled: settlement.difference.staked=500
                             -> coup_settled: settlement.difference.paid=3000
                             -> judged(1).paid=5000 judged(1).staked=1500
                             -> told(1).changes.difference=3000 told(1).changes.reason=r
                             -> told(1).changes.before=none told(1).changes.0.seats.before=0
                             -> told(1).seats.paid=5000
                             -> list(1).paid=5000 "list(1).troubles=corrected after settlement"
a wager that becomes a pair leaves the last phase and is proved
    rules nz-scale-one
    in none
    played 9S 9D | 7D KC | 1 player 1000, 2 banker 100
    correct_wager wager=@2 to="1 perfect_pairs 100"
                             -> judged(1).paid=2600 told(1).changes.difference=0,600
                             -> told(1).seats.seat=1 list(1).paid=2600 list(1).revision=2
                             -> "list(1).troubles=corrected after settlement"
a first phase paid on a card that never lay there is revised before the void
    {never_lay}              -> settlement(1).lines.paid=26000 settlement(2).lines.result=lose
                             -> settlement(2).player=2S,7S
                             -> made coup_settled coup_voided; totals.house=1000
                             -> totals.paid=0 judged(1).paid=0 told(1).seats.net=-1000
                             -> list(1).paid=0
cards that are not there any more pay no pair
    {pair}
    correct_hands player="2S 2S" banker="3D"
    void_coup                -> in_force(1).lines.result=void totals.paid=1000 judged(1).paid=1000
                             -> coup_voided: refunds.stake=1000
a face that nobody can tell any more leaves the first phase as it was paid
    {pair}
    mark_unreadable P2
    void_coup                -> made coup_voided; totals.paid=26000 judged(1).paid=26000
a void coup's first phase is taken back
    {pair}
    void_coup                -> totals.paid=26000
    void_coup coup=01/1      -> made irregularity_recorded coup_settled
                             -> irregularity_recorded: kind=first_phase_taken_back
                             -> in_force(1).lines.result=void in_force(1).difference.paid=-25000
                             -> totals.paid=1000 totals.voids=1 judged(1).paid=1000
                             -> told(1).seats.net=0 told(1).changes.reason=r
    void_coup coup=01/1      -> refused coup_void
    correct_card coup=01/1 P2 2H -> refused coup_void
    # It was paid rightly, after all.
    correct_hands player="2S 2S" banker="3D KC" -> made hands_corrected coup_settled; voided
                             -> in_force(1).lines.paid=26000 judged(1).paid=26000
a void coup's cards are corrected for what they had paid
    {pair}
    void_coup
    correct_card coup=01/1 P2 2H -> hands_corrected: counts_again=false; voided; totals.voids=1
                             -> in_force(1).lines.category=mixed totals.paid=7000
                             -> judged(1).paid=7000 told(1).seats.net=6000 told(1).phase=voided
                             -> copies(2H)=1 copies(2S)=1
    correct_card coup=01/1 P2 2H -> refused same_card
    correct_hands player="2S 2H" banker="3D KC" -> refused changes_nothing
    correct_hands player="2S" banker="3D KC" -> in_force(1).lines.result=void
    correct_hands player="2S 9S" banker="3D KC" -> in_force(1).lines.result=lose totals.paid=0
    correct_hands player="" banker="" -> refused incomplete_coup
    correct_hands player="2S 9S 9D 9H" banker="3D KC" -> refused excess_card
a card that was not due is corrected where the coup is void
    {never_lay}
    correct_hands player="2S 2S 8D" banker="3D KC" -> in_force(1).lines.paid=26000
    correct_hands player="2S 7S 8D" banker="3D KC" -> in_force(1).lines.paid=0
                             -> judged(1).paid=0
    correct_card coup=01/1 P3 9D -> made hands_corrected; player().card=2S,7S,9D
a void coup's wagers are corrected for what they were paid
    {pair}
    void_coup
    correct_wager wager=@2 to="1 perfect_pairs 100" -> in_force(1).lines.paid=2600
                             -> in_force(1).difference.staked=-900 judged(1).paid=2600
    correct_wager to="3 perfect_pairs 100" -> in_force(1).lines.paid=2600,2600
                             -> judged(1).paid=5200 told(1).seats.net=2500,2500
    correct_wager wager=@2 to=none -> in_force(1).lines.seat=3 totals.staked=100
    correct_wager wager=@1 to=none -> refused coup_void
    correct_wager to="3 player 100" -> refused coup_void
    correct_wager wager=@2 to="3 player 100" -> refused coup_void
a void coup is judged by another rulebook for what it had paid
    library nz-scale-two bets.perfect_pairs.variant=banker
    {pair}
    # Banker's two cards are no pair.
    void_coup
    correct_rulebook by=library -> in_force(1).lines.paid=0 judged(1).paid=0
a first phase that the right rulebook does not have gives its stakes back
    library au-commission currency=NZD
    {pair}
    void_coup
    correct_rulebook by=library -> in_force(1).lines.result=void totals.paid=1000
                             -> judged(1).paid=1000
nothing of a void coup can be corrected where its first phase went back with it
    rules nz-scale-two procedure.void_after_phase_one=reverse_all
    in none
    open
    bet 1 banker 1000, 1 perfect_pairs 1000
    close
    deal 2S 3D 2S KC
    void_coup                -> totals.paid=1000 judged(1).paid=1000
    correct_card coup=01/1 P2 2H -> refused coup_void
    correct_hands player="2S 2H" banker="3D KC" -> refused coup_void
    correct_wager wager=@2 to=none -> refused coup_void
    void_coup coup=01/1      -> refused coup_void
a coup void after its settlement is corrected in the first phase that it kept
    {mixed}
    void_coup coup=01/1      -> totals.paid=4000
    correct_card coup=01/1 P2 9S -> in_force(1).lines.category=perfect totals.paid=16500
                             -> in_force(2).lines.result=void judged(1).paid=16500
    void_coup coup=01/1      -> in_force(1).lines.result=void totals.paid=1500
    correct_hands player="9S 9D" banker="7D KC" -> settled; totals.paid=5000 totals.voids=0
                             -> judged(1).paid=5000 list(1).state=settled list(1).paid=5000
a void coup of an earlier shoe is corrected with what the log recalls
    {pair}
    void_coup
    end_shoe
    load_shoe shoe=02
    recall 01
    correct_card coup=01/1 P2 2H -> totals.paid=7000 totals.voids=1 totals.coups=0
                             -> judged(1).paid=7000 list(1).paid=7000
    recall 01
    void_coup coup=01/1      -> totals.paid=1000 totals.voids=1 list(1).paid=1000
a token that a void gives back has cost nothing
    in none
    open
    place_wager wagers="1 player 1000 kind=promo"
    close
    deal 2S 9D KH KC         # Player loses
    result banker            -> told(1).seats.net=-1000
    void_coup coup=01/1      -> told(1).seats.net=0 "told(1).settlements.1.wagers.0.sums={token}"
a wager put on a free hand is late, and that is on record
    in none
    free_hand
    deal 9S 2D KH 3C
    correct_wager to="1 player 1000" -> irregularity_recorded: kind=late_wager
    result player            -> settlement(1).lines.paid=2000
    correct_wager to="2 player 100" -> irregularity_recorded: kind=late_wager
                             -> irregularity_recorded: "reason~no wagers were taken"
    correct_wager wager=@1 to="1 player 500" -> made wager_corrected coup_settled
a set of wagers is judged as a set against the differential
    rules au-commission limits.differential=1000
    in none
    open
    place_wager wagers="1 player 9000,2 banker 8500" -> made wagers_placed
    place_wager wagers="3 banker 1600,4 player 100" -> made wagers_placed
    place_wager wagers="3 banker 2000,4 player 500" -> refused differential
    place_wager wagers="5 player 2000" -> made wagers_placed
    place_wager wagers="5 player 600" -> refused differential
"""
STEPS = {"pair": PAIR, "never_lay": NEVER_LAY, "mixed": MIXED, "token": "the token goes back"}
ASKED: Functions = {
    "told": lambda world, number: world.story(f"{SHOE}/{number}", *world.context.library),
    "list": lambda world, number: listed(world)[f"{SHOE}/{number}"],
    "judged": lambda world, number: world.judged(f"{SHOE}/{number}"),
}


@pytest.mark.parametrize("lines", histories(HISTORIES, **STEPS))
def test_a_coup_is_told_once(lines: Sequence[str]) -> None:
    world = play_history(lines, KeptWorld, ASKED)
    assert isinstance(world, KeptWorld)
    found, totals = listed(world), world.state.totals
    for name, line in found.items():
        record = world.record(name)
        for each in ("staked", "paid", "commission"):
            told = sum(getattr(settlement, each) for settlement in record.in_force)
            assert told == getattr(line, each)
        assert record.coup.settlements == _in_the_state(world, name, record.coup).settlements
    assert totals.paid == sum(line.paid for line in found.values())
    assert totals.staked == sum(line.staked for line in found.values())


def _in_the_state(world: World, name: str, otherwise: Coup) -> Coup:
    """The coup as the table has it; an earlier shoe's coup is in the log alone."""
    known = (*world.state.past, *([world.state.coup] if world.state.coup else []))
    return next((coup for coup in known if coup.id == name), otherwise)


def test_evidence_of_a_void_coup_holds_nothing_that_does_not_follow() -> None:
    world = play_history([*PAIR.splitlines(), "void_coup", "open"], KeptWorld)
    assert isinstance(world, KeptWorld)
    (paid,) = world.record().in_force
    assert world.judged().paid == paid.paid == 26_000
    void = next(each for each in world.log if isinstance(each, CoupVoided))
    again = replace(paid, revision=2, reverses=paid.settlement_id, settlement_id=f"{paid.coup}/x")
    for event, why in (
        (CoupSettled(coup=COUP, settlement=again), "has other settlement_id"),
        (CoupSettled(coup=COUP, settlement=replace(again, phase=2)), "settles a coup that is void"),
        (void, "the coup is void already"),
    ):
        with pytest.raises(EvidenceFault, match=why):
            world.judged(COUP, event)


def test_a_void_coup_of_an_earlier_build_is_named_and_put_right() -> None:
    """That build left the first phase as it was paid, on a card that never lay there."""
    never_lay = play_history(NEVER_LAY.splitlines(), KeptWorld)
    assert isinstance(never_lay, KeptWorld)
    kept = play_history(["rules nz-scale-two", "in none"], KeptWorld)
    assert isinstance(kept, KeptWorld)
    for event in never_lay.log[len(kept.log) :]:
        revised = isinstance(event, CoupSettled) and event.settlement.revision > 1
        kept.take([] if revised else [event])
    assert listed(kept)[COUP].troubles[-1] == "first phase paid on other cards"
    assert kept.state.totals.paid == 26_000
    perform(kept, 'correct_hands player="2S 7S 8D" banker="3D KC"')
    assert kept.state.totals.paid == 0
    assert listed(kept)[COUP].troubles[-1] == "corrected after the void"
