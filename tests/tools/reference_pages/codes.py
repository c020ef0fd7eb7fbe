"""The page of refusal codes: where the code is given, and what it says, from the source."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Final

from table_core.trust import bus_guard
from table_core.trust.bus_guard import _REASONS
from tests.house.sources import ROOT, sources
from tests.tools.reference_pages.markdown import table

_WORDS: Final = ROOT / "displays/static/words/en.json"
_ROOMS: Final = ("table_core", "displays", "baccarat.history")
# Function -> places of the code and of the text among its arguments.
_CALLS: Final = {
    "refuse": (0, 1),
    "_refuse": (0, 1),
    "_wrong_phase": (0, None),
    "refusal_answer": (1, 2),
    "first_refusal": (1, 2),
}
_CODE: Final = re.compile(r"[a-z]+(_[a-z]+)*\Z")
# Codes whose text is put together where it is needed, and codes that the source puts together.
_MEANINGS: Final = {
    "exists_with_different_<field>": "This transaction was accepted before with another `<field>`",
    "invalid_burn": "A burn has 0 to 52 cards",
    "invalid_consumer": "A consumer's name has 1 to 64 of a-z, 0-9, - and _",
    "invalid_dealer": "Name the dealer by the house's reference",
    "invalid_limit": "`limit` is out of its range",
    "invalid_patron": "A patron's reference is too long or empty",
    "invalid_request": "The body is not a request of this command; the answer's text names the key",
    "invalid_text": "A text holds a character that no text may hold, or is too long",
    "invalid_transaction": "A transaction has 1 to 128 characters",
    "no_preview": "This command has no preview",
    "not_a_delegate": "This user may not name an `actor`",
    "retained_request": "The message was retained; send requests without the retain flag",
    "seen_required": "Set `seen`: has the table seen the card's face?",
    "too_many_consumers": "Retire a consumer first",
    "too_many_replays": "Ask again later",
    "unknown_command": "There is no such command",
    "unknown_irregularity": "There is no irregularity of this kind",
    "unknown_position": "The log does not have that position",
}
_BUILT: Final = {"exists_with_different_<field>": "table_core.process.repeated_requests"}


def codes() -> str:
    """Every code with its meaning and the module that gives it."""
    screens = json.loads(_WORDS.read_text(encoding="utf-8"))
    rows = []
    for code, places in sorted(refusals().items()):
        said = screens.get(f"code.{code}") or next((text for _, text in places if text), "")
        said = _MEANINGS.get(code, said[:1].upper() + said[1:])
        links = sorted({module for module, _ in places})
        given = ", ".join(
            f"[{m.rpartition('.')[2]}](../../{m.replace('.', '/')}.py)" for m in links
        )
        rows.append((f"`{code}`", said, given))
    return table(("code", "meaning", "given by"), rows)


def refusals() -> dict[str, list[tuple[str, str]]]:
    """Each code of the source: the modules that give it, with the text where it is written out."""
    found = {code: [(module, "")] for code, module in _BUILT.items()}
    for code, text in _REASONS.items():
        found[code] = [(bus_guard.__name__, text.format(bus_guard.FRESH_S))]
    for source in sources():
        if source.is_product and source.module.startswith(_ROOMS):
            for code, text in _given(source.tree):
                found.setdefault(code, []).append((source.module, text))
    return found


def _given(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for code, text in _arguments(node):
                if isinstance(code, ast.Constant) and _CODE.match(str(code.value)):
                    yield str(code.value), _text(text)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple | ast.Constant):
            names = [getattr(each, "id", "") for each in _elements(node.targets[0])]
            if names[0] == "code":
                values = _elements(node.value)
                yield ast.literal_eval(values[0]), _text(values[1] if values[1:] else None)


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _arguments(node: ast.Call) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    named = {each.arg: each.value for each in node.keywords}
    if name in ("Refusal", "Answer") and "code" in named:
        yield named["code"], named.get("text")
    if name not in _CALLS:
        return
    first, second = _CALLS[name]
    rows = (
        [each.elts for each in node.args if isinstance(each, ast.Tuple)]
        if name == "first_refusal"
        else [node.args]
    )
    for row in rows:
        if len(row) > max(first, second or 0):
            yield row[first], None if second is None else row[second]


def _text(node: ast.expr | None) -> str:
    """Return a text as it is written, with `...` for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.values
        )
    return ""
