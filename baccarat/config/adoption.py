"""Whether a table would adopt the rulebook of its configuration, and what it lacks."""

from pathlib import Path
from typing import NamedTuple

from baccarat.config.form import TableConfig
from baccarat.rulebooks.library import named_rulebook
from events.errors import TableError
from events.log.reader import reading
from events.toml_form import FileFault
from events.types import BettingOpened, RulebookAdopted, decode_data, decode_envelope
from table_core.rulebook_check.check import check_rulebook

__all__ = ["Adoption", "adoption_of", "rulebook_in_force"]

_CITES = {kind.TYPE: kind for kind in (RulebookAdopted, BettingOpened)}


class Adoption(NamedTuple):
    """What becomes of the configured rulebook at the next start.

    Args:
        rulebook: its id.
        faults: what `check_rulebook` finds; a rulebook that has some is not adopted.
        in_force: whether the log cites this very file already; then it plays on, with an alarm.
    """

    rulebook: str
    faults: tuple[FileFault, ...]
    in_force: bool

    @property
    def refused(self) -> bool:
        """Whether the table would not start by it."""
        return bool(self.faults) and not self.in_force


def adoption_of(config: TableConfig) -> Adoption:
    """Return what would become of the configuration's rulebook.

    Raises:
        InputError: it cannot be read; `load_config` says so first.
    """
    rulebook = named_rulebook(config.rulebook_name)
    faults = check_rulebook(rulebook)
    in_force = bool(faults) and rulebook_in_force(config.log_path) == rulebook.hash
    return Adoption(rulebook.id, faults, in_force)


def rulebook_in_force(log: Path) -> str | None:
    """Return the hash of the rulebook that a log cited last; None where it cites none."""
    try:
        with reading(log) as opened:
            for position in range(opened.end, 0, -1):
                found = opened.at(position)
                if found is None:
                    return None
                envelope = decode_envelope(found[0])
                if envelope.type in _CITES:
                    event = decode_data(envelope)
                    if isinstance(event, RulebookAdopted | BettingOpened):
                        return event.rulebook_hash
    except TableError:
        return None
    return None
