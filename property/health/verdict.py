"""Judges a property's readings: what is not well, since which reading, and what to do. Pure.

A part is well only by a reading that is fresh. An uplink's word travels through hub, worker and
database every few seconds: so when a node, the worker or the database hangs, or a disk is full, the
words grow old, and every table that they carry is told as silent.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from property.health.readings import ArchivedUpTo, PartKind, Reading

__all__ = [
    "DATABASE_DISK",
    "LATE_S",
    "ORDER_ALARM",
    "PartFinding",
    "PropertyHealth",
    "TablePulse",
    "judge_property",
]

LATE_S: Final = 12.0
"""Seconds after which a reading is too old: an uplink speaks every 4, so one lost word is none."""

ORDER_ALARM: Final = "order_of_another_table"
"""The alarm of a shoe in the order of one of another table: nothing of its feed is wrong."""

DATABASE_DISK: Final = "postgresql"
"""The disk of PostgreSQL's data: no question to the server tells it, so its machine reports it."""

# Alarms of a feed that goes on; any other has stopped it.
_GOES_ON: Final = frozenset({"nonsense", ORDER_ALARM})
_DAY_S: Final = 86_400
# PostgreSQL's machine reports its disk every minute.
_REPORTED_LATE_S: Final = 180.0
_SOON_S: Final = 21 * _DAY_S
_BACKUP_OLD_S: Final = 26 * 3_600
# The share of a disk or stream that is free when somebody must look, and when it is full.
_LOW: Final = 0.10
_FULL: Final = 0.02


class PartFinding(NamedTuple):
    """Something that is not well.

    Args:
        kind: of the part.
        name: of the part.
        code: what it is, for pages and alerts.
        text: one line for a person: what was found.
        step: what to do.
        grave: False where it only will be wrong: a certificate that ends in some days.
    """

    kind: PartKind
    name: str
    code: str
    text: str
    step: str
    grave: bool = True


class TablePulse(Struct, frozen=True, kw_only=True):
    """A table's way into the archive.

    Args:
        live: whether the archive has what the table had some seconds ago.
        state: `running`, `stopped`, `ended`, or `silent`.
        lag_events: events that its log has and the archive has not; None where nobody has said.
        lag_s: seconds between the newest event of its log and the newest archived one.
        age_s: seconds since its uplink's newest word; None where there was none.
    """

    live: bool
    state: str
    lag_events: int | None = None
    lag_s: float = 0.0
    age_s: float | None = None


class PropertyHealth(Struct, frozen=True, kw_only=True):
    """The whole property, judged.

    Args:
        findings: what is not well: the gravest kinds of parts first.
        tables: each table's way into the archive.
    """

    findings: tuple[PartFinding, ...]
    tables: Mapping[str, TablePulse]

    @property
    def well(self) -> bool:
        """Whether nothing is wrong now."""
        return not any(each.grave for each in self.findings)


_ORDER: Final[tuple[PartKind, ...]] = (
    "database", "worker", "node", "stream", "disk", "witness", "certificate", "backup", "table",
)  # fmt: skip
_WORKER: Final = "start it: `systemctl restart baccarat-property@archive`; its journal says why"
_NODE: Final = "start it anew: `systemctl restart baccarat-hub@"
_REPORT_DISK: Final = "by `property.report_disk`"
_UPLINK: Final = "look at its journal on the controller, and at the parts above"


def judge_property(
    tables: Mapping[str, ArchivedUpTo],
    readings: Sequence[Reading],
    now_s: float,
    database: str = "",
) -> PropertyHealth:
    """Judge all readings.

    Args:
        tables: those in the archive.
        readings: the newest of each part.
        now_s: seconds since 1970, for certificates and backups.
        database: why the archive did not answer; empty where it did.
    """
    if database:
        step = "start PostgreSQL, or mend the way to it; the workers wait and go on by themselves"
        gone = PartFinding("database", "archive", "away", database, step)
        silent = TablePulse(live=False, state="silent")
        return PropertyHealth(findings=(gone,), tables=dict.fromkeys(tables, silent))
    found: list[PartFinding] = []
    words: dict[str, Reading] = {}
    for each in readings:
        if each.kind == "table":
            words[each.name] = each
            if each.state != "ended":
                found += filter(None, [_certificate(each, now_s)])
        else:
            found += filter(None, [_judge_part(each, now_s)])
    if not any(each.kind == "worker" and each.age_s <= LATE_S for each in readings):
        text = f"no worker has stored anything for {LATE_S:.0f} s"
        step = "start one; where one runs, see `archive_waits` in its journal: is a disk full?"
        found.append(PartFinding("worker", "all", "none", text, step))
    if not any(map(_is_database_disk, readings)):
        text = "nobody reports how full PostgreSQL's disk is"
        step = f"have its machine say it every minute, {_REPORT_DISK}"
        found.append(PartFinding("disk", DATABASE_DISK, "unknown", text, step, grave=False))
    pulses: dict[str, TablePulse] = {}
    for name in sorted(tables.keys() | words.keys()):
        archived = tables.get(name, ArchivedUpTo(position=0))
        pulses[name], findings = _judge_table(name, archived, words.get(name))
        found += findings
    found.sort(key=lambda each: (not each.grave, _ORDER.index(each.kind), each.name))
    return PropertyHealth(findings=tuple(found), tables=pulses)


