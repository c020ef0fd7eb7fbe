"""What a table's screens say of its rules: the texts, and the odds, counted once a rulebook."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from baccarat.rulebooks.editions import available_rulebooks
from displays.scoreboard.public_view import PublicRulebook
from events.errors import InputError
from events.structured_log import structlog
from table_core.odds.exact import BetOdds, exact_odds
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import full_shoe
from table_core.texts.page import RulesPage, rules_page
from table_core.texts.sentences import Sentence

__all__ = ["RulesInForce"]

_log: Final = structlog.get_logger()
_Known = tuple[Rulebook, Mapping[str, BetOdds]]


class RulesInForce:
    """Finds the rulebook that a table plays by, and says it.

    A thread reads the file and counts the odds, once for each hash; meanwhile the screens go on. A
    rulebook is found next to the table's log, among the files of the configuration, or among those
    that ship. A screens' server on a machine without it shows that it has none.

    Args:
        log: the table's log.
        names: the rulebooks of the configuration.
    """

    def __init__(self, log: Path, names: Sequence[str]) -> None:
        self._log, self._names = log, tuple(names)
        self._known: dict[str, asyncio.Future[_Known | None]] = {}

    async def __call__(self, view: PublicRulebook, words: Mapping[str, str]) -> RulesPage | None:
        """Return the page of the rulebook in force, with the table's own limits."""
        known = self._known.get(view.hash)
        if known is None:
            counting = asyncio.to_thread(self._count, view.hash)
            known = self._known[view.hash] = asyncio.ensure_future(counting)
        found = await asyncio.shield(known)
        if found is None:
            return None
        book, odds = found
        bets = {
            bet.id: replace(
                book.bets[bet.id], minimum=bet.minimum, maximum=bet.maximum, step=bet.step
            )
            for bet in view.bets
            if bet.id in book.bets
        }
        says = [Sentence(line.key, line.values) for line in view.says]
        return rules_page(replace(book, bets=MappingProxyType(bets)), odds, words, says=says)

    def _count(self, digest: str) -> _Known | None:
        try:
            book = available_rulebooks(self._log, self._names).books.get(digest)
        except InputError as error:
            _log.warning("rules.unreadable", reason=str(error))
            return None
        if book is None:
            _log.warning("rules.unknown", hash=digest)
            return None
        return book, exact_odds(book, full_shoe(book.decks))
