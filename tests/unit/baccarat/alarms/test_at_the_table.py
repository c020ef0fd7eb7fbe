"""Alarms of the coup and of the shoe: each is raised, its page is followed, and it is over."""

from itertools import chain

import pytest

from events.commands.registry import COMMANDS
from table_core.narrative.formatting import Phrase
from table_core.narrative.table_texts import as_phrase
from table_core.projections.table_document import active_alarms
from tests.support.alarm_pages import pressed
from tests.support.table.histories import histories, play_history

# What breaks it, `--`, what the page says; the name may have the branch of the page behind it.
HISTORIES = """
burn_mismatch
    in none
    replace_shoe shoe=02
    shoe first_card 7D
    shoe burn_card left=0
    --
    acknowledge_alarm alarm=burn_mismatch
burn_missing
    in none
    replace_shoe shoe=02
    open
    --
    burn cards=0
card_without_shoe
    empty
    shoe link_open transport=pty:x
    shoe link_up
    P1 9S
    --
    load_shoe shoe=01
    acknowledge_alarm alarm=card_without_shoe
coup_misaligned: a missing card is entered
    in dealing
    shoe report_lost expected=3 got=5
    P2 KH B2 3C
    --
    enter_card B1 2D
    enter_card P2 KH
    enter_card B2 3C
    realign
coup_misaligned: a wrong card is corrected
    in closed
    deal 9S 2D KH
    enter_card B2 3C
    B2 5C
    --
    correct_card B2 5C
    realign
coup_misaligned: nobody can vouch for the cards
    in dealing
    shoe report_lost expected=3 got=5
    --
    void_coup
excess_card
    in complete
    shoe card_out_of_game reason=drawn_outside_game
    result player
    --
    resolve_irregularity kind=excess_card seen=false
excess_card_mismatch
    in held
    resolve_irregularity kind=excess_card seen=false
    result player
    shoe card_out_of_game reason=overdrawn 4D
    --
    acknowledge_alarm alarm=excess_card_mismatch
excess_card_mismatch: in a coup
    in held
    resolve_irregularity kind=excess_card seen=false
    shoe card_out_of_game reason=overdrawn 4D
    --
    result player
order_of_new_packs
    {new_packs}
    end_shoe
    --
    acknowledge_alarm alarm=order_of_new_packs
order_of_earlier_shoe
    ready
    {some}
    end_shoe
    load_shoe shoe=02
    {some}
    end_shoe
    --
    acknowledge_alarm alarm=order_of_earlier_shoe
order_repeats
    ready
    {eight}
    --
    acknowledge_alarm alarm=order_repeats
result_disputed: the cards are right
    {disputed}
    --
    confirm_result
result_disputed: a card is wrong
    {disputed}
    --
    correct_card P1 2H
    P3 AD
result_disputed: void
    {disputed}
    --
    void_coup
shoe_held: counted again
    {ended}
    count_shoe shoe=01 cards=415
    --
    count_shoe shoe=01 cards=416
shoe_held: released
    {ended}
    count_shoe shoe=01 cards=415
    --
    release_shoe shoe=01
supervisor_called
    in betting
    call_supervisor reason="a chip fell"
    --
    acknowledge_alarm alarm=supervisor_called
too_many_copies: misread
    in dealing
    8 x shoe burn_card 4D left=20
    B1 4D
    --
    enter_card B1 5D
    realign
    acknowledge_alarm alarm=too_many_copies
too_many_copies: an earlier card was misread
    in closed
    7 x shoe burn_card 4D left=20
    P1 4D B1 4D
    --
    correct_card P1 4H
    enter_card B1 4D
    realign
    acknowledge_alarm alarm=too_many_copies
too_many_copies: all are right
    in dealing
    8 x shoe burn_card 4D left=20
    B1 4D
    --
    void_coup
    end_shoe
    count_shoe shoe=01 cards=416
    acknowledge_alarm alarm=too_many_copies
unreadable_card
    in closed
    deal 9S 2D
    shoe card_unreadable P2
    --
    enter_card P2 KH
    B2 3C
    result player
unreadable_card: one by the shoe, one by the dealer
    in closed
    deal 9S 2D
    shoe card_unreadable P2
    mark_unreadable B1
    --
    enter_card P2 KH
    enter_card B1 2D
wagerless_coup
    in none
    deal 9S 2D KH 3C
    --
    result player
card_carried_over
    in betting
    shoe card_carried_over P1 9S
    --
    {finished}
card_out_of_game
    in betting
    shoe card_out_of_game reason=drawn_outside_game
    --
    resolve_irregularity kind=other
    {finished}
card_reversed
    in betting
    shoe card_reversed place=1
    --
    {finished}
copy_conflict
    in betting
    shoe copy_conflict device_seq=7 bodies=00,01
    --
    {finished}
link_down: it comes back
    in none
    shoe link_down reason=unplugged
    --
    shoe link_open transport=pty:x
    shoe link_up
link_down: its last report was lost
    in none
    shoe link_stalled silent_ms=60000
    --
    clear_shoe_error code=stalled
link_lost
    in betting
    shoe link_down reason=unplugged
    shoe link_open transport=pty:x
    shoe link_up
    --
    {finished}
link_reopened
    in betting
    shoe link_open transport=pty:x
    --
    {finished}
report_lost
    in betting
    shoe report_lost expected=3 got=5
    --
    {finished}
round_forced_end
    in betting
    shoe round_forced_end
    --
    {finished}
shoe_booted
    in betting
    shoe shoe_booted
    --
    {finished}
shoe_error_overdraw: cleared at the shoe
    in none
    shoe error_raised code=overdraw latched=false
    --
    shoe error_cleared code=overdraw
shoe_error_overdraw: its message was lost
    in none
    shoe error_raised code=overdraw latched=true
    --
    clear_shoe_error code=overdraw
"""
_SOME = """played 9S KH | 2D 3C | 1 tie 100
    played 4S JH | 5D 3D | 1 tie 100
    played AS 8H | 6D TC | 1 tie 100"""