def _judge_table(
    name: str, archived: ArchivedUpTo, word: Reading | None
) -> tuple[TablePulse, list[PartFinding]]:
    settle = f"`baccarat property settle CONFIG {name}` says what differs"
    looked = f"compare both shoes, then `baccarat property release CONFIG {name} --by NAME`"
    told = [
        (kind, reason, looked) if kind == ORDER_ALARM else (kind, f"feed: {reason}", settle)
        for kind, reason in archived.alarms.items()
    ]
    pulse = TablePulse(live=False, state="silent")
    if word is None:
        told.append(("silent", "its uplink was never heard", _UPLINK))
        return pulse, [PartFinding("table", name, *each) for each in told]
    lag = max(0, word.position - archived.position)
    apart = (word.at_s or 0.0) - (archived.at_s or word.at_s or 0.0) if lag else 0.0
    silent = word.state == "running" and word.age_s > LATE_S
    behind = word.state == "running" and not silent and archived.position < word.due
    if silent:
        told.append(("silent", f"its uplink's newest word is {word.age_s:.0f} s old", _UPLINK))
    elif behind:
        text = f"the archive is {lag} events behind, {max(0.0, apart):.0f} s"
        told.append(("behind", text, "wait while it falls; else see the worker's journal"))
    elif word.state == "stopped" and "uplink" not in archived.alarms:
        told.append(("stopped", f"its uplink has stopped: {word.error}", settle))
    pulse = TablePulse(
        live=not (silent or behind or archived.alarms.keys() - _GOES_ON)
        and word.state in {"ended", "running"},
        state="silent" if silent else word.state,
        lag_events=lag,
        lag_s=max(0.0, apart),
        age_s=word.age_s,
    )
    return pulse, [PartFinding("table", name, *each) for each in told]


def _judge_part(read: Reading, now_s: float) -> PartFinding | None:
    """Return what is wrong with a part by its reading, or None."""
    if read.state == "ended":
        return None
    return next(filter(None, (look(read, now_s) for look in _LOOKS)), None)


def _is_database_disk(read: Reading) -> bool:
    return (read.kind, read.name) == ("disk", DATABASE_DISK)


def _heard(read: Reading, _: float) -> PartFinding | None:
    reported = _is_database_disk(read)
    if read.age_s <= (_REPORTED_LATE_S if reported else LATE_S) or read.kind == "backup":
        return None
    own = {"worker": _WORKER, "witness": "start it; its journal says why"}
    step = own.get(read.kind, "who reads it is gone: see the workers")
    if reported:
        step = f"see why its machine says it no more, {_REPORT_DISK}"
    return PartFinding(read.kind, read.name, "silent", f"not heard for {read.age_s:.0f} s", step)


def _answers(read: Reading, _: float) -> PartFinding | None:
    if not read.error:
        return None
    own = {"node": f"{_NODE}{read.name}`, and wait for /healthz", "certificate": "put it there"}
    return PartFinding(read.kind, read.name, "away", read.error, own.get(read.kind, _WORKER))


def _jetstream(read: Reading, _: float) -> PartFinding | None:
    if read.kind != "node" or read.state == "on":
        return None
    if read.state == "behind":
        text = "has not what the other nodes have"
        return PartFinding("node", read.name, "behind", text, "wait: it catches up by itself")
    text = "runs without JetStream: its disk was full, or its store is damaged"
    step = f"make room on its disk, then {_NODE}{read.name}`"
    return PartFinding("node", read.name, "no_jetstream", text, step)


def _room(read: Reading, _: float) -> PartFinding | None:
    if read.free is None or read.free >= _LOW:
        return None
    full = read.free < _FULL
    step = "make room; of a stream, give it more: `baccarat property streams`"
    code = "full" if full else "low"
    return PartFinding(read.kind, read.name, code, f"{read.free:.0%} free", step, grave=full)


def _certificate(read: Reading, now_s: float) -> PartFinding | None:
    ends_s = read.certificate_ends_s
    if ends_s is None or ends_s - now_s >= _SOON_S:
        return None
    left = ends_s - now_s
    text = f"ends in {left / _DAY_S:.0f} days" if left > 0 else "has ended"
    step = "renew it by `baccarat pki renew`, and carry it to its machine"
    return PartFinding("certificate", read.name, "ends", text, step, grave=left <= 0)


def _backup(read: Reading, now_s: float) -> PartFinding | None:
    if read.kind != "backup" or now_s - (read.at_s or 0.0) <= _BACKUP_OLD_S:
        return None
    text = f"the newest is {(now_s - read.at_s) / 3600:.0f} h old" if read.at_s else "there is none"
    return PartFinding("backup", read.name, "old", text, "make one, and see why the timer did not")


_LOOKS: Final = (_heard, _answers, _jetstream, _room, _certificate, _backup)
