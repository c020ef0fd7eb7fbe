"""The uplink service: replicates the logs of one or more tables to the property's hub.

An uplink keeps no cursor of its own. At every connect, after every refusal and every few seconds it
requests the table's newest event from the hub, and resumes after it. It therefore fills a hub again
that was wiped or restored from an old copy. A forked chain stops the table's feed and raises an
alarm. Each table has its own connection and task, so that none waits for another. An uplink also
publishes its status on the hub.
"""

import asyncio
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Final

from msgspec import Struct
from nats.errors import Error as NatsError

from events.clock import Clock
from events.errors import BusError, InputError, LogError, LogRefused
from events.structured_log import structlog
from property.background_tasks import TaskBackoff, end_tasks
from property.hub.connection import HubSettings, connect, hang_up
from property.hub.replicated_event import Head
from property.hub.uplink_status import REPEATED_S, UplinkStatus, stopped_status
from property.uplink.editions import EditionQueue
from property.uplink.hub_client import HeldCheckpoint, HubClient
from property.uplink.log_reader import LogRead, UplinkLogReader
from property.uplink.replication import (
    DUPLICATE_CODES,
    SEQUENCE_CODES,
    FeedStopped,
    HubPosition,
    PublishRefused,
    resume_position,
)

__all__ = ["FeedState", "UplinkFeed", "UplinkLog", "feeds_of", "run_uplink"]

# Seconds between two checks of all logs' files; and between two of the connection of a table whose
# log does not change.
_POLL_S: Final = 0.05
_IDLE_S: Final = 0.5
# Seconds between two reads of a busy table, so that several events go in one batch.
_READ_GAP_S: Final = 0.1
# A table that catches up pauses for this share of each batch's time: others share the hub.
_CATCH_UP_PAUSE: Final = 0.5
# Seconds between two checks of the hub: through a leaf, a lost hub breaks no connection.
_AUDIT_S: Final = 5.0
# A replica that lags may answer the request for the newest event; a later request succeeds.
_REFUSALS_MOST: Final = 5
# Attempts to read an unreadable log before its feed stops.
_UNREADABLE_MOST: Final = 3
# Batches in flight in this process; the server accepts fifty at a time from all tables.
_BATCHES_MOST: Final = 16
_CLOSE_S: Final = 1.0
# Seconds between two checks whether there is a status to publish.
_STATUS_CHECK_S: Final = 0.5
# A feed without progress for this many seconds does not report `running`.
_STUCK_S: Final = 10.0
# How often the folders of editions are looked at; and how often all are published again, should the
# hub have lost them and nothing else.
_EDITIONS_S: Final = 5.0
_EDITIONS_ANEW_S: Final = 3600.0
_NEVER: Final = -inf

_log: Final = structlog.get_logger()


class UplinkLog(Struct, frozen=True, kw_only=True):
    """A table's log, and its uplink's connection to the hub.

    Args:
        path: the log's file.
        hub: servers and login; `who` is the table's `<site>/<table>`.
    """

    path: Path
    hub: HubSettings


class FeedState(Struct, kw_only=True):
    """The state of a table's feed, updated while it runs.

    Args:
        origin: `<site>/<table>`.
        up: whether it is connected.
        position: the last position on the hub.
        refilled: how often the hub held less than before.
        stopped: why the feed has stopped until a person inspects it; None while it runs.
        trouble: why it is not connected; empty while it is.
    """

    origin: str
    up: bool = False
    position: int = 0
    refilled: int = 0
    stopped: FeedStopped | None = None
    trouble: str = ""


class _FeedHalted(Exception):  # noqa: N818 - it carries a verdict
    def __init__(self, verdict: FeedStopped) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict


