"""Checks a whole rulebook: every fault at once, each with its place and what would be right.

`read_rulebook` finds what is wrong with single keys; here is what is wrong with rules that can be
read. Where a key is faulty, faults that follow from it are left out.
"""

from collections.abc import Iterator
from fractions import Fraction

from events.toml_form import FileFault
from table_core.odds.house_edge import house_edges
from table_core.rulebook_check.contradictions import contradictions
from table_core.rulebook_check.edges import edge_faults
from table_core.rulebook_check.published import published_faults
from table_core.rulebook_check.sign_lines import sign_faults
from table_core.rules.rulebook import Bet, Rulebook
from table_core.rules.rulebook_fault import without_consequences
from table_core.rules.rulebook_file import read_rulebook

__all__ = ["check_file", "check_rulebook"]


def check_rulebook(rulebook: Rulebook) -> tuple[FileFault, ...]:
    """Return the faults of a rulebook, those of the money first."""
    return tuple(_faults(rulebook))


def check_file(
    name: str, source: bytes
) -> tuple[Rulebook, tuple[FileFault, ...], dict[str, Fraction]]:
    """Return the rulebook of a file, all faults, and the edges of its wagers.

    A rulebook with faults is only as much of it as can be read; nothing plays by it. Edges are
    those of wagers whose own keys can be read.

    Raises:
        ConfigError: the file is not TOML.
    """
    rulebook, faults = read_rulebook(name, source)
    found = (*faults, *without_consequences(_faults(rulebook), faults))
    places = [fault.where for fault in faults]
    edges = {
        bet: edge
        for bet, edge in house_edges(rulebook).items()
        if not any(_decides_edge(where, rulebook.bets[bet]) for where in places)
    }
    return rulebook, found, edges


def _decides_edge(where: str, bet: Bet) -> bool:
    """Return whether the edge of a bet depends on the key of a fault."""
    keys = ("decks", f"bets.{bet.id}.", *(["commission"] if bet.commission else []))
    return where.startswith(keys) or where == f"bets.{bet.id}"


def _faults(rulebook: Rulebook) -> Iterator[FileFault]:
    yield from edge_faults(rulebook)
    yield from published_faults(rulebook)
    yield from contradictions(rulebook)
    yield from sign_faults(rulebook)
