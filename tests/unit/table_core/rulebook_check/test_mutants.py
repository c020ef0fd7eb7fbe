"""No change of a rulebook passes in silence: refused at its place, or seen where it should be."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import ConfigError
from events.toml_form import FileFault
from table_core.rulebook_check.check import check_file
from table_core.rulebooks.shipped import shipped_sources
from table_core.rules.rulebook import Rulebook
from tests.support.machine.seeds import seeded
from tests.support.table.rulebook_mutants import (
    Mutant,
    changed_outputs,
    dependency_of,
    mutants,
    together,
)

SAMPLE = 300
THOUSANDS = 3000
BAD_FILES = 200


def files() -> Mapping[str, str]:
    """Every shipped edition with an id of a site's own."""
    found = {}
    for source in shipped_sources():
        text = source.decode()
        (book, faults, _) = check_file("shipped", source)
        assert faults == ()
        found[f"{book.id}/{text.partition('form = ')[2][0]}"] = text.replace(
            f'id = "{book.id}"', 'id = "site"', 1
        )
    return found


FILES = files()
EVERY = [(name, mutant) for name, text in FILES.items() for mutant in mutants(text)]


def told_near(mutant: Mutant, faults: Iterable[FileFault], told: tuple[str, ...] = ()) -> bool:
    """Whether a fault lies at, above or below the key that was changed, or where else it may."""
    for fault in faults:
        place = re.sub(r"\[\d+\]", "", fault.where)
        if place.startswith((mutant.name, *told)) or mutant.name.startswith(place):
            return True
        if mutant.structural and mutant.name in place:
            return True
    return False


def objection(name: str, mutant: Mutant, before: Rulebook) -> str | None:
    """What is wrong with the outcome of a mutant; None where it is as the table says."""
    text = together(FILES[name], mutant)
    after, faults, _ = check_file("site.toml", text.encode())
    if mutant.structural:
        return None if told_near(mutant, faults) else f"told at {faults}"
    row = dependency_of(name, mutant.path)
    if faults:
        return None if told_near(mutant, faults, row.told) else f"told at {faults}"
    changed = changed_outputs(before, after)
    seen = changed - {"shown"}
    if changed and row.always is not None and row.always <= seen <= row.always | row.maybe:
        return None
    return f"is accepted, and changes {sorted(changed) or 'nothing'}"


def objections(chosen: Iterable[tuple[str, Mutant]]) -> list[str]:
    books = {name: check_file(name, text.encode())[0] for name, text in FILES.items()}
    found = []
    for name, mutant in chosen:
        if wrong := objection(name, mutant, books[name]):
            old = FILES[name][mutant.start : mutant.end]
            found.append(f"{name} {mutant.path}: {old} => {mutant.new}: {wrong}")
    return found


def test_there_are_thousands_of_changes_and_some_of_every_key() -> None:
    assert len(EVERY) > THOUSANDS
    assert {"bets.tie.pays.win", "rounding.payout", "caps.bets", "title", "decks"} < {
        mutant.path for _, mutant in EVERY
    }


@pytest.mark.sweep
def test_a_drawn_change_is_refused_or_changes_what_the_table_says() -> None:
    assert objections(seeded().sample(EVERY, SAMPLE)) == []


@pytest.mark.soak(computes=True)
def test_every_change_is_refused_or_changes_what_the_table_says() -> None:
    assert objections(EVERY) == []


# ---- several faults in one file ----

# Faults that no fault elsewhere in the file hides.
OWN = """
    edge_below_floor missing not_as_published not_odds unknown_category unknown_key unknown_variant
    unknown_wager wrong_type wrong_value
"""


def faulty_alone(name: str, mutant: Mutant) -> bool:
    """Whether a change is told at its own key by a fault that stands by itself."""
    text = together(FILES[name], mutant)
    faults = [fault for fault in check_file("x", text.encode())[1] if fault.code in OWN.split()]
    return told_near(mutant, faults)


def bad_files(rng: random.Random, most: int) -> Iterator[tuple[str, list[Mutant]]]:
    """Yield files with some faults, each in a section or a key of its own."""
    for _ in range(most):
        name = rng.choice(list(FILES))
        one_a_section: dict[str, Mutant] = {}
        for mutant in rng.sample([m for n, m in EVERY if n == name], 6):
            parts = mutant.path.partition("#")[0].split(".")
            section = ".".join(parts[: 2 if parts[0] == "bets" else 1])
            if section not in {"form", "decks", "unit"} and faulty_alone(name, mutant):
                one_a_section.setdefault(section, mutant)
        yield name, list(one_a_section.values())


@pytest.mark.sweep
def test_every_fault_of_a_bad_file_is_told_in_one_run_a_line_each() -> None:
    for name, chosen in bad_files(seeded(), BAD_FILES):
        text = together(FILES[name], *chosen)
        faults = check_file("site.toml", text.encode())[1]
        for mutant in chosen:
            assert told_near(mutant, faults), (name, mutant, faults)
        for fault in faults:
            assert all((fault.where, fault.code, fault.text, fault.remedy)), fault
            assert str(fault).isprintable(), fault


@given(st.sampled_from(list(FILES.values())), st.data())
def test_a_damaged_file_is_no_toml_or_has_faults_on_a_line_each(
    text: str, data: st.DataObject
) -> None:
    whole = text.encode()
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + 1 :]
    try:
        told = [*map(str, check_file("site.toml", damaged)[1])]
    except ConfigError as error:
        told = [str(error)]
    assert all("\n" not in line for line in told)
