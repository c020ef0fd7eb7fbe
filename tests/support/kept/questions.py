"""What a build is asked about the files of a story, each a command of the command line."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from events.cards import Card
from simulators.device.deck import shuffled
from simulators.device.printed_rules import next_place
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook import Rulebook
from tests.support.kept.stories import LEDGER, LOG, answer_to, events_of

NOTES: Final = "checkpoints.txt"
COSIGNED: Final = "cosigned.txt"
CASES: Final = "cases.jsonl"

_PROVED: Final = 2  # coups of a log whose evidence is kept
_MANY: Final = 18  # ... of which every other one is told
_TOLD: Final = 3  # ... that are told as text as well
_COUNTED: Final = ("au-commission", "ez", "mini-lucky8")  # exact odds take a while
_DEALS: Final = 24  # of each rulebook


class Question(NamedTuple):
    """A command.

    Args:
        argv: behind `baccarat`.
        stdin: the file that it reads.
        long: its answer is as long as the log itself.
        unsaid: stderr names the build, or its size.
    """

    argv: tuple[str, ...]
    stdin: str | None = None
    long: bool = False
    unsaid: bool = False


def _ask(*argv: str, **how: Any) -> Question:
    return Question(argv, **how)


def _both(*argv: str) -> Iterator[Question]:
    yield _ask(*argv)
    yield _ask(*argv, "--json")


def questions(folder: Path) -> Iterator[Question]:
    """All of them, about the files that are there; the evidence that is kept comes to be here."""
    rules = [
        word for path in sorted(folder.glob("rules-*.toml")) for word in ("--rulebook", path.name)
    ]
    yield from _verified(folder)
    yield _ask("log", "stats", LOG, "--json")
    yield _ask("log", "show", LOG, long=True)
    yield _ask("log", "show", LOG, "--json", long=True)
    yield from _replayed(folder, rules)
    yield from _proved(folder, rules)
    journals = sorted(path.name for path in folder.glob("*.journal"))
    for files in [[journal] for journal in journals] + [journals] * (len(journals) > 1):
        profile = f"{files[0].split('.')[1]}.toml"  # as it was, whatever is shipped by now
        yield from _both("shoe", "decode", "--profile", profile, *files)
    if (folder / LEDGER).exists():
        yield from _booked(folder)


def _keys(folder: Path) -> list[str]:
    """The log's public keys, of which one may have followed another."""
    return [word for path in sorted(folder.glob("key*.pub")) for word in ("--key", path.name)]


def _verified(folder: Path) -> Iterator[Question]:
    keys = _keys(folder)
    yield from _both("log", "verify", LOG)
    yield from _both("log", "verify", LOG, *keys, "--checkpoint", NOTES)
    yield _ask("log", "verify", LOG, "--key", "stranger.pub", "--checkpoint", NOTES, "--json")
    for key in ("witness.pub", "stranger-witness.pub"):
        cosigned = ("--checkpoint", COSIGNED, "--witness", key)
        yield _ask("log", "verify", LOG, *keys, *cosigned, "--json")
    yield _ask("log", "backup", LOG, "anew-copy.sqlite")
    yield _ask("log", "verify", "anew-copy.sqlite", "--json")
    if (folder / "archive").exists():
        yield _ask("log", "verify", LOG, "--alone", "--json")