_CASES = histories(
    HISTORIES,
    some=_SOME,
    ended=f"ready\n    {_SOME}\n    end_shoe",
    eight="\n    ".join(["open", "close", "deal 9S 2D KH 3C", "result player"] * 8),
    new_packs="""ready
    open
    close
    deal AS 2S 3S 4S 5S
    result player
    open
    close
    deal 6S 7S 8S 9S TS
    result banker""",
    disputed="in closed\n    deal 9S 2D KH 3C\n    result banker",
    finished="deal 9S 2D KH 3C\n    result player",
)


def alarm_of(name: str) -> str:
    return "shoe_error" if name.startswith("shoe_error_") else name


def name_of(case: object) -> str:
    """The page that a history follows."""
    return alarm_of(str(case.id).partition(":")[0])  # type: ignore[attr-defined] # pytest's own


def following(case: object) -> list[str]:
    """The commands that a history takes in place of the page's reader."""
    lines: list[str] = case.values[0]  # type: ignore[attr-defined] # pytest's own
    words = [line.split()[0] for line in lines[lines.index("--") :]]
    return [word for word in words if word in COMMANDS]


FOLLOWED = frozenset(map(name_of, _CASES))


@pytest.mark.parametrize(("alarm", "lines"), [(case.id, case.values[0]) for case in _CASES])
def test_the_page_ends_the_alarm(alarm: str, lines: list[str]) -> None:
    name, at = alarm.partition(":")[0], lines.index("--")
    broken, mended = play_history(lines[:at]), play_history(lines[:at] + lines[at + 1 :])
    said = {each.name: each.text for each in active_alarms(broken.state)}
    assert isinstance(as_phrase(said[name]), Phrase)
    assert name not in {each.name for each in active_alarms(mended.state)}


@pytest.mark.parametrize("name", sorted(FOLLOWED))
def test_what_the_page_says_to_press_is_what_ends_it(name: str) -> None:
    """Each button of the page is pressed in one of its histories, and no other."""
    rows = [case for case in _CASES if name_of(case) == name]
    assert pressed(name) == set(chain.from_iterable(map(following, rows)))
