"""What our own implementation says to the questions that the second verifier is asked."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from events.cards import parse_card
from events.errors import InputError
from events.proof.keys import read_verifier_key
from events.types import Wager
from table_core.evidence.bundle import verify_evidence
from table_core.rules.draw import Outcome, deal_cards
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.settlement import settle_with_caps
from tests.support.table.deals import trimmed
from tests.support.verifier.second import Question, answers, random_coup, rulebook_texts


def ours(data: bytes, key: str) -> tuple[int, str | None]:
    """Return exit code and part of our own verdict."""
    try:
        verdict = verify_evidence(data, {read_verifier_key(key)})
    except InputError:
        return 2, None
    return (0 if verdict.ok else 1), verdict.part


def theirs(answer: dict[str, Any]) -> tuple[int, str | None]:
    """Return exit code and part of the second verifier's verdict."""
    return answer["code"], answer.get("part")


def as_json(value: object) -> Any:
    """Return a value as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def settled(question: Question) -> tuple[list[Any], list[Any]]:
    """Return the lines and the cuts of aggregate maxima that our own rules make."""
    rulebook = parse_rulebook("rulebook", question["rules"].encode("utf-8"))
    outcome = deal_cards(trimmed([parse_card(card) for card in question["cards"]]))
    assert isinstance(outcome, Outcome)
    placed = msgspec.convert(question["wagers"], list[Wager])
    lines, cuts = settle_with_caps(rulebook, outcome, placed)
    shares = [
        [{"wager": wager, "winnings": won, "paid": paid} for wager, won, paid in cut.shares]
        for cut in cuts
    ]
    return as_json(lines), shares


def random_coups(random: Random, names: Iterable[str], count: int) -> Iterator[Question]:
    """Draw so many coups for each of these rulebooks, by their files' names."""
    for name in names:
        text = rulebook_texts()[name]
        rulebook = parse_rulebook(name, text.encode("utf-8"))
        for _ in range(count):
            yield random_coup(random, sorted(rulebook.bets), rulebook.decks) | {"rules": text}


def paid_otherwise(coups: Sequence[Question], folder: Path) -> list[Question]:
    """Return the coups for which the second verifier has other lines or other cuts than we."""
    answered = answers(coups, folder)
    return [
        coup
        for coup, answer in zip(coups, answered, strict=True)
        if (answer["lines"], answer["capped"]) != settled(coup)
    ]
