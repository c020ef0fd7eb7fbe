"""What the documents show of a console: blocks, in their order, with the heading above each."""

import re
from textwrap import dedent
from typing import Final, NamedTuple

_PARTS: Final = re.compile(
    r"^#+ (?P<heading>[^\n]*)$|^ *```(?P<kind>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL
)


class Session(NamedTuple):
    """A command and what it prints; `...` is a line or lines that differ each time."""

    command: str
    shown: str


class Block(NamedTuple):
    """A fenced block of a page.

    Args:
        heading: the nearest one above it.
        kind: such as `console` or `toml`.
        text: without what indents it.
    """

    heading: str
    kind: str
    text: str

    @property
    def sessions(self) -> list[Session]:
        """The commands that are typed, in their order."""
        typed = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [Session(*each.partition("\n")[::2]) for each in typed]


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page."""
    found, heading = [], ""
    for part in _PARTS.finditer(page):
        if part["heading"] is not None:
            heading = part["heading"]
        else:
            found.append(Block(heading, part["kind"], dedent(part["text"])))
    return found


def sessions(page: str) -> list[Session]:
    """All commands that a page shows at a console."""
    return [each for block in blocks(page) if block.kind == "console" for each in block.sessions]
