"""Settle a table of which two stories are told: in the archive, on the hub and at the witness.

Each is settled where the configuration names it: the witness's file may be on another machine.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import NotFoundError

from baccarat.config.property_form import PropertyConfig
from events.clock import Clock
from events.errors import InputError
from events.proof.checkpoint import Checkpoint, parse_checkpoint
from events.proof.note import Note, VerifierKey, signed_by
from property.archive.database import connect_archive
from property.archive.giving_way import TableSettler
from property.archive.settlement import CoveredEvents, FeedSettlement, plan_settlement
from property.hub.connection import publish_uplink_ended, purge_table
from property.hub.replicated_event import ReplicatedEvent, parse_replicated_event
from property.hub.subjects import (
    CHECKPOINTS,
    COSIGNED,
    EVENTS,
    checkpoint_subject,
    continued_origin,
    cosigned_subject,
    split_origin,
    stored_subject,
)
from property.witness.store import read_book, want_settled

__all__ = ["AsKeeper", "HubAct", "HubStory", "SettleWish", "settle_archive", "settle_witness"]

_FETCH: Final = 500
_ANSWER_S: Final = 10
_NS: Final = 1_000_000_000


class SettleWish(NamedTuple):
    """What a person wants.

    Args:
        origin: `<site>/<table>`.
        by: the person; empty to be told only what would be done.
        since: the position from which another history is accepted; None for what checkpoints say.
        goes_on_as: the new origin; empty for none.
        keys: public keys of the table, besides those of the configuration.
    """

    origin: str
    by: str
    since: int | None
    goes_on_as: str
    keys: tuple[VerifierKey, ...]


class HubStory(NamedTuple):
    """What the hub holds of a table.

    Args:
        checkpoints: the notes that the table has published.
        cosigned: those that the witness has.
        events: its events; what is none is left out.
    """

    checkpoints: list[bytes]
    cosigned: list[bytes]
    events: list[ReplicatedEvent]


HubAct = Callable[[JetStreamContext], Awaitable[HubStory]]
AsKeeper = Callable[[HubAct], Awaitable[HubStory]]
"""Does something on the hub with the keeper's login."""


async def _hub_story(js: JetStreamContext, origin: str) -> HubStory:
    """Read what the hub holds of a table, with the keeper's login."""
    names = split_origin(origin)
    events = []
    for subject, headers, data in await _messages(js, EVENTS, stored_subject(*names)):
        try:
            events.append(parse_replicated_event(subject, headers, data))
        except InputError:
            continue
    checkpoints = await _messages(js, CHECKPOINTS, checkpoint_subject(*names))
    cosigned = await _messages(js, COSIGNED, cosigned_subject(*names))
    return HubStory([each[2] for each in checkpoints], [each[2] for each in cosigned], events)


async def _messages(
    js: JetStreamContext, stream: str, subject: str
) -> list[tuple[str, dict[str, str] | None, bytes]]:
    config = ConsumerConfig(ack_policy=AckPolicy.NONE, inactive_threshold=_ANSWER_S)
    try:
        taking = await js.pull_subscribe(subject, stream=stream, config=config)
    except NotFoundError:
        return []
    left = (await taking.consumer_info()).num_pending or 0
    found: list[tuple[str, dict[str, str] | None, bytes]] = []
    while len(found) < left:
        more = await taking.fetch(min(_FETCH, left - len(found)), timeout=_ANSWER_S)
        found += [(each.subject, each.headers, each.data) for each in more]
    return found


