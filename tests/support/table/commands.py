"""An example of each command, and which of them the table's state decides."""

from typing import Final

import msgspec
from msgspec.structs import replace

from baccarat.contract.samples import samples
from baccarat.contract.schemas import definitions
from events.commands import Command
from events.commands.registry import ROWS, Row

_SAMPLES: Final = samples(definitions())
_DECIDE: Final = "table_core.decide."

DECIDED: Final = tuple(row for row in ROWS if row.decider.value.startswith(_DECIDE))
"""The rows of the commands that change the table."""
BESIDE_PLAY: Final = tuple(row for row in ROWS if row not in DECIDED)
"""The rows of those that append nothing, and are answered beside the table's course."""


def example(row: Row) -> Command:
    """The contract's example of a command, from a user who speaks for himself, at any coup."""
    (sample,) = _SAMPLES[f"request.{row.name}"]
    return replace(msgspec.convert(sample, row.type), actor=None, during=None)