def _replayed(folder: Path, rules: list[str]) -> Iterator[Question]:
    yield from _both("replay", LOG)
    events = list(events_of(folder))
    end = len(events)
    for position in sorted({1, end // 3, 2 * end // 3, end}):
        yield _ask("replay", LOG, "--at", str(position), *rules, "--json")
    yield _ask("replay", LOG, "--at", events[end // 2]["at"], *rules)
    coups = coups_of(folder)
    few = coups if len(coups) < _MANY else coups[::2]
    for told, coup in enumerate(few, start=1):
        yield _ask("replay", LOG, "--coup", coup, *rules, "--json")
        if told <= _TOLD:
            yield _ask("replay", LOG, "--coup", coup, *rules)
            yield _ask("log", "show", LOG, "--coup", coup)
    dealt = [each for each in events if each["type"] == "card_dealt" and each["data"].get("card")]
    for each in dealt[2:24:7]:
        face = "7C" if each["data"]["card"] != "7C" else "4H"
        yield _ask("replay", LOG, "--what-if", f"{each['position']}={face}", *rules, "--json")


def coups_of(folder: Path) -> list[str]:
    """Every coup of the log."""
    listed = json.loads(answer_to(folder, ["replay", LOG, "--json"]).out)
    return [each["coup"] for each in listed["coups"]]


def _proved(folder: Path, rules: list[str]) -> Iterator[Question]:
    coups, keys, kept = coups_of(folder), _keys(folder), 0
    for coup in dict.fromkeys((*coups[::7], *coups)):
        name, anew = f"evidence-{kept + 1}.json", f"anew-{kept + 1}.json"
        if kept == _PROVED:
            break
        if answer_to(folder, ["evidence", LOG, "--coup", coup, *rules, "-o", name]).code == 0:
            kept += 1
            yield from _both("evidence", "verify", name, *keys)
            yield _ask("evidence", "verify", name, "--key", "stranger.pub", "--json")
            yield _ask("evidence", LOG, "--coup", coup, *rules, "-o", anew, unsaid=True)
            yield _ask("evidence", "verify", anew, *keys, "--json")


def _booked(folder: Path) -> Iterator[Question]:
    ledger = ("--ledger", LEDGER)
    odds = [word for path in sorted(folder.glob("odds-*.json")) for word in ("--odds", path.name)]
    yield from _both("cage", "reconcile", LOG, *ledger)
    yield from _both("cage", "balance", *ledger)
    for by in ("shoe", "day", "seat", "bet"):
        yield _ask("cage", "balance", *ledger, "--by", by, "--json")
    yield from _both("cage", "statement", *ledger)
    yield _ask("cage", "export", *ledger, "--csv")
    yield _ask("cage", "report", *ledger, "--by", "shoe", *odds, "--json")
    yield from _both("cage", "report", *ledger, "--by", "day", *odds)
    for what in ("totals", "patrons", "floats"):
        yield _ask("cage", "report", *ledger, "--by", "day", *odds, "--csv", what)


# ---- judgements that need no log ----


def judgements(folder: Path) -> Iterator[Question]:
    """Rulebooks and wire profiles as they are shipped, exact odds, settlements, roads."""
    for name in shipped_ids():
        file = f"./{name}.toml"  # as it was, whatever is shipped by now
        yield from _both("rulebook", "show", file)
        if name in _COUNTED:
            yield _ask("odds", "--rulebook", file, "--json")
        yield from _both(*_settle(load_rulebook(name), file))
    for profile in sorted(folder.glob("*.toml")):
        if profile.stem not in shipped_ids():
            yield _ask("shoe", "profiles", "--check", profile.name, "--json")
    yield _ask("settle", "--batch", "--json", stdin=CASES)
    results = "BPPTBBPBTTPPPBPBBBBTPBPPBBPTBPPPPPBBPBPTTTBBBBPPBPBPBB"
    yield from _both("roads", results)


def _deal(seed: str) -> list[str]:
    taken: list[Card] = []
    for card in shuffled(seed):
        if next_place(taken) is None:
            break
        taken.append(card)
    return [card.value for card in taken]


def _settle(book: Rulebook, file: str) -> Iterable[str]:
    cards = _deal(f"{book.id}/one")
    wagers = [
        f"{seat}:{bet}={400 * book.unit * seat}" for seat, bet in enumerate(book.bets, start=1)
    ]
    yield from ("settle", "--rulebook", file, "--cards", ",".join(cards))
    for wager in wagers:
        yield from ("--wager", wager)


def case_lines() -> Iterator[str]:
    """Deals under every rulebook with a wager on each of its bets; and what is no coup."""
    for name in shipped_ids():
        book = load_rulebook(name)
        for number in range(_DEALS):
            cards = _deal(f"{name}/{number}")
            wagers = [
                {
                    "id": f"w{seat}",
                    "seat": seat,
                    "bet": bet,
                    "stake": (37 * seat + number) * book.unit,
                }
                for seat, bet in enumerate(book.bets, start=1)
            ]
            yield json.dumps(
                {"case": f"{name}-{number}", "rules": name, "cards": cards, "wagers": wagers}
            )
        yield json.dumps({"case": f"{name}-odd", "rules": name, "cards": cards, "wagers": [
            {"id": "a", "seat": 1, "bet": "nothing", "stake": 1},
            {"id": "b", "seat": 1, "bet": "player", "stake": 0},
            {"id": "c", "seat": 1, "bet": "player", "stake": 100 * book.unit},
            {"id": "d", "seat": 1, "bet": "banker", "stake": 100 * book.unit},
            {"id": "e", "seat": 1, "bet": "player", "stake": 100 * book.unit},
        ]})  # fmt: skip
    for number, cards in enumerate((["9S"], [*_deal("x"), "2C", "2D", "2H"], ["1Z"], ["9S"] * 9)):
        yield json.dumps({"case": number, "rules": shipped_ids()[0], "cards": cards, "wagers": []})
    yield json.dumps({"case": "no rules", "rules": "none", "cards": ["9S"], "wagers": []})
