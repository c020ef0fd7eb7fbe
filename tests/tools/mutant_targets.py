"""Which files are mutated, and which tests must notice.

The tests of a target stand in the order in which they are run, what is nearest and cheapest first.
"""

from typing import Final, NamedTuple


class Target(NamedTuple):
    """Files that the same tests look after.

    Args:
        name: of it, to choose it by.
        files: from the root.
        tests: files under `tests/unit`, without `test_` and `.py`.
        swept: whether all of its mutants were tried once, and those that survive are listed. One
            that was not swept yet is tried only where it is named.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    swept: bool = True

    @property
    def test_files(self) -> tuple[str, ...]:
        """The tests' paths from the root."""
        parted = (name.rpartition("/") for name in self.tests)
        return tuple(f"tests/unit/{folder}/test_{file}.py" for folder, _, file in parted)


_CARDS: Final = (
    "table_core/hands_in_shoes",
    "table_core/decide/shoe_reports",
    "table_core/commands_and_reports",
    "table_core/irregular_cards",
    "table_core/irregular_excess",
    "table_core/irregularities",
    "table_core/before_reveal",
    "table_core/two_phases",
    "table_core/replaced_shoe",
    "table_core/shoe_life",
    "table_core/every_card",
    "table_core/corrections/settled_coups",
    "table_core/corrections/in_progress",
    "table_core/corrections/refused",
    "table_core/leftovers",
)

TARGETS: Final = (
    Target(
        "draw table",
        ("table_core/rules/draw.py",),
        (
            "table_core/rules/draw",
            "table_core/rules/wagers",
            "table_core/rules/settlement",
            "table_core/decide/shoe_reports",
            "table_core/commands_and_reports",
        ),
    ),
    Target(
        "wagers",
        ("table_core/rules/wagers.py",),
        (
            "table_core/rules/wagers",
            "table_core/rules/settlement",
            "table_core/rules/rulebook",
            "table_core/rules/wager_checks",
        ),
    ),
    Target(
        "settlement",
        (
            "table_core/rules/settlement.py",
            "table_core/rules/commission_owed.py",
        ),
        (
            "table_core/rules/settlement",
            "table_core/rules/commission_owed",
            "table_core/two_phases",
            "events/types/wagers",
            "table_core/corrections/commission",
        ),
    ),
    Target(
        "cards and money",
        ("events/cards.py", "events/money.py"),
        (
            "events/cards",
            "events/amounts",
            "table_core/rules/rulebook",
            "table_core/rules/settlement",
            "table_core/rules/draw",
            "table_core/rules/wager_checks",
        ),
    ),
    Target(
        "rulebooks",
        tuple(
            f"table_core/rulebooks/{name}.2.toml"
            for name in (
                "au-commission",
                "au-even-money",
                "extras",
                "ez",
                "mini-lucky8",
                "nz-scale-one",
                "nz-scale-two",
            )
        ),
        (
            "table_core/rules/rulebook",
            "table_core/rules/settlement",
            "table_core/rules/wagers",
            "table_core/rules/wager_checks",
            "table_core/projections/sign",
            "table_core/rules/rules_page",
            "table_core/odds/exact",
        ),
        swept=False,
    ),
    Target(
        "chain",
        ("events/proof/chain.py",),
        (
            "events/proof/chain",
            "events/log/store",
            "events/log/verify",
            "events/log/newest_anchor",
        ),
    ),
    Target(
        "tree",
        ("events/proof/merkle.py",),
        (
            "events/proof/merkle",
            "events/proof/chain",
            "events/log/store",
            "events/log/verify",
            "events/log/newest_anchor",
        ),
    ),
    Target(
        "framers",
        tuple(
            f"shoe_driver/{name}.py"
            for name in (
                "framing/registry",
                "framing/checks",
                "framing/chunks",
                "framing/delimited",
                "framing/loose",
                "framing/line",
                "framing/frames",
            )
        ),
        (
            "shoe_driver/framing/frames",
            "shoe_driver/framing/every_framer",
            "shoe_driver/framing/cobs",
            "shoe_driver/framing/line",
            "shoe_driver/decode",
            "shoe_driver/decode_ref",
            "shoe_driver/decode_text",
            "shoe_driver/profiles/profile",
        ),
    ),
    Target(
        "coup",
        ("table_core/state/coup.py",),
        (
            "table_core/state/coup",
            "table_core/decide/dispatch",
            "table_core/decide/shoe_reports",
            "table_core/commands_and_reports",
            "table_core/corrections/settled_coups",
        ),
    ),
    Target(
        "fold",
        ("table_core/fold/dispatch.py", "table_core/fold/common.py"),
        (
            "table_core/fold/dispatch",
            "table_core/fold/folded",
            *_CARDS,
            "table_core/state/coup",
            "table_core/decide/dispatch",
            "table_core/corrections/of_wagers",
            "table_core/corrections/of_rulebooks",
            "events/types/wagers",
            "table_core/rules/wager_totals",
            "table_core/rules/commission_owed",
            "events/types/chips",
        ),
    ),
    Target(
        "fold of cards",
        ("table_core/fold/cards.py",),
        ("table_core/fold/dispatch", "table_core/fold/folded", *_CARDS),
    ),
    Target(
        "fold of chips",
        ("table_core/fold/chips.py",),
        ("table_core/fold/dispatch", "events/types/chips"),
    ),
    Target(
        "fold of corrections",
        ("table_core/fold/corrections.py",),
        (
            "table_core/fold/corrections",
            "table_core/corrections/settled_coups",
            "table_core/corrections/in_progress",
            "table_core/corrections/refused",
            "table_core/corrections/of_wagers",
            "table_core/corrections/of_rulebooks",
            "table_core/corrections/recalled",
            "table_core/every_card",
            "table_core/fold/dispatch",
        ),
    ),
    Target(
        "fold of shoes",
        ("table_core/fold/shoe.py",),
        ("table_core/fold/dispatch", "table_core/fold/folded", *_CARDS),
    ),
    Target(
        "judging",
        ("table_core/decide/coup_resolution.py", "table_core/state/dealing.py"),
        ("table_core/decide/coup_resolution", "table_core/state/dealing", *_CARDS),
    ),
    Target(
        "decide",
        (
            "table_core/decide/coup.py",
            "table_core/decide/dispatch.py",
            "table_core/decide/staff.py",
        ),
        (
            "table_core/decide/dispatch",
            "table_core/decide/available_commands",
            "table_core/commands_and_reports",
            "events/types/wagers",
            "table_core/rules/wager_checks",
            "table_core/rules/coup_capacity",
            "table_core/shoe_life",
            "table_core/two_phases",
            "table_core/rules/commission_owed",
            "events/types/chips",
            "table_core/irregularities",
        ),
    ),
    Target(
        "sums of wagers",
        ("table_core/rules/wager_totals.py",),
        (
            "table_core/rules/wager_totals",
            "table_core/fold/dispatch",
            "table_core/rules/coup_capacity",
            "table_core/rules/wager_checks",
            "events/types/wagers",
        ),
    ),
)
"""In the order in which they are tried."""
