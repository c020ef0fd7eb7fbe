"""Every state of the table's state machine as displays see it, by any rulebook.

`STATES` names them. Each stands after enough coups to fill the roads, has six cards where it can
have them, and stakes as long as a sign can have them.
"""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from table_core.decide.decision import DecisionContext
from table_core.projections.table_document import StateView, project_table
from table_core.roads.columns import project_roads, read_results
from table_core.rules.rulebook import Rulebook
from tests.support.table.coups import World
from tests.support.table.histories import perform

_BETTING: Final = "ready\nopen\nbet 1 player 10000, 2 banker 20000, 3 tie 2500"
_CLOSED: Final = f"{_BETTING}\nclose"
_SIX: Final = "deal 2S 3D 3H KC TS 6D"
_DEALT: Final = f"{_CLOSED}\n{_SIX}"

STATES: Final[Mapping[str, str]] = {
    "no shoe": "empty",
    "shoe loaded": "ready",
    "betting": _BETTING,
    "closed": _CLOSED,
    "dealing": f"{_CLOSED}\ndeal 2S 3D 3H",
    "squeeze": f"{_CLOSED}\nsqueeze\nreveal P1 2S P2 3H",
    "natural": f"{_CLOSED}\ndeal 9S 8D KH",
    "complete": _DEALT,
    "disputed": f"{_DEALT}\nresult player",
    "held": f"{_DEALT}\nshoe card_out_of_game reason=drawn_outside_game",
    "misaligned": f"{_DEALT}\nshoe report_lost expected=3 got=5",
    "settled": f"{_DEALT}\nresult banker",
    "tie": f"{_CLOSED}\ndeal 9S 9D KH KC\nresult tie",
    "voided": f"{_DEALT}\nvoid_coup reason=misdeal",
    "cut card": f"{_CLOSED}\ndeal 2S 3D\ncut_card place=mid_coup",
    "shoe ended": f"{_DEALT}\nresult banker\nend_shoe reason=worn",
}
"""The steps of `tests.support.table.histories` that lead to each state, by its name."""

_RESULTS: Final = "BPPBBTPBBPBBBBBBBBPTTPPPBPBPBPBBPPBTBPPPPPPPPBBPBPBPBTPBBPPBPBBBPPTBPBPPBBPPB"
_LEAST, _MOST = 2_500, 1_000_000
_CHIPS: Final = (100, 500, 2_500, 10_000, 50_000, 100_000, 500_000)


def shown_state(name: str, rulebook: Rulebook) -> StateView:
    """Return a state by its name, under a rulebook, with roads of a long shoe."""
    context = DecisionContext(table="t1", rulebook=rulebook)
    world = World(context)
    perform(world, STATES[name])
    state = project_table(world.state, table="b7", rulebook=rulebook, catching_up=False)
    sign, shoe = state.rulebook, state.shoe
    bets = tuple(replace(bet, minimum=_LEAST, maximum=_MOST) for bet in sign.bets)
    rules = replace(sign, bets=bets, chips=sign.chips or _CHIPS)
    if shoe is not None and name != "shoe loaded":
        won = tuple(bet.id for bet in bets if bet.id not in {"player", "banker", "tie"})
        roads, wins = project_roads(read_results(_RESULTS)), (won,) * len(_RESULTS)
        shoe = replace(shoe, cards=340, roads=roads, side_wins=wins)
    return replace(state, rulebook=rules, shoe=shoe)
