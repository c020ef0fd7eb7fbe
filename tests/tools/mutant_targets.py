"""Which files are mutated, and which tests must notice.

The tests of a target stand in the order in which they are run, what is nearest and cheapest first.
"""

from typing import Final, NamedTuple

__all__ = ["TARGETS", "Target"]


class Target(NamedTuple):
    """Files that the same tests look after.

    Args:
        name: of it, to choose it by.
        files: from the root.
        tests: names under `tests/unit`, without `test_` and `.py`.
        swept: whether all of its mutants were tried once, and those that survive are listed. One
            that was not swept yet is tried only where it is named.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    swept: bool = True


_CARDS: Final = (
    "hands_in_shoes",
    "hear_coups",
    "hear",
    "table",
    "irregular_cards",
    "irregular_excess",
    "hear_excess",
    "irregularities",
    "before_reveal",
    "two_phases",
    "replaced_shoe",
    "shoe_life",
    "every_card",
    "corrections",
    "corrections_in_progress",
    "corrections_refused",
    "leftovers",
)

TARGETS: Final = (
    Target(
        "draw table", ("table_core/rules/draw.py",), ("draw", "settlement", "hear_coups", "table")
    ),
    Target("outcome", ("table_core/rules/outcome.py",), ("settlement", "wagers", "draw")),
    Target(
        "wagers", ("table_core/rules/wagers.py",), ("wagers", "settlement", "rulebook", "placement")
    ),
    Target(
        "settlement",
        ("table_core/rules/settlement.py",),
        ("settlement", "commission", "two_phases", "wagering", "corrections_commission"),
    ),
    Target(
        "cards and money",
        ("events/cards.py", "events/money.py"),
        ("cards", "amounts", "rulebook", "settlement", "draw", "placement"),
    ),
    Target(
        "rulebooks",
        tuple(
            f"table_core/rulebooks/{name}.toml"
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
        ("rulebook", "settlement", "wagers", "placement", "sign", "rules_page", "odds"),
        swept=False,
    ),
    Target("chain", ("events/proof/chain.py",), ("chain", "log", "verify_checkpoints", "books")),
    Target(
        "tree",
        ("events/proof/merkle.py",),
        ("tree", "chain", "log", "verify_checkpoints", "books"),
    ),
    Target(
        "framers",
        tuple(
            f"shoe_driver/{name}.py"
            for name in (
                "framing",
                "framers/checks",
                "framers/cobs",
                "framers/enq",
                "framers/line",
                "framers/pieces",
            )
        ),
        (
            "framing",
            "framing_cobs",
            "framing_line",
            "decode",
            "decode_ref",
            "decode_text",
            "profile",
        ),
    ),
    Target(
        "coup",
        ("table_core/state/coup.py",),
        ("coup", "decide", "hear", "table", "hear_coups", "corrections"),
    ),
    Target(
        "fold",
        ("table_core/fold/dispatch.py", "table_core/fold/parts.py"),
        (
            "fold",
            "fold_parts",
            "folded",
            *_CARDS,
            "coup",
            "decide",
            "corrections_of_wagers",
            "corrections_of_rulebooks",
            "wagering",
            "standing",
            "commission",
            "chips",
        ),
    ),
    Target("fold of cards", ("table_core/fold/cards.py",), ("fold", "folded", *_CARDS)),
    Target("fold of chips", ("table_core/fold/chips.py",), ("fold", "chips")),
    Target(
        "fold of corrections",
        ("table_core/fold/corrections.py",),
        (
            "fold_correction",
            "corrections",
            "corrections_in_progress",
            "corrections_refused",
            "corrections_of_wagers",
            "corrections_of_rulebooks",
            "corrections_recalled",
            "every_card",
            "fold",
        ),
    ),
    Target(
        "fold of shoes",
        ("table_core/fold/shoe.py",),
        ("fold_shoes", "fold", "folded", *_CARDS),
    ),
    Target(
        "judging",
        ("table_core/decide/coup_resolution.py", "table_core/state/dealing.py"),
        ("judging", "dealing", *_CARDS),
    ),
    Target(
        "decide",
        (
            "table_core/decide/coup.py",
            "table_core/decide/dispatch.py",
            "table_core/decide/staff.py",
        ),
        (
            "decide_play",
            "decide",
            "table",
            "wagering",
            "placement",
            "bounds",
            "shoe_life",
            "two_phases",
            "commission",
            "chips",
            "irregularities",
        ),
    ),
    Target(
        "sums of wagers",
        ("table_core/rules/wager_totals.py",),
        ("standing", "fold", "bounds", "placement", "wagering"),
    ),
)
"""In the order in which they are tried."""
