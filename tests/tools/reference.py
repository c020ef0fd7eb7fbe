"""`make reference`: write what is derived: of the documents, and the counts of full shoes.

Between `<!-- made: NAME -->` and `<!-- made: end -->` a document holds a table that is made here;
docs/reference/schema is what `baccarat schema` prints, and `table_core/odds/full_shoes.py` what is
counted. Tests compare them with what would be made now.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from baccarat.cli.schema import ASYNCAPI_FILE, BUNDLE_FILE, TYPES_FILE, document_text
from baccarat.contract.asyncapi import document
from baccarat.contract.schemas import bundle, known_types
from table_core.odds.house_edge import count_categories
from table_core.rules.rulebook_file import DECKS
from table_core.rules.wagers import BET_KINDS
from tests.house.sources import ROOT
from tests.tools.reference_pages import configuration, messages
from tests.tools.reference_pages.codes import codes
from tests.tools.reference_pages.command_line import command_line

_BLOCK: Final = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- made: end -->)", re.DOTALL)
_MADE: Final[dict[str, Callable[[], str]]] = {
    "codes": codes,
    "command_index": messages.command_index,
    "command_line": command_line,
    "commands": messages.commands,
    "event_index": messages.event_index,
    "events": messages.events,
    "lengths": messages.lengths,
    "property_keys": configuration.property_keys,
    "roles": messages.roles,
    "table_keys": configuration.table_keys,
    "topics": messages.topics,
}


def made_again(text: str) -> str:
    """A document with each made block as it would be made now."""
    return _BLOCK.sub(lambda block: f"{block[1]}{_MADE[block[2]]()}{block[3]}", text)


def full_shoe_rows() -> str:
    """The rows of `table_core.odds.full_shoes`, counted."""
    rows = []
    for bet, kind in BET_KINDS.items():
        for index, variant in enumerate(kind.judges):
            name = f"{bet}:{variant}" if index else bet
            found = [count_categories(bet, variant, decks) for decks in DECKS]
            for categories in sorted(set().union(*found)):
                deals = " ".join(str(each[categories]) for each in found)
                rows.append(f"{name} {'+'.join(categories)} {deals}")
    return "\n".join(rows)


def _main() -> None:
    counts = ROOT / "table_core" / "odds" / "full_shoes.py"
    before = counts.read_text(encoding="utf-8")
    head, _, _ = before.partition('= """\n')
    _, _, tail = before.rpartition('"""')
    _write(counts, f'{head}= """\n{full_shoe_rows()}\n"""{tail}')
    for path in sorted((ROOT / "docs").rglob("*.md")):
        _write(path, made_again(path.read_text(encoding="utf-8")))
    whole = {BUNDLE_FILE: bundle(), ASYNCAPI_FILE: document(), TYPES_FILE: known_types()}
    for name, made in whole.items():
        _write(ROOT / "docs/reference/schema" / name, document_text(made))


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"reference: {path.relative_to(ROOT)} written\n")


if __name__ == "__main__":
    _main()
