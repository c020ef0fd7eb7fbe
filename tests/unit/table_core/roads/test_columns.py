"""The roads against outside vectors and against a slow oracle written from their definition."""

import random
import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Winner
from events.errors import InputError
from table_core.persistent_list import PersistentList
from table_core.roads.columns import Bead, Roads, bead_of, project_roads, read_results
from table_core.rules.wagers import BET_KINDS
from tests.support.machine.files import vector
from tests.support.table.deals import coups, outcome
from tests.support.table.roads_oracle import columns_of, derived_of

LETTERS = {"P": Winner.PLAYER, "B": Winner.BANKER, "T": Winner.TIE}
VECTORS = msgspec.json.decode(vector("roads.json"))

# Short runs and long ones: even draws alone would hardly ever reach past a column's end.
results = st.lists(st.tuples(st.sampled_from("PPPBBBT"), st.integers(1, 9)), max_size=25).map(
    lambda runs: "".join(letter * length for letter, length in runs)
) | st.text("PBT")


def ties(roads: Roads) -> list[list[int]]:
    return [list(column.ties) for column in roads.columns]


@pytest.mark.parametrize("case", VECTORS, ids=[case["seq"] or "none" for case in VECTORS])
def test_the_roads_are_those_computed_elsewhere(case: dict[str, object]) -> None:
    view = project_roads(read_results(str(case["seq"])))
    found = (view.big_eye_boy, view.small_road, view.cockroach_pig)
    assert list(view.heights) == case["heights"]
    assert found == (case["bigEye"], case["small"], case["cockroach"])


@pytest.mark.parametrize("case", VECTORS, ids=[case["seq"] or "none" for case in VECTORS])
def test_the_oracle_agrees_with_what_was_computed_elsewhere(case: dict[str, object]) -> None:
    shoe = str(case["seq"])
    assert [len(column) for column in columns_of(shoe)[0]] == case["heights"]
    assert list(derived_of(shoe).values()) == [case["bigEye"], case["small"], case["cockroach"]]


@given(results)
def test_the_roads_are_those_of_the_definition(text: str) -> None:
    roads = read_results(text)
    columns, pending = columns_of(text)
    assert ties(roads) == [[ties for _, ties in column] for column in columns]
    assert roads.pending_ties == pending
    assert msgspec.structs.asdict(roads.derived) == derived_of(text)
    winners = [column.winner for column in roads.columns]
    assert all(one is not two for one, two in pairwise(winners))


@given(results, st.sampled_from("PB"))
def test_next_is_what_a_win_then_adds(text: str, letter: str) -> None:
    now, then = derived_of(text), derived_of(text + letter)
    added = {road: then[road].removeprefix(now[road]) for road in then}
    assert msgspec.structs.asdict(read_results(text).next_marks(LETTERS[letter])) == added


