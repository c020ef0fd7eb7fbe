"""A property's status: the position of each table in the archive, on the hub and at the witness."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import RawStreamMsg

from baccarat.config.property_form import PropertyConfig
from baccarat.property.pay_scales import archived_pay_scales, contradicting_scales
from events.clock import Clock
from events.errors import ArchiveError, BusError, ConfigError, InputError, LogRefused
from property.archive.client import ArchiveClient
from property.archive.database import require_current, shown
from property.archive.questions import ARCHIVE_QUERIES, parse_parameters
from property.archive.readings import read_readings
from property.archive.rounds import hub_doors, hub_readings, stream_state
from property.archive.stream_reader import reader_jetstream
from property.health.readings import ArchivedUpTo, Reading
from property.health.verdict import LATE_S, PropertyHealth, TablePulse, judge_property
from property.hub.connection import connect, hang_up
from property.hub.replicated_event import parse_replicated_event
from property.hub.subjects import (
    EVENTS,
    FEEDS,
    feed_subject,
    origin_of,
    split_origin,
    stored_subject,
)
from property.hub.uplink_status import WITNESS, UplinkStatus, parse_uplink_status
from property.witness.store import RecordedRefusal, read_book

__all__ = ["PropertyStatus", "TableStatus", "property_status"]

# Requests to the hub that are in flight at a time.
_IN_FLIGHT_MOST: Final = 64
# Seconds for each of archive and hub: a server that hangs does not refuse.
_ASKED_S: Final = 8.0
_Read = TypeVar("_Read")


class TableStatus(Struct, frozen=True, kw_only=True):
    """One table.

    Args:
        table: `<site>/<table>`.
        position: archived up to here; None where the archive could not be asked.
        hub: the hub's newest position; None where the hub was not asked or has nothing.
        feed: the state of its feed into the archive: `running`, `gap`, `stopped` or `released`.
        last_event_at: of the newest archived event.
        link: its shoe's link, by the newest report of it.
        alarms: active by its own log.
        feed_alarms: active by the archive.
        witnessed: the newest position that the witness has received.
        cosigned: the size of its newest cosigned checkpoint.
        cosigned_at: when that was, seconds since 1970.
        refused: the witness's refusals that nothing has corrected since.
        uplink: its uplink's status on the hub: `running`, `stopped`, `ended` in order, or `silent`
            where no message came for a while; None where the hub was not asked.
        uplink_reason: why it has stopped.
        pay_scale: by which its newest coup was played; None where that offers no Perfect Pairs.
        scale_alarm: where another table of its site pays by another, both of them.
        pulse: its way into the archive, by its uplink's words there; None where the archive could
            not be asked.
    """

    table: str
    position: int | None = None
    hub: int | None = None
    feed: str = ""
    last_event_at: Any = None
    link: str | None = None
    alarms: tuple[str, ...] = ()
    feed_alarms: tuple[str, ...] = ()
    witnessed: int | None = None
    cosigned: int | None = None
    cosigned_at: int | None = None
    refused: tuple[str, ...] = ()
    uplink: str | None = None
    uplink_reason: str = ""
    pay_scale: str | None = None
    scale_alarm: str = ""
    pulse: TablePulse | None = None

    @property
    def lag(self) -> int | None:
        """Events that its log or the hub has and the archive has not."""
        told = self.pulse.lag_events if self.pulse else None
        if self.position is None or (told is None and self.hub is None):
            return None
        return max(0, told or 0, (self.hub or 0) - self.position)

    @property
    def standing(self) -> tuple[str, ...]:
        """All active alarms and refusals of the table."""
        witness = (f"witness: {code}" for code in self.refused)
        feed = (f"feed: {kind}" for kind in self.feed_alarms)
        uplink = (f"uplink: {self.uplink}",) if self.uplink in {"stopped", "silent"} else ()
        scale = (self.scale_alarm,) if self.scale_alarm else ()
        return (*self.alarms, *feed, *uplink, *witness, *scale)


class PropertyStatus(Struct, frozen=True, kw_only=True):
    """The whole property.

    Args:
        archive: why the archive could not be asked, empty where it was.
        hub: the same of the hub; `not asked` where the configuration has no login for it.
        witness: the same of the witness.
        tables: by name.
        health: what is not well of the parts and of each table's way.
    """

    archive: str
    hub: str
    witness: str
    tables: tuple[TableStatus, ...]
    health: PropertyHealth

    @property
    def well(self) -> bool:
        """Whether nothing is wrong, no alarm stands, and all that is configured could be asked."""
        away = {self.archive, self.hub, self.witness} - {"", _NOT_ASKED}
        return self.health.well and not away and not any(table.standing for table in self.tables)


_NOT_ASKED: Final = "not asked"
_NO_LEADER: Final = "takes nothing: too few of its nodes are there to choose a leader"


async def property_status(config: PropertyConfig, clock: Clock) -> PropertyStatus:
    """Ask every party that the configuration names; report an absent one without raising.

    Args:
        config: names the parties.
        clock: shows which uplinks have been silent for too long.
    """
    now_ns = clock.utc_ns()
    archived, (tables, hub, nodes) = await asyncio.gather(
        _ask_archive(config), _ask_hub(config, now_ns)
    )
    if not hub:  # who has never said a word is silent
        missing = archived.tables.keys() - tables.keys()
        tables |= {name: TableStatus(table=name, uplink="silent") for name in missing}
    tables = {name: _joined(archived.tables.get(name), each) for name, each in tables.items()}
    tables = archived.tables | tables
    tables, witness = _ask_witness(config, tables)
    if not archived.trouble:  # the hub has nothing of a table that it has not named
        tables = {name: replace(each, position=each.position or 0) for name, each in tables.items()}
    # What the hub says itself is newer than what a worker has stored of it.
    own = {each.kind for each in nodes}
    readings = [*nodes, *(each for each in archived.readings if each.kind not in own)]
    health = judge_property(archived.heads, readings, now_ns / 1e9, archived.trouble)
    if archived.trouble == _NOT_ASKED:
        health = PropertyHealth(findings=(), tables={})
    pulses = health.tables if not archived.trouble else {}
    return PropertyStatus(
        archive=archived.trouble,
        hub=hub,
        witness=witness,
        tables=tuple(replace(tables[name], pulse=pulses.get(name)) for name in sorted(tables)),
        health=health,
    )


_Tables = dict[str, TableStatus]


class _Archived(NamedTuple):
    trouble: str
    tables: _Tables = {}  # noqa: RUF012 - nobody changes it
    heads: Mapping[str, ArchivedUpTo] = {}
    readings: Sequence[Reading] = ()


def _joined(archived: TableStatus | None, held: TableStatus) -> TableStatus:
    """Return what the archive says of a table, with what the hub says."""
    if archived is None:
        return held
    return replace(archived, hub=held.hub, uplink=held.uplink, uplink_reason=held.uplink_reason)


async def _ask_archive(config: PropertyConfig) -> _Archived:
    if config.archive is None:
        return _Archived(_NOT_ASKED)
    question, url = ARCHIVE_QUERIES["tables"], config.archive.database
    try:
        async with asyncio.timeout(_ASKED_S):
            await asyncio.to_thread(require_current, url)
            async with await ArchiveClient.open(url) as asker:
                heads, readings = await read_readings(asker)
                answer = await asker.ask(question, parse_parameters(question, {}))
                scales = await archived_pay_scales(asker)
    except ArchiveError as error:
        return _Archived(str(error))
    except TimeoutError:
        return _Archived(f"{shown(url)}: no answer within {_ASKED_S:.0f} s")
    found, alarms = {}, contradicting_scales(scales)
    for row in answer.rows:
        told = dict(zip(answer.columns, row, strict=True))
        name = f"{told['site']}/{told['table']}"
        found[name] = TableStatus(
            table=name,
            position=told["position"],
            feed=told["feed"],
            last_event_at=told["last_event_at"],
            link=told["link"],
            alarms=tuple(told["alarms"]),
            feed_alarms=tuple(told["feed_alarms"]),
            pay_scale=scales.get(name),
            scale_alarm=alarms.get(name, ""),
        )
    return _Archived("", found, heads, readings)


async def _ask_hub(config: PropertyConfig, now_ns: int) -> tuple[_Tables, str, list[Reading]]:
    """Return each table on the hub, why the hub could not be asked, and its nodes."""
    if config.archive is None or config.archive.password_file is None:
        return {}, _NOT_ASKED, []
    try:
        settings = config.hub_settings("archive", config.archive.password_file)
        tls = settings.tls()
        doors = await hub_doors(settings, tls)
    except (ConfigError, OSError) as error:
        return {}, str(error), []
    # Nodes that hang take connections: to try each would last longer than a person waits.
    answering = [number for number, door in enumerate(doors) if not door.error]
    try:
        client = await _connected(answering, lambda number: connect(settings, number, tls))
    except BusError as error:
        trouble = str(error) if answering else "; ".join(dict.fromkeys(d.error for d in doors))
        return {}, " ".join(trouble.split()), hub_readings(doors, await stream_state(None))
    try:
        (tables, trouble), stream = await asyncio.gather(
            _held(client, now_ns), stream_state(client)
        )
        return tables, trouble, hub_readings(doors, stream)
    finally:
        await hang_up(client)


async def _held(client: Client, now_ns: int) -> tuple[_Tables, str]:
    """Return how far the hub has each table and how its uplink stands, and what is wrong."""
    try:
        async with asyncio.timeout(_ASKED_S):
            held, leads = await _hub_positions(client)
            found = {name: TableStatus(table=name, hub=held.get(name)) for name in held}
            trouble = "" if leads else _NO_LEADER
            try:
                words = await _uplink_statuses(client, found, now_ns)
            except (BusError, NatsError, OSError) as error:
                # An older hub has neither the stream nor the right to ask for it.
                said = str(error) or type(error).__name__
                return found, trouble or f"does not tell how uplinks stand, stream {FEEDS}: {said}"
    except (BusError, NatsError, OSError, TimeoutError) as error:
        return {}, " ".join((str(error) or type(error).__name__).split())
    told = {name: found.get(name, TableStatus(table=name)) for name in words}
    return {name: _with_uplink(each, words[name]) for name, each in told.items()}, trouble


def _with_uplink(table: TableStatus, word: UplinkStatus | None) -> TableStatus:
    if word is None:
        return replace(table, uplink="silent")
    reason = f"{word.code}: {word.reason}" if word.state == "stopped" else ""
    return replace(table, uplink=word.state, uplink_reason=reason)


async def _connected(numbers: Iterable[int], attempt: Any) -> Client:
    """Return a client of the first of these servers that accepts the connection."""
    error = BusError("no node answers")
    for number in numbers:
        try:
            client: Client = await attempt(number)
        except BusError as failed:
            error = failed
        else:
            return client
    raise error


async def _hub_positions(client: Client) -> tuple[dict[str, int], bool]:
    """Return the hub's newest position of each table, and whether the hub accepts more.

    A node that is cut off from the others still reports its own positions.
    """
    info = await reader_jetstream(client).stream_info(EVENTS, subjects_filter=">")
    names = {origin_of(subject) for subject in info.state.subjects or {}}
    subjects = {name: stored_subject(*split_origin(name)) for name in names}
    cluster = info.cluster
    leads = not (cluster and cluster.replicas and not cluster.leader)
    return await _newest(client, EVENTS, subjects, _position), leads


def _position(message: RawStreamMsg) -> int:
    return parse_replicated_event(
        message.subject or "", message.headers, message.data or b""
    ).position


async def _uplink_statuses(
    client: Client, names: Iterable[str], now_ns: int
) -> dict[str, UplinkStatus | None]:
    """Return each table's newest uplink status; None for a silent uplink."""
    info = await reader_jetstream(client).stream_info(FEEDS, subjects_filter=">")
    told = {origin_of(subject) for subject in info.state.subjects or {}} - {WITNESS}
    subjects = {name: feed_subject(*split_origin(name)) for name in told}
    since_s = now_ns / 1e9 - LATE_S

    def word_of(message: RawStreamMsg) -> UplinkStatus | None:
        word = parse_uplink_status(message.data or b"")
        silent = word.state == "running" and message.time and message.time.timestamp() < since_s
        return None if silent else word

    found = await _newest(client, FEEDS, subjects, word_of)
    return {name: found.get(name) for name in told.union(names)}


