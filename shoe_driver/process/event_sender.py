"""The event sender: publish events and link status to the core, and apply its acknowledgements.

The core must not believe that it has caught up when it has not. So if there are several events,
`link/shoe` with the new head goes out before them. Reports that wait for a missing one count as
well: they will get numbers. A single event that is itself the head shows that by its number. It
waits for no other message, and `link/shoe` follows when no event has gone out for a tick.
(mosquitto keeps that order. nats-server keeps it within one topic only: there an event may arrive
just before its head, and raises the head itself.)

The sender posts events without waiting. It resends them, in order, from the last acknowledged one:
when the core asks, after every connect, and when nothing has moved for a while. It refuses bad
messages by value: junk, retained acknowledgements, and those of another journal or beyond our head.
It counts them, and logs the first and every power of two.
"""

from typing import Final

import msgspec
from msgspec import Struct

from events.errors import MalformedJson
from events.json_form import decode_json
from events.mqtt.messages import Message
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.process import LogLine, Now, Post, Signal, Steps, Wait
from events.mqtt.topics import Topics
from events.types import LinkStatus, ShoeAck
from shoe_driver.link.states import LinkState
from shoe_driver.outbox import AckOutcome
from shoe_driver.process.effects import AckReceived
from shoe_driver.process.recorder import Recorder

__all__ = ["EventSender", "PortStatus"]

# The core acknowledges within milliseconds. After a second without one, something was lost. If the
# core itself is gone, ever rarer attempts are enough: it sends a hello when it is back.
_RESEND_FIRST_US: Final = 1_000_000
_RESEND_MOST_US: Final = 8_000_000
# The core acknowledges every duplicate again; not every such acknowledgement may start a resend.
_REPEAT_US: Final = 200_000
# The greatest age of `link/shoe` and of the note of the acknowledged number.
_STATUS_EVERY_US: Final = 2_000_000
# From what a tick has to do to the tick; and at most between two: shorter than the first resend, so
# that of what was sent after a tick nothing is due before the next.
_TICK_US: Final = 100_000
_REST_US: Final = 900_000
_US: Final = 1_000_000


class PortStatus(Struct):
    """The state of the port; the link supervisor keeps it.

    Args:
        transport: where the shoe is connected.
        held: whether the port is open.
        reason: why the link is down; never empty.
        hint: advice to a person; empty when all is well.
        opened: how often the port was opened.
    """

    transport: str
    held: bool = False
    reason: str = "starting"
    hint: str = ""
    opened: int = 0


