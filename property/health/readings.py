"""What was read of a property's parts: uplinks, nodes, workers, disks, certificates. Pure.

A reading says what was found and never whether that is well: `property.health.verdict` judges all
of them together. Readings travel through the archive's database, so that whoever reads it knows
that hub, worker and database work.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

__all__ = ["ArchivedUpTo", "PartKind", "Reading"]

PartKind = Literal[
    "table", "node", "stream", "worker", "witness", "database", "disk", "certificate", "backup"
]
"""The kinds of parts. `database` has no reading of its own: it carries the others."""


class Reading(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest reading of a part.

    Args:
        kind: of the part.
        name: the table's `<site>/<table>`, the node's or the worker's name, a file's key.
        age_s: seconds since it was stored, by the database's clock.
        error: why the part did not answer; empty where it did.
        state: of a table's or the witness's feed: `running`, `stopped` or `ended`; of a node's
            JetStream: `on`, `behind` or `off`.
        position: the newest position in a table's log.
        due: the position that its word before named: the archive has had the time to store it.
        at_s: seconds since 1970: of the log's newest event, of the end of a certificate or of the
            one that a node shows, of the newest backup.
        ends_s: when the certificate ends that a table's uplink or the witness shows to the hub,
            seconds since 1970; None where it did not say.
        free: the share of a disk or stream that is free, 0 to 1.
    """

    kind: PartKind
    name: str
    age_s: float = 0.0
    error: str = ""
    state: str = ""
    position: int = 0
    due: int = 0
    at_s: float | None = None
    ends_s: float | None = None
    free: float | None = None

    @property
    def certificate_ends_s(self) -> float | None:
        """When the certificate ends that this part is or shows, seconds since 1970."""
        return self.at_s if self.kind in {"certificate", "node"} else self.ends_s


class ArchivedUpTo(Struct, frozen=True, kw_only=True):
    """A table in the archive.

    Args:
        position: archived up to here.
        at_s: of its newest archived event, seconds since 1970; None where there is none.
        alarms: of its feed, that stand.
    """

    position: int
    at_s: float | None = None
    alarms: Mapping[str, str] = {}