async def _newest(
    client: Client,
    stream: str,
    subjects: Mapping[str, str],
    read: Callable[[RawStreamMsg], _Read | None],
) -> dict[str, _Read]:
    """Return the newest readable message of each name's subject on the hub, where there is one.

    A message that a table's login has put into its own place cannot hide another table.
    """
    js, turn = reader_jetstream(client), asyncio.Semaphore(_IN_FLIGHT_MOST)

    async def newest(subject: str) -> _Read | None:
        try:
            async with turn:
                return read(await js.get_last_msg(stream, subject, direct=True))
        except (NatsError, InputError):
            if client.is_closed:
                raise
            return None

    found = await asyncio.gather(*map(newest, subjects.values()))
    return {name: each for name, each in zip(subjects, found, strict=True) if each is not None}


def _ask_witness(config: PropertyConfig, tables: _Tables) -> tuple[_Tables, str]:
    if config.witness is None:
        return tables, _NOT_ASKED
    try:
        kept, refused = read_book(config.beside(config.witness.book))
    except (InputError, LogRefused) as error:
        return tables, str(error)
    found = dict(tables)
    for each in kept:
        found[each.origin] = replace(
            found.get(each.origin, TableStatus(table=each.origin)),
            witnessed=each.position,
            cosigned=each.size,
            cosigned_at=each.at_s,
        )
    for name, codes in _refusals_by_table(refused).items():
        found[name] = replace(found.get(name, TableStatus(table=name)), refused=codes)
    return found, ""


def _refusals_by_table(refused: Iterable[RecordedRefusal]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for each in refused:
        if each.standing:
            found[each.origin] = (*found.get(each.origin, ()), each.code)
    return found
