"""A shoe whose order or whose count is doubted: the alarm, what it says, and the way out."""

import pytest

from events.commands import EndShoe
from events.types import AlarmRaised, ShuffleQuestioned
from table_core.decide.shoe_doubts import question_order
from table_core.fold.dispatch import fold_all
from table_core.state.table import TableState
from tests.support.table.histories import histories, play_history

HISTORIES = """
cards of new packs are an alarm at the shoe's end
    {new_packs}
    end_shoe      -> made shuffle_questioned alarm_raised shoe_ended shoe_audited
                  -> shuffle_questioned: kind=factory source=by_suits run=10 groups=1 length=10
                  -> shuffle_questioned: coup=20261127-01/1 known=10 backwards=false
                  -> alarms()~order_of_new_packs; alarm(order_of_new_packs)~"10 cards in a row"
    acknowledge_alarm alarm=order_of_new_packs -> alarms()=none
    load_shoe shoe=02
an order that was shuffled is none
    ready
    played 9S KH | 2D 3C | 1 tie 100
    played 4S JH | 5D 3D | 1 tie 100
    end_shoe      -> made shoe_ended shoe_audited
a shoe that repeats itself is told while it is played
    ready
    {eight}
                  -> alarms()~order_repeats count(shuffle_questioned)=1
    end_shoe      -> count(shuffle_questioned)=2
a shoe in the order of an earlier one
    ready
    {some}
    end_shoe
    load_shoe shoe=02
    {some}
    end_shoe      -> shuffle_questioned: kind=earlier source=20261127-01 length=12
                  -> alarms()~order_of_earlier_shoe
a count that comes out holds nothing
    {ended}
    count_shoe shoe=01 cards=416 -> made shoe_counted; held=none
    load_shoe shoe=02
a count that does not come out holds the next shoe
    * 415 "1 missing"
    * 418 "2 too many"
    {ended}
    count_shoe shoe=01 cards={0} -> made shoe_counted shoe_held alarm_raised; shoe_held: text~"{1}"
    load_shoe shoe=02            -> refused shoe_held
    replace_shoe shoe=02         -> refused shoe_held
    acknowledge_alarm alarm=shoe_held -> refused stands_until_resolved
    release_shoe shoe=02         -> refused unknown_shoe
    release_shoe shoe=01 reason=" " -> refused reason_required
    release_shoe shoe=01         -> made shoe_released alarm_cleared; held=none; alarms()=none
    load_shoe shoe=02
a new count that comes out releases the next shoe
    {ended}
    count_shoe shoe=01 cards=415 -> held.shoe=20261127-01
    count_shoe shoe=01 cards=414 -> made shoe_counted
    count_shoe shoe=01 cards=416 -> made shoe_counted shoe_released alarm_cleared; held=none
what was not counted is no count
    * cards=-1
    * cards=1000
    {ended}
    count_shoe shoe=01 {0}       -> refused invalid_count
a shoe is counted when it is over
    ready
    {some}
    count_shoe shoe=01 cards=416 -> refused shoe_in_play
    end_shoe
    count_shoe shoe=07 cards=416 -> refused unknown_shoe
    release_shoe shoe=01         -> refused not_held
cards that cannot be in the shoe hold the next
    ready
    9 x shoe burn_card 9S left=1
    end_shoe      -> made shoe_ended shoe_audited shoe_held alarm_raised
                  -> shoe_held: cause=cards text~"9S came 9 times"
    count_shoe shoe=01 cards=416 -> made shoe_counted
    load_shoe shoe=02            -> refused shoe_held
    release_shoe shoe=01
    load_shoe shoe=02
"""
SOME = """played 9S KH | 2D 3C | 1 tie 100
    played 4S JH | 5D 3D | 1 tie 100
    played AS 8H | 6D TC | 1 tie 100"""
EIGHT = "\n    ".join(["open", "close", "deal 9S 2D KH 3C", "result player"] * 8)
PACKS = """ready
    open
    close
    deal AS 2S 3S 4S 5S
    result player
    open
    close
    deal 6S 7S 8S 9S TS
    result banker"""
CASES = histories(
    HISTORIES, new_packs=PACKS, some=SOME, eight=EIGHT, ended=f"ready\n    {SOME}\n    end_shoe"
)


@pytest.mark.parametrize("lines", CASES)
def test_a_doubted_shoe(lines: list[str]) -> None:
    play_history(lines)


def test_the_alarm_says_which_cards_and_how_rare_and_names_nobody() -> None:
    steps = ["assign_dealer dealer=d-4 supervisor=s-1", *PACKS.split("\n    ")]
    world = play_history(steps)
    replayed = question_order(fold_all(TableState(), list(world.log)), at_end=True)
    ended = world.must(EndShoe(transaction="end"))
    assert [type(each) for each in ended[:2]] == [ShuffleQuestioned, AlarmRaised]
    assert list(replayed) == ended[:2]  # the log alone says the same, card by card
    (event,) = (each for each in world.log if isinstance(each, ShuffleQuestioned))
    (alarm,) = (each for each in world.log if isinstance(each, AlarmRaised))
    assert alarm.text.startswith(
        "shoe 20261127-01: of 10 cards, 10 cards in a row came in the order of new packs, "
        "suit by suit; the longest run, of 10, in coup 20261127-01/1: AS 2S 3S 4S 5S 6S 7S 8S 9S TS"
    )
    assert alarm.text.endswith(f"in at most 1 of 10^{event.exponent} shoes")
    # 416 places, 104 beginnings of the run in a pack at most, 52^-10, and 288 searches.
    assert 8 <= event.exponent <= 10
    assert not {"d-4", "s-1"} & set(str(event).replace("'", " ").split())