class UplinkFeed:
    """Replicates one table's log.

    Args:
        table: the log and the login.
        clock: for the pauses between reads.
        batches: limits the batches in flight of all feeds in this process.
    """

    def __init__(self, table: UplinkLog, clock: Clock, batches: asyncio.Semaphore) -> None:
        self._hub, self._batches = table.hub, batches
        self._tls = table.hub.tls()
        self._origin = table.hub.who
        self._source = UplinkLogReader(table.path, self._origin, clock)
        self._note = HeldCheckpoint(0, 0)
        self._pause = TaskBackoff()
        self._refusals = self._unreadable = 0
        self._status_refusal = self._unpublished = ""
        self._editions = EditionQueue(table.path)
        self._fed_at = _NEVER
        self._end, self._event_at, self._ends_s = 0, "", 0
        self._held = 0
        self._waiting: asyncio.Future[None] | None = None
        self._log = _log.bind(table=self._origin)
        self.state = FeedState(origin=self._origin)

    async def run(self) -> None:
        """Replicate until cancelled; once stopped, publish only the stopped status."""
        attempt = 0
        while True:
            try:
                connection = await connect(self._hub, attempt, self._tls)
                self._ends_s = self._tls.ends_s
                try:
                    await self._serve(HubClient(connection, self._origin))
                finally:
                    await hang_up(connection)
            except _FeedHalted as halt:
                self._stop(halt.verdict)
            except LogRefused as error:
                # A transient error of SQLite looks the same.
                self._unreadable += 1
                if self._unreadable == _UNREADABLE_MOST:
                    self._stop(FeedStopped("gap", error.position or 0, error.reason))
                else:
                    self._down(error.reason)
            except (BusError, InputError, LogError, NatsError, OSError) as error:
                self._down(str(error) or type(error).__name__)
            attempt += 1
            # Random, so that two hundred tables that lost the same hub do not reconnect at once.
            await asyncio.sleep(self._pause.next_s() * (0.5 + secrets.randbelow(1000) / 1000))

    async def _serve(self, hub: HubClient) -> None:
        """Replicate and publish the status until the connection is lost or the feed stops."""
        self._fed_at = _NEVER
        beside = [asyncio.create_task(self._tell(hub))]
        if self.state.stopped is None:
            beside.append(asyncio.create_task(self._carry_editions(hub)))
        try:
            await (self._feed(hub) if self.state.stopped is None else asyncio.wait(beside))
        except asyncio.CancelledError:
            await end_tasks(beside)  # its status must not follow the final one
            if self.state.stopped is None and self._fed_at > _NEVER:
                with suppress(TimeoutError):
                    ended = UplinkStatus(state="ended", position=self.state.position)
                    await asyncio.wait_for(hub.tell(ended), _CLOSE_S)
            raise
        finally:
            await end_tasks(beside)
            for task in beside:
                if not task.cancelled():
                    task.result()
        raise BusError("the connection is lost")

    async def _tell(self, hub: HubClient) -> None:
        """Publish the status repeatedly; a feed without progress publishes nothing."""
        pause = _STATUS_CHECK_S
        while not hub.lost:
            await asyncio.sleep(pause)
            word = self._word(asyncio.get_running_loop().time())
            pause = REPEATED_S if word else _STATUS_CHECK_S
            if word is None:
                continue
            untold = await hub.tell(word)
            if untold and untold != self._status_refusal:
                self._log.warning("feed_untold", reason=untold)
            self._status_refusal = untold

    async def _carry_editions(self, hub: HubClient) -> None:
        """Publish what is kept beside the log, and what is kept there later."""
        loop = asyncio.get_running_loop()
        anew = _NEVER
        while not hub.lost:
            if loop.time() >= anew:
                self._editions.begin_again()
                anew = loop.time() + _EDITIONS_ANEW_S
            refused = await self._publish_editions(hub)
            if refused and refused != self._unpublished:
                self._log.warning("editions_unpublished", reason=refused)
            self._unpublished = refused
            await asyncio.sleep(_EDITIONS_S)

    async def _publish_editions(self, hub: HubClient) -> str:
        """One round; why the hub has not all of them then, empty where it has."""
        editions, refused = await asyncio.to_thread(self._editions.pending)
        for each in editions:
            if reason := await hub.publish_edition(*each):
                return "" if hub.lost else f"{each.kind} {each.digest}: {reason}"
            self._editions.published(each)
        return refused

    def _word(self, now: float) -> UplinkStatus | None:
        stopped = self.state.stopped
        if stopped is not None:
            return stopped_status(*stopped)
        if now - self._fed_at > _STUCK_S:
            return None
        return UplinkStatus(
            state="running",
            position=self.state.position,
            head=max(self._end, self.state.position),
            event_at=self._event_at,
            certificate_ends_s=self._ends_s,
        )

    async def _feed(self, hub: HubClient) -> None:
        """Replicate until the connection is lost or the feed stops."""
        loop = asyncio.get_running_loop()
        place = await self._ask(hub, None)
        asked, self._refusals = loop.time(), 0
        self._up(place)
        while not hub.lost:
            pause = 0.0
            if self._source.changed():
                began = loop.time()
                found = await asyncio.to_thread(self._source.read, place.head, self._note.size)
                self._unreadable = 0
                self._end, self._event_at = found.end, found.event_at
                place = await self._say(hub, place, found)
                pause = _CATCH_UP_PAUSE * (loop.time() - began) if found.more else _READ_GAP_S
            if loop.time() - asked > _AUDIT_S:
                place = await self._ask(hub, place)
                asked = loop.time()
                self._pause.reset()
            self.state.position, self._fed_at = place.head.position, loop.time()
            await (asyncio.sleep(pause) if pause else self._until_changed())

    async def _until_changed(self) -> None:
        """Wait until `look` finds that the log has changed, or half a second."""
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait((self._waiting,), timeout=_IDLE_S)
        finally:
            self._waiting = None

    def look(self) -> None:
        """Check the log's files, if the feed waits for a change; costs two calls of `stat`."""
        waiting = self._waiting
        if waiting is not None and not waiting.done() and self._source.changed():
            waiting.set_result(None)

    async def _ask(self, hub: HubClient, known: HubPosition | None) -> HubPosition:
        """Ask the hub for its position, and return where to resume.

        Args:
            hub: the hub's client.
            known: the position expected; None at the first request.
        """
        try:
            held = await hub.held()
        except InputError as error:
            raise _FeedHalted(FeedStopped("forged", 0, f"the hub's newest: {error}")) from error
        if held is None:
            place = HubPosition(Head.beginning(self._origin), 0)
        elif known == (held.carried.head, held.sequence):
            return known
        else:
            own = await asyncio.to_thread(self._source.at, held.carried.position)
            verdict = resume_position(held, own)
            if isinstance(verdict, FeedStopped):
                raise _FeedHalted(verdict)
            place = verdict
        if place == known:
            return known
        self._held = max(self._held, place.head.position)
        self._note = await hub.note()
        self._source.forget()
        return place

    async def _say(self, hub: HubClient, place: HubPosition, found: LogRead) -> HubPosition:
        """Publish the events and checkpoint of one read; return the hub's new position."""
        if found.events:
            async with self._batches:
                answer = await hub.say(found.events, place.sequence)
                if isinstance(answer, PublishRefused) and answer.code in DUPLICATE_CODES:
                    # The id was used before: by somebody else, or by this uplink before the hub was
                    # restored. The expected sequence alone decides what is new.
                    answer = await hub.say(found.events, place.sequence, ids=False)
            if isinstance(answer, PublishRefused):
                return await self._refused(hub, answer)
            place, self._refusals = HubPosition(found.events[-1].head, answer.sequence), 0
            self._pause.reset()
            self._accepted(found.events[0].position, place.head.position)
        if found.note is not None and found.size <= place.head.position:
            answer = await hub.publish_checkpoint(found.note, self._note.sequence)
            if isinstance(answer, PublishRefused):
                return await self._refused(hub, answer)
            self._note = HeldCheckpoint(answer.sequence, found.size)
        return place

    def _accepted(self, first: int, last: int) -> None:
        """Note what the hub has; report events that it had before and has lost.

        A replica that lags, such as a node that hung, tells of fewer events than the hub has. The
        leader does not accept those again, so only its acceptance shows a loss.
        """
        if first <= self._held:
            self.state.refilled += 1
            self._editions.begin_again()
            self._log.warning("hub_refilled", had=self._held, has=first - 1)
        self._held = last

    async def _refused(self, hub: HubClient, answer: PublishRefused) -> HubPosition:
        self._refusals += 1
        if answer.code not in SEQUENCE_CODES or self._refusals > _REFUSALS_MOST:
            raise BusError(f"the hub refuses: {answer.text} ({answer.code})")
        return await self._ask(hub, None)

    def _up(self, place: HubPosition) -> None:
        self.state.up, self.state.trouble = True, ""
        self.state.position = place.head.position
        self._log.info("feed_up", position=place.head.position)

    def _down(self, trouble: str) -> None:
        """Log each reason once, however often the uplink retries."""
        if trouble != self.state.trouble:
            self._log.warning("feed_down", reason=trouble, position=self.state.position)
        self.state.up, self.state.trouble = False, trouble

    def _stop(self, verdict: FeedStopped) -> None:
        self.state.up, self.state.stopped = False, verdict
        self._log.critical(
            "feed_stopped", code=verdict.code, position=verdict.position, reason=verdict.text
        )


def feeds_of(tables: Iterable[UplinkLog], clock: Clock) -> tuple[UplinkFeed, ...]:
    """Create the feeds of one process."""
    batches = asyncio.Semaphore(_BATCHES_MOST)
    return tuple(UplinkFeed(each, clock, batches) for each in tables)


async def run_uplink(feeds: Sequence[UplinkFeed], stop: asyncio.Event) -> None:
    """Run every feed until `stop` is set, even if one fails.

    Raises:
        Exception: a feed's unexpected exception, after the others have ended too.
    """
    tasks = [asyncio.create_task(each.run(), name=each.state.origin) for each in feeds]
    for task in tasks:
        task.add_done_callback(_ended)
    looking = asyncio.create_task(_look(feeds))
    await stop.wait()
    await end_tasks([looking, *tasks])
    for task in tasks:
        if not task.cancelled():
            task.result()


async def _look(feeds: Sequence[UplinkFeed]) -> None:
    """Look at all logs in one task: two hundred that sleep would cost more than what they do."""
    while True:
        await asyncio.sleep(_POLL_S)
        for each in feeds:
            each.look()


def _ended(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.critical("feed_failed", table=task.get_name(), exc_info=error)
