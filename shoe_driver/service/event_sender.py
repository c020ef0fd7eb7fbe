"""The event sender: publish events and link status to the core, and apply its acknowledgements.

The core must not believe that it has caught up when it has not. So if there are several events,
`link/shoe` with the new head goes out before them. Reports that wait for a missing one count as
well: they will get numbers. A single event that is itself the head shows that by its number. It
waits for no other message, and `link/shoe` follows at the next tick. (mosquitto keeps that order.
nats-server keeps it within one topic only: there an event may arrive just before its head, and
raises the head itself.)

The sender posts events without waiting. It resends them, in order, from the last acknowledged one:
when the core asks, after every connect, and when nothing has moved for a while. It refuses bad
messages by value: junk, retained acknowledgements, and those of another journal or beyond our head.
It counts them, and logs the first and every power of two.
"""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec
import structlog
from msgspec import Struct

from events.clock import Clock
from events.errors import MalformedJson
from events.json_form import decode_json
from events.mqtt.bus import Message
from events.mqtt.topics import Topics
from events.types.shoe_reports import LinkStatus, ShoeAck
from shoe_driver.decode import Decoder
from shoe_driver.link.states import LinkState
from shoe_driver.outbox import AckOutcome, Outbox
from shoe_driver.profiles.profile import Profile

__all__ = ["EventSender", "PortStatus", "RecordedEvents"]

# The core acknowledges within milliseconds. After a second without one, something was lost. If the
# core itself is gone, ever rarer attempts are enough: it sends a hello when it is back.
_RESEND_FIRST_US: Final = 1_000_000
_RESEND_MOST_US: Final = 8_000_000
# The core acknowledges every duplicate again; not every such acknowledgement may start a resend.
_REPEAT_US: Final = 200_000
# The greatest age of `link/shoe` and of the note of the acknowledged number.
_STATUS_EVERY_US: Final = 2_000_000

_log: Final = structlog.get_logger()


class RecordedEvents(Protocol):
    """The sender's source of events, and its record of them; the service's `Recorder` is one.

    Attributes:
        decoder: the newest journal's decoder.
        outbox: the newest journal's outbox.
        notes: notes on the journal for a person.
    """

    decoder: Decoder
    outbox: Outbox
    notes: list[str]

    @property
    def journal(self) -> str:
        """The journal's id."""
        ...

    @property
    def profile(self) -> Profile:
        """The profile of the journal."""
        ...

    @property
    def counts(self) -> tuple[int, int, int]:
        """Reports, reports short of copies, and rejects."""
        ...

    @property
    def copies(self) -> tuple[int, ...]:
        """Finished reports with one copy, two, and so on."""
        ...

    @property
    def resends(self) -> int:
        """The number of reports that came again after they were accepted."""
        ...

    def abandon(self, seq: int) -> None:
        """Give up this journal: the core has events, up to this one, that are not here."""
        ...

    def check_older_journal(self, journal: str, seq: int) -> None:
        """Note that the core is at a position in an older journal."""
        ...

    def release(self, seq: int) -> None:
        """Note that the core needs nothing of this journal up to this number."""
        ...

    def note_acked(self) -> None:
        """Note the acknowledged number on disk."""
        ...


class PortStatus(Struct, frozen=True):
    """The state of the port.

    Args:
        held: whether the port is open.
        reason: why it is not.
        transport: where the shoe is connected.
        hint: advice to a person.
        opened: how often the port was opened.
    """

    held: bool
    reason: str
    transport: str
    hint: str = ""
    opened: int = 0


