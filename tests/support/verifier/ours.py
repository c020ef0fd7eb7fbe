"""What our own implementation says to the questions that the second verifier is asked."""

from typing import Any

import msgspec

from events.cards import parse_card
from events.errors import InputError
from events.proof.keys import read_verifier_key
from events.types.table import Wager
from table_core.evidence.bundle import verify_evidence
from table_core.rules.draw import Outcome, deal_cards
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.settlement import settle_with_caps
from tests.support.table.deals import trimmed
from tests.support.verifier.second import Question


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


def agrees(answer: dict[str, Any], data: bytes, key: str) -> bool:
    """Report whether both verifiers say the same of a file of evidence.

    The second one also refuses a file from which a settlement's commission was left out; ours takes
    payments of commission for whole when they are not, because one can be for several coups.
    """
    said, found = ours(data, key), theirs(answer)
    return found == said or (said == (0, None) and found == (1, "events"))


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
