"""The pages of alarms as a person follows them: what each says to press and to type."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from events.commands.registry import COMMANDS

PAGES: Final = {
    page.stem: page for page in Path("docs/alarms").glob("*/*.md") if page.stem != "README"
}
_STATIC: Final = Path("displays/static")
_WORDS: Final = json.loads((_STATIC / "words/en.json").read_text("utf-8"))
_BUTTONS: Final = (_STATIC / "js/command_buttons.js").read_text("utf-8")
_KEYS: Final = {
    key: name for name, key in re.findall(r'\["(\w+)", \{.*?\bkey: "(\w)"', _BUTTONS)
} | {"V": "void_coup"}
_LABELS: Final = {_WORDS.get(f"command.{name}"): name for name in COMMANDS}


def part(name: str, heading: str) -> str:
    """Return the text of one part of a page, such as `Mitigation`."""
    return PAGES[name].read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0].strip()


def pressed(name: str) -> set[str]:
    """Return the table's commands that a page says to press, and those of pages it leads to."""
    text = part(name, "Mitigation")
    followed = re.findall(r"(?:^|\. )(?:- |\d\. )?Follow \[(\w+)\]", text)
    found = {_KEYS[key] for key in re.findall(r"\(`(\w)`\)", text)}
    found |= {_LABELS[label] for label in re.findall(r"\*([^*\n]+)\*", text) if label in _LABELS}
    found |= {word for word in re.findall(r"`(\w+)`", text) if word in COMMANDS}
    if re.search("acknowledge", text + part(name, "Clears when"), re.IGNORECASE):
        found.add("acknowledge_alarm")
    return found.union(*map(pressed, followed))


def typed(name: str, headings: Iterable[str] = ("Diagnosis", "Mitigation")) -> list[str]:
    """Return the commands for a shell that a page shows, for table `b7`, in their order."""
    text = "\n".join(part(name, heading) for heading in headings).replace("TABLE", "b7")
    starts = r"(?:baccarat|systemctl|timedatectl|df|du|journalctl|curl|smartctl)"
    return re.findall(rf"`({starts} [^`]+|timedatectl)`", text)


class Stands(Protocol):
    """Something that breaks, with a method for each step."""

    @property
    def standing(self) -> set[str]:
        """The alarms of now."""
        ...


def follow(row: str, of: Stands) -> tuple[set[str], set[str]]:
    """Break something and do what its page says; what stands after either.

    Args:
        row: `STEP; STEP -> STEP`; a step is a method with its arguments, such as `11 x beat 3`.
        of: has the methods.
    """
    found = []
    for half in row.split(" -> "):
        for step in half.split("; "):
            times, _, call = step.strip().rpartition(" x ")
            word, _, given = call.partition(" ")
            for _ in range(int(times or 1)):
                getattr(of, word)(*json.loads(f"[{given}]"))
        found.append(of.standing)
    broken, mended = found
    return broken, mended


def release_by_page(name: str, config: Path, origin: str) -> list[str]:
    """Return the words of the command by which a page has a named person release a table's feed."""
    followed = re.findall(r"Follow \[(\w+)\]", part(name, "Mitigation"))
    shown = [
        command
        for page in (name, *followed)
        for command in typed(page, ("Mitigation", "Clears when"))
        if command.startswith("baccarat property release")
    ]
    words = shown[0].replace("SITE/b7", origin).replace("property.toml", str(config)).split()
    return words[1:]