@given(results, st.data())
def test_inserting_ties_changes_no_derived_road(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    more = f"{text[:place]}{'T' * data.draw(st.integers(1, 3))}{text[place:]}"
    one, two = read_results(text), read_results(more)
    assert (one.derived, one.heights) == (two.derived, two.heights)


@given(results)
def test_swapping_player_and_banker_changes_no_derived_road(text: str) -> None:
    one, two = read_results(text), read_results(text.translate(str.maketrans("PB", "BP")))
    assert (one.derived, one.heights) == (two.derived, two.heights)
    assert one.next_marks(Winner.PLAYER) == two.next_marks(Winner.BANKER)


def test_blue_only_at_the_first_row_past_the_end_and_red_again_beyond() -> None:
    assert read_results("BBPPPPP").derived.big_eye_boy == "RBRR"


def test_leading_ties_wait_for_the_first_decided_coup() -> None:
    assert read_results("TT").pending_ties == 2
    roads = read_results("TTBTPP")
    assert (roads.pending_ties, ties(roads)) == (0, [[3], [0, 0]])


def test_the_bead_plate_has_every_coup_in_order() -> None:
    assert "".join(project_roads(read_results("TBPPTB")).bead_plate) == "TBPPTB"


# cards in dealing order -> the bead
BEADS = """
9H 2D KS KC       -> Pn
9H 2D 9S KC       -> Pnp     a pair of nines: 8
9H KD JS KC       -> Pnb
TH 9D KS JC       -> Bn      ten and king are no pair
4H 4D 4S 4C       -> Tnpb
2H 3D KS KC AH 4D -> B
2H 7D 2S KC AH    -> Bp
"""


@pytest.mark.parametrize("line", BEADS.strip().splitlines())
def test_a_bead_shows_naturals_and_pairs(line: str) -> None:
    dealt, _, expected = line.partition("->")
    roads = Roads().add(bead_of(outcome(dealt)))
    assert project_roads(roads).bead_plate == (expected.split()[0],)


@given(coups)
def test_a_pair_on_the_plate_is_a_pair_that_pays(dealt: tuple[object, ...]) -> None:
    judged = outcome(" ".join(map(str, dealt)))
    shown = bead_of(judged)
    for bet, pair in (("player_pair", shown.player_pair), ("banker_pair", shown.banker_pair)):
        (judge,) = BET_KINDS[bet].judges.values()
        assert bool(judge(judged)) == pair


@pytest.mark.parametrize(
    ("text", "place"), [("X", 1), ("BPx", 3), ("b", 1), ("BP B", 3), ("PP\n", 3), ("PБ", 2)]
)
def test_a_letter_that_is_no_result_is_named_with_its_place(text: str, place: int) -> None:
    with pytest.raises(InputError, match=f"in place {place} ") as refused:
        read_results(text)
    assert repr(text[place - 1]) in str(refused.value)


# ---- what a fold needs of them ----


def test_a_coup_more_copies_nothing_of_the_shoe() -> None:
    for letter in "PBT":
        before = read_results("TBPPTBBBPTBPBPBPP")
        after = before.add(Bead(winner=LETTERS[letter]))
        rest = after.columns.cells
        assert before.beads.cells is not None
        assert before.columns.cells is not None
        assert rest is not None
        assert after.beads.cells is not None
        assert after.beads.cells[1] is before.beads.cells
        assert rest[1] is (before.columns.cells if letter == "B" else before.columns.cells[1])


def test_a_coup_costs_the_same_however_long_the_shoe() -> None:
    def steps(roads: Roads, winner: Winner) -> int:
        count = 0

        def tally(frame: FrameType, _: str, __: object) -> Callable[..., None]:
            nonlocal count
            count += "table_core" in frame.f_code.co_filename  # and no garbage collection
            return tally  # type: ignore[return-value]  # the tracer's own type is recursive

        coup, traced = Bead(winner=winner), sys.gettrace()
        sys.settrace(tally)
        try:
            roads.add(coup)
        finally:
            sys.settrace(traced)
        return count

    short, long = read_results("BBPPTBPBPP"), read_results("BBPPTBPBPP" * 300)
    for winner in Winner:
        assert 0 < steps(short, winner) == steps(long, winner)


def test_an_older_state_stays_as_it_was() -> None:
    before = read_results("BPPT")
    shown = project_roads(before)
    for letter in "PBT":
        before.add(Bead(winner=LETTERS[letter]))
    assert project_roads(before) == shown


@pytest.mark.sweep
def test_states_of_one_history_are_equal_and_a_very_long_one_is_no_trouble() -> None:
    seed = 20261127
    text = "".join(random.Random(seed).choices("PBT", k=20_000))
    one, two = read_results(text), read_results(text)
    assert one == two, seed
    assert hash(one) == hash(two)
    assert one != two.add(Bead(winner=Winner.TIE))
    assert one != read_results(f"{'P' if text[0] == 'B' else 'B'}{text[1:]}")
    assert repr(one)
    del one, two


@given(st.lists(st.integers()), st.integers())
def test_a_trail_is_a_list_that_grows_at_its_end(items: list[int], more: int) -> None:
    trail: PersistentList[int] = PersistentList()
    for item in items:
        trail = trail.append(item)
    grown = trail.append(more)
    assert (list(trail), len(trail), bool(trail)) == (items, len(items), bool(items))
    assert list(grown) == [*items, more]
    assert list(grown.replace_last(more + 1)) == [*items, more + 1]
    assert [grown.back(steps) for steps in range(1, len(grown) + 1)] == list(grown)[::-1]
    assert repr(trail) == f"PersistentList({items})"
    with pytest.raises(IndexError):
        trail.back(len(trail) + 1)
    with pytest.raises(IndexError):
        PersistentList[int]().replace_last(more)
    assert (trail == items) is False
    assert trail != grown