async def settle_archive(
    config: PropertyConfig,
    wish: SettleWish,
    as_keeper: AsKeeper,
) -> list[str]:
    """Settle the table in the archive and on the hub; return lines for the person.

    Args:
        config: names archive and hub.
        wish: what is wanted.
        as_keeper: does something on the hub.

    Raises:
        InputError: what is wanted cannot be.
        ArchiveError: the archive does not answer.
        BusError: the hub does not answer.
    """
    assert config.archive is not None  # noqa: S101 - the caller has looked
    url, origin = config.archive.database, wish.origin
    told = await as_keeper(lambda js: _hub_story(js, origin))
    keys = (*wish.keys, *config.given_keys().get(origin, ()))
    signed = _signed([*told.checkpoints, *told.cosigned], origin, keys)
    cosigned = [each.size for each in _parsed(told.cosigned, origin)]
    connection = await connect_archive(url)
    try:
        settler = TableSettler(url, connection, origin)
        if wish.goes_on_as:
            return await _renamed(settler, wish, as_keeper)
        covered = CoveredEvents(signed)
        head = await settler.hold(covered)
        plan = plan_settlement(origin, head, covered, cosigned, wish.since)
        differing = await settler.differing(told.events, plan.keep)
        lines = [f"{origin}: {plan.why}", *_counted(plan, differing)]
        if not wish.by:
            return [*lines, "nothing was done: say --by NAME, and it is"]
        await settler.stop()
        record = await settler.settle(plan, wish.by, differing)

        async def purged(js: JetStreamContext) -> HubStory:
            await purge_table(js, origin)
            return told

        await as_keeper(purged)
        await settler.release(wish.by)
        lines.append(f"settled, record {record}: both stories are kept; start the uplink again")
        return lines
    finally:
        await connection.close()


async def _renamed(
    settler: TableSettler,
    wish: SettleWish,
    as_keeper: AsKeeper,
) -> list[str]:
    if wish.since is None:
        raise InputError("--from: say from which position the log goes on as the new origin")
    if not wish.by:
        return [f"{wish.origin} would go on as {wish.goes_on_as} from {wish.since} on"]
    await settler.go_on_as(wish.goes_on_as, wish.since, wish.by)

    async def ended(js: JetStreamContext) -> HubStory:
        await publish_uplink_ended(js, wish.origin, wish.by)
        return HubStory([], [], [])

    await as_keeper(ended)
    return [
        f"{wish.origin} stays as it is, and goes on as {wish.goes_on_as} from {wish.since} on",
        "give the new origin a login in the hub's plan, and a key at the witness",
        "give the uplink the new origin, with the log as it is",
    ]


def _counted(plan: FeedSettlement, differing: Sequence[ReplicatedEvent]) -> list[str]:
    return [
        f"the archive keeps 1 to {plan.keep}; {plan.gives_way} of its events give way",
        f"of the hub's events {len(differing)} are others; the log fills the hub again",
    ]


def _parsed(notes: Sequence[bytes], origin: str) -> list[Checkpoint]:
    return [checkpoint for checkpoint, _ in _notes(notes, origin)]


def _signed(notes: Sequence[bytes], origin: str, keys: Sequence[VerifierKey]) -> list[Checkpoint]:
    return [checkpoint for checkpoint, note in _notes(notes, origin) if signed_by(note, keys)]


def _notes(notes: Sequence[bytes], origin: str) -> list[tuple[Checkpoint, Note]]:
    found = []
    for each in notes:
        try:
            checkpoint, note = parse_checkpoint(each)
        except InputError:
            continue
        if checkpoint.origin in {origin, continued_origin(origin)}:
            found.append((checkpoint, note))
    return found


def settle_witness(config: PropertyConfig, wish: SettleWish, clock: Clock) -> list[str]:
    """Have the witness give up what the table's next signed checkpoint contradicts.

    Raises:
        InputError: its file cannot be used.
        LogRefused: the file is none of a witness.
    """
    assert config.witness is not None  # noqa: S101 - the caller has looked
    path = config.beside(config.witness.book)
    kept = {each.origin: each for each in read_book(path)[0]}
    seen = kept.get(wish.origin)
    if seen is None:
        return [f"{wish.origin}: the witness has heard nothing of it"]
    size = seen.size or 0
    lines = [f"the witness has cosigned {size} events, and seen {seen.position - size} more"]
    if not wish.by:
        return lines
    want_settled(path, wish.origin, wish.by, clock.utc_ns() // _NS)
    return [*lines, "those give way to the table's next signed checkpoint, if it contradicts them"]
