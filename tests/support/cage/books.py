"""Rulebooks for tests: a shipped file with something in it changed."""

import re

from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook


def source(rulebook_id: str, *changes: str) -> str:
    """A shipped file's text with keys set, in place or added.

    `unit=25` stands at the top, `rounding.payout=down` and `bets.tiger.step=5` in their sections,
    `bets.tiger.pays.push=push` in the inline table `pays`. With `form=1` it says no decimals.
    """
    text = shipped_source(rulebook_id).decode()
    if "form=1" in changes:
        text = re.sub(r"(?m)^decimals = .*\n", "", text)
    for change in changes:
        path, _, value = change.partition("=")
        section, _, key = path.rpartition(".")
        plain = value.isdecimal() or value in {"true", "false"}
        text = _set(text, section, key, value if plain else f'"{value}"')
    return text


def book(rulebook_id: str, *changes: str) -> Rulebook:
    """A shipped rulebook, changed as `source` says."""
    return parse_rulebook(f"{rulebook_id}.toml", source(rulebook_id, *changes).encode())


def _set(text: str, section: str, key: str, written: str) -> str:
    parts = re.split(r"(?m)^(?=\[)", text)
    headers = {"": "", "caps": "[[caps]]"}
    inline = section.endswith(".pays")
    header = headers.get(section, f"[{section.removesuffix('.pays')}]")
    for index, part in enumerate(parts):
        if (not header and index == 0) or (header and part.startswith(f"{header}\n")):
            parts[index] = _set_in(part, header, key, written, inline=inline)
            return "".join(parts)
    return f"{text}\n{header}\n{key} = {written}\n"


def _set_in(part: str, header: str, key: str, written: str, *, inline: bool) -> str:
    if inline:
        return part.replace("pays = {", f"pays = {{ {key} = {written},", 1)
    changed, times = re.subn(rf"(?m)^{key} = .*$", f"{key} = {written}", part)
    if times:
        return changed
    return f"{header}\n{key} = {written}\n{part.removeprefix(header).lstrip()}"