class EventSender:
    """Publishes events and link status to the core.

    Args:
        topics: the table's topics.
        recorder: the source of events.
        link: returns the port's state.
        post: publishes a message at once, or returns False.
        clock: measures the waiting times above.
        probe: called at each step.

    Attributes:
        refused: acknowledgements that were refused.
    """

    def __init__(
        self,
        topics: Topics,
        recorder: RecordedEvents,
        link: Callable[[], PortStatus],
        post: Callable[[str, bytes, bool], bool],
        clock: Clock,
        probe: Callable[[str], None],
    ) -> None:
        self.refused = 0
        self._topics = topics
        self._recorder = recorder
        self._link = link
        self._post = post
        self._clock = clock
        self._probe = probe
        self._connected = False
        self._told: tuple[str, int] = ("", 0)  # the journal and the head that were published
        self._status_due = False  # the head went out as an event; link/shoe must still follow
        self._told_us = 0
        self._moved_us = 0
        self._patience_us = _RESEND_FIRST_US

    def connected(self) -> None:
        """Publish everything unacknowledged again: the bus is connected."""
        self._connected = True
        self._again()

    def disconnected(self) -> None:
        """Stop publishing: the bus is gone, and so is everything it had."""
        self._connected = False

    def on_events(self) -> None:
        """Publish new events, if there are any."""
        newest = (self._recorder.journal, self._recorder.decoder.expected_head)
        if self._told != newest:
            if self._connected and self._head_is_all_there_is():
                self._told, self._status_due = newest, True
            else:
                self._publish_status()
        self._pump()

    def changed(self) -> None:
        """Publish the status: the port was opened or lost."""
        self._publish_status()

    def tick(self) -> None:
        """Resend what is stuck and publish what is stale. Call it often."""
        now = self._clock.mono_us()
        if not self._connected:
            return
        if now - self._told_us > _STATUS_EVERY_US:
            self._publish_status()
            self._recorder.note_acked()
        elif self._status_due:
            self._publish_status()
        if self._recorder.outbox.waiting and now - self._moved_us > self._patience_us:
            self._patience_us = min(self._patience_us * 2, _RESEND_MOST_US)
            self._recorder.outbox.resend()
            self._moved_us = now
        self.on_events()

    async def on_ack(self, message: Message) -> None:
        """Apply a message of the core: an acknowledgement, or a hello."""
        self._probe("ack.received")
        try:
            ack = decode_json(message.payload, ShoeAck)
        except MalformedJson as error:
            self._refuse(f"unreadable: {error}")
            return
        if message.retain:
            self._refuse("retained: it may be of any age")
        elif ack.journal == self._recorder.journal:
            if ack.hello and ack.seq > self._recorder.decoder.head:
                self._recorder.abandon(ack.seq)
            self._acknowledged(ack.seq, hello=ack.hello)
            if ack.settled is not None:
                self._recorder.release(ack.settled)
        elif ack.hello:
            # The core does not have this journal at all: send it from the first event on.
            self._recorder.check_older_journal(ack.journal, ack.seq)
            self._acknowledged(0, hello=True)
        else:
            self._refuse(f"of another journal: {ack.journal!r}")

    def _acknowledged(self, seq: int, *, hello: bool) -> None:
        outcome = self._recorder.outbox.acknowledge(seq)
        now = self._clock.mono_us()
        asked = outcome is AckOutcome.REPEATED and now - self._moved_us > _REPEAT_US
        if outcome is AckOutcome.BEYOND:
            self._refuse(f"of event {seq}, and there are {self._recorder.decoder.head}")
        elif outcome is AckOutcome.REWOUND:
            _log.warning("outbox.rewound", journal=self._recorder.journal, to=seq)
            asked = True
        elif outcome is AckOutcome.ADVANCED:
            self._moved_us, self._patience_us = now, _RESEND_FIRST_US
        if hello or asked:
            self._again()
        else:
            self._pump()

    def _again(self) -> None:
        """Publish the link's status, and resend everything after the last acknowledged event."""
        self._moved_us, self._patience_us = self._clock.mono_us(), _RESEND_FIRST_US
        self._recorder.outbox.resend()
        self._publish_status()
        self._pump()

    def _head_is_all_there_is(self) -> bool:
        """Report whether the head is the only event to send now, so that nothing follows it.

        A core that does not know the journal yet takes no head from an event.
        """
        due = [seq for seq, _ in self._recorder.outbox.due()]
        return self._told[0] == self._recorder.journal and due == [
            self._recorder.decoder.expected_head
        ]

    def _pump(self) -> None:
        """Send the due events up to the published head; one that cannot go out waits for a tick."""
        outbox, (journal, head) = self._recorder.outbox, self._told
        if not self._connected or journal != self._recorder.journal:
            return
        if not outbox.waiting:
            self._moved_us = self._clock.mono_us()
        for seq, message in outbox.due():
            if seq > head:
                return
            self._probe("event.before")
            if not self._post(self._topics.shoe_event, message, False):
                return
            self._probe("event.after")
            outbox.sent(seq)

    def _publish_status(self) -> None:
        if not self._connected:
            return
        status = self._status()
        self._told_us = self._clock.mono_us()
        if self._post(self._topics.link_shoe, msgspec.json.encode(status), True):
            self._told, self._status_due = (status.journal, status.head), False

    def _status(self) -> LinkStatus:
        link, decoder, profile = self._link(), self._recorder.decoder, self._recorder.profile
        reports, short_copies, rejected = self._recorder.counts
        heard_us = decoder.heard_us
        return LinkStatus(
            state=(decoder.link if link.held else LinkState.DOWN).value,
            profile=profile.id,
            transport=link.transport,
            last_frame_age_ms=(
                None if heard_us is None else (self._clock.mono_us() - heard_us) // 1_000
            ),
            loss_detection=profile.loss_detection,
            reports=reports,
            short_copies=short_copies,
            rejected=rejected,
            journal=self._recorder.journal,
            head=decoder.expected_head,
            reason="" if link.held else link.reason,
            copies=self._recorder.copies,
            resends=self._recorder.resends,
            hint="; ".join([*([link.hint] if link.hint else []), *self._recorder.notes]),
            opened=link.opened,
        )

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        if self.refused & (self.refused - 1) == 0:
            _log.error("shoe_ack.refused", count=self.refused, reason=reason)
