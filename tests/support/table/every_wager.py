"""A house's own rulebook that offers every kind of wager: whoever adds a kind has it in here."""

from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.wagers import BET_KINDS


def every_wager_source(variant: int = 0, *, phases: bool = False) -> bytes:
    """The rulebook's file: each kind, with all of its categories.

    Args:
        variant: of wagers that have some, the so-manieth.
        phases: those that the initial deal decides are settled after it.
    """
    parts = [
        'form = 2\nid = "all"\ntitle = "all"\ndecks = 8\nunit = 5\n',
        'currency = "AUD"\ndecimals = 2\n',
        '[edge]\nfloor = "-1000"\n',
        '[commission]\nrate = "1/20"\ntiming = "deduct"\nblock = 100\n',
    ]
    for number, (bet, kind) in enumerate(BET_KINDS.items(), start=3):
        early = phases and kind.initial
        categories = [*kind.categories][::-1]  # the better pays more
        pays = [f'{name} = "{number * 7 + 2 * i}/4"' for i, name in enumerate(categories)]
        pushes = bet in ("player", "banker") or (number % 3 > 0 and not early)
        pays += ['push = "push"'] * pushes
        parts.append(f"[bets.{bet}]\nown_odds = true\npays = {{ {', '.join(pays)} }}\n")
        names = [name for name in kind.judges if name]
        parts += [f'variant = "{names[variant % len(names)]}"\n'] if names else []
        parts += ["commission = true\n"] if number % 4 == 0 else []
        parts += ["phase = 1\n"] if early else []
    return "".join(parts).encode()


def every_wager(variant: int = 0, *, phases: bool = False) -> Rulebook:
    """The same, compiled."""
    return parse_rulebook("all.toml", every_wager_source(variant, phases=phases))