class EventSender:
    """Publishes events and link status to the core.

    Args:
        topics: the table's topics.
        recorder: the source of events, and their record.
        port: the port's state.
        keys: the driver's; without, nothing is proved and every acknowledgement counts.

    Attributes:
        refused: acknowledgements that were refused.
    """

    def __init__(
        self, topics: Topics, recorder: Recorder, port: PortStatus, keys: PeerKeys | None = None
    ) -> None:
        self.refused = 0
        self._keys = keys or PeerKeys()
        self._topics = topics
        self._recorder = recorder
        self._port = port
        self._connected = False
        self._told: tuple[str, int] = ("", 0)  # the journal and the head that were published
        self._status_due = False  # the head went out as an event; link/shoe must still follow
        self._event_us = 0  # when that was
        self._told_us = 0
        self._moved_us = 0
        self._patience_us = _RESEND_FIRST_US
        self._stirred = Signal()

    def connected(self) -> Steps[None]:
        """Publish everything unacknowledged again: the bus is connected."""
        self._connected = True
        yield from self._again()

    def disconnected(self) -> None:
        """Stop publishing: the bus is gone, and so is everything it had."""
        self._connected = False

    def on_events(self) -> Steps[None]:
        """Publish new events, if there are any."""
        newest = (self._recorder.journal, self._recorder.decoder.expected_head)
        if self._told != newest:
            if self._connected and self._head_is_all_there_is():
                self._told, self._status_due = newest, True
                self._event_us = (yield from Now()).mono_us
            else:
                yield from self.publish_status()
        yield from self._send()

    def rest(self) -> Steps[None]:
        """Wait until it is time for a tick."""
        self._stirred.clear()
        if self._is_owing():
            yield from Wait(_TICK_US / _US)
            return
        now = (yield from Now()).mono_us
        due_us = self._told_us + _STATUS_EVERY_US if self._connected else now + _REST_US
        if self._connected and self._recorder.outbox.waiting:
            due_us = min(due_us, self._moved_us + self._patience_us)
        rest_us = max(_TICK_US, min(due_us - now, _REST_US))
        yield from Wait(rest_us / _US, self._stirred, _TICK_US / _US)

    def tick(self) -> Steps[None]:
        """Resend what is stuck and publish what is stale. Call it after each `rest`."""
        if not self._connected:
            return
        now = (yield from Now()).mono_us
        if now - self._told_us > _STATUS_EVERY_US:
            yield from self.publish_status()
            yield from self._recorder.note_acked()
        elif self._status_due and now - self._event_us >= _TICK_US:
            yield from self.publish_status()  # not among events, each of which shows the head too
        if self._recorder.outbox.waiting and now - self._moved_us > self._patience_us:
            self._patience_us = min(self._patience_us * 2, _RESEND_MOST_US)
            self._recorder.outbox.resend()
            self._moved_us = now
        yield from self.on_events()

    def on_ack(self, message: Message) -> Steps[None]:
        """Apply a message of the core: an acknowledgement, or a hello."""
        yield from AckReceived()
        body = yield from self._keys.checked(message.topic, message.payload)
        if body is None:
            yield from self._refuse("nothing proves that the table sent it")
            return
        try:
            ack = decode_json(body, ShoeAck)
        except MalformedJson as error:
            yield from self._refuse(f"unreadable: {error}")
            return
        if message.retain:
            yield from self._refuse("retained: it may be of any age")
        elif ack.journal == self._recorder.journal:
            if ack.hello and ack.seq > self._recorder.decoder.head:
                yield from self._recorder.abandon(ack.seq)
            yield from self._acknowledged(ack.seq, hello=ack.hello)
            if ack.settled is not None:
                self._recorder.release(ack.settled)
        elif ack.hello:
            # The core does not have this journal at all: send it from the first event on.
            yield from self._recorder.check_older_journal(ack.journal, ack.seq)
            yield from self._acknowledged(0, hello=True)
        elif ack.journal:  # none: the core has not heard of any driver yet
            yield from self._refuse(f"of another journal: {ack.journal!r}")

    def publish_status(self) -> Steps[None]:
        """Publish the link's status: the port was opened or lost, or the last one is too old."""
        if not self._connected:
            return
        now = (yield from Now()).mono_us
        status = self._status(now)
        self._told_us = now
        topic = self._topics.link_shoe
        body = yield from self._keys.authenticated(topic, msgspec.json.encode(status))
        if (yield from Post(topic, body, retain=True)):
            self._told, self._status_due = (status.journal, status.head), False

    def _acknowledged(self, seq: int, *, hello: bool) -> Steps[None]:
        outcome = self._recorder.outbox.acknowledge(seq)
        now = (yield from Now()).mono_us
        asked = outcome is AckOutcome.REPEATED and now - self._moved_us > _REPEAT_US
        if outcome is AckOutcome.BEYOND:
            there = self._recorder.decoder.head
            yield from self._refuse(f"of event {seq}, and there are {there}")
        elif outcome is AckOutcome.REWOUND:
            fields = {"journal": self._recorder.journal, "to": seq}
            yield from LogLine("warning", "outbox.rewound", fields)
            asked = True
        elif outcome is AckOutcome.ADVANCED:
            self._moved_us, self._patience_us = now, _RESEND_FIRST_US
        if hello or asked:
            yield from self._again()
        else:
            yield from self._send()

    def _again(self) -> Steps[None]:
        """Publish the link's status, and resend everything after the last acknowledged event."""
        self._moved_us, self._patience_us = (yield from Now()).mono_us, _RESEND_FIRST_US
        self._recorder.outbox.resend()
        yield from self.publish_status()
        yield from self._send()

    def _is_owing(self) -> bool:
        """Report whether a tick has something to do soon, and not only when time has passed."""
        outbox = self._recorder.outbox
        sends = self._connected and (self._status_due or any(outbox.due()))
        return sends or outbox.lacks is not None

    def _head_is_all_there_is(self) -> bool:
        """Report whether the head is the only event to send now, so that nothing follows it.

        A core that does not know the journal yet takes no head from an event.
        """
        due = [seq for seq, _ in self._recorder.outbox.due()]
        return self._told[0] == self._recorder.journal and due == [
            self._recorder.decoder.expected_head
        ]

    def _send(self) -> Steps[None]:
        """Send the due events; let a tick come soon if one must follow."""
        yield from self._pump()
        if self._is_owing():
            self._stirred.set()

    def _pump(self) -> Steps[None]:
        """Send the due events up to the published head; one that cannot go out waits for a tick."""
        outbox, (journal, head) = self._recorder.outbox, self._told
        if not self._connected or journal != self._recorder.journal:
            return
        if not outbox.waiting:
            self._moved_us = (yield from Now()).mono_us
        for seq, message in outbox.due():
            if seq > head:
                return
            body = yield from self._keys.authenticated(self._topics.shoe_event, message)
            if not (yield from Post(self._topics.shoe_event, body, step="event")):
                return
            outbox.sent(seq)

    def _status(self, now_us: int) -> LinkStatus:
        port, decoder, profile = self._port, self._recorder.decoder, self._recorder.profile
        reports, short_copies, rejected = self._recorder.counts
        heard_us = decoder.heard_us
        state = decoder.link if port.held else LinkState.DOWN
        return LinkStatus(
            state=state.value,
            profile=profile.id,
            transport=port.transport,
            last_frame_age_ms=None if heard_us is None else (now_us - heard_us) // 1_000,
            loss_detection=profile.loss_detection,
            reports=reports,
            short_copies=short_copies,
            rejected=rejected,
            journal=self._recorder.journal,
            head=decoder.expected_head,
            reason=port.reason if state is LinkState.DOWN else "",
            copies=self._recorder.copies,
            resends=self._recorder.resends,
            hint="; ".join([*filter(None, (port.hint, self._doubt())), *self._recorder.notes]),
            opened=port.opened,
        )

    def _doubt(self) -> str:
        """Return what a person should know of acknowledgements that the table did not prove."""
        count = self._keys.refused
        if not count:
            return ""
        return f"{count} acknowledgements were not the table's, or it lacks the driver's key"

    def _refuse(self, reason: str) -> Steps[None]:
        self.refused += 1
        if self.refused & (self.refused - 1) == 0:
            fields = {"count": self.refused, "reason": reason}
            yield from LogLine("error", "shoe_ack.refused", fields)
