"""Wagers of which the house keeps less than the floor, and those that a person has confirmed."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from events.toml_form import FileFault
from table_core.odds.house_edge import house_edges
from table_core.rulebook_check.published import PUBLISHED
from table_core.rules.rulebook import Bet, Rulebook

__all__ = ["edge_faults", "spoken_edge"]


def edge_faults(rulebook: Rulebook) -> Iterator[FileFault]:
    """Yield the offered wagers below `edge.floor` without a confirmation, and false confirmations.

    Rounding is not part of an edge: it holds for stakes of which all payouts and commissions are
    whole units. Rounding up and commission down only take away from it.
    """
    edges, rules = house_edges(rulebook), rulebook.edge
    confirmed: set[str] = set()
    for index, each in enumerate(rules.confirmed):
        where = f"edge.confirmed[{index}]"
        if each.bet not in edges:
            right = f"name one of {', '.join(edges)}"
            yield FileFault.of(f"{where}.bet", "unknown_wager", f"no {each.bet!r:.40}", right)
        elif each.bet in confirmed:
            text = f"{each.bet} is confirmed twice"
            yield FileFault.of(f"{where}.bet", "named_twice", text, "confirm each bet once")
        elif each.edge != edges[each.bet]:
            text = f"the house keeps {spoken_edge(edges[each.bet])} of {each.bet}, not {each.edge}"
            right = f'write edge = "{edges[each.bet]}" where that is meant'
            yield FileFault.of(f"{where}.edge", "edge_not_confirmed", text, right)
        confirmed.add(each.bet)
    for bet in rulebook.bets.values():
        if bet.offered and edges[bet.id] < rules.floor and bet.id not in confirmed:
            yield _below(bet, edges, rules.floor)


def _below(bet: Bet, edges: Mapping[str, Fraction], floor: Fraction) -> FileFault:
    edge = edges[bet.id]
    published = "; ".join(row.source for row in PUBLISHED.get(bet.id, ()))
    right = (
        f"pay less{f' ({published})' if published else ''}, or confirm it in a file of form 2: "
        f'[[edge.confirmed]] bet = "{bet.id}", edge = "{edge}", by = "NAME"'
    )
    text = f"the house keeps {spoken_edge(edge)}, below the floor of {spoken_edge(floor)}"
    return FileFault.of(f"bets.{bet.id}.pays", "edge_below_floor", text, right)


def spoken_edge(edge: Fraction) -> str:
    """Return an edge in per cent, with two decimals."""
    return f"{float(edge * 100):.2f} %"
