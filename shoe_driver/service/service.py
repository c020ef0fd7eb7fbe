"""The driver's service: connects port, journal and bus, and stops them in order."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog
from msgspec import Struct

from events.clock import Clock
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.presence import PresencePublisher
from events.mqtt.process_shell import Performer
from events.mqtt.topics import Topics
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.profiles.catalogue import profile_text
from shoe_driver.profiles.profile import parse_profile
from shoe_driver.service.event_sender import EventSender, PortStatus
from shoe_driver.service.link_supervisor import LinkSupervisor
from shoe_driver.service.recorder import Recorder
from shoe_driver.service.retention import JournalRetention
from shoe_driver.transports.endpoint import parse_url

__all__ = ["SERVICE", "DriverConfig", "DriverService", "no_probe"]

SERVICE: Final = "shoe"

_TICK_S: Final = 0.1
_TIDY_S: Final = 60.0
# For publishing "offline", after the link's end was stored. A hanging disk must not keep us.
_OFFLINE_S: Final = 3.0

_log: Final = structlog.get_logger()


class DriverConfig(Struct, frozen=True, kw_only=True):
    """The settings of one driver.

    Args:
        topics: the table's topics.
        url: where the shoe is connected; see `endpoint`.
        profile: the wire profile's name, or the path of a site's own.
        journal_dir: the folder of its journals; one driver's alone.
        keep: how large their files grow, and how long they are kept.
    """

    topics: Topics
    url: str
    profile: str
    journal_dir: Path
    keep: JournalRetention = JournalRetention()


def no_probe(_: str) -> None:
    """Do nothing: the probe in production."""


class DriverService:
    """Runs the shoe link of one table until it is cancelled.

    Args:
        config: its settings.
        bus_settings: how to reach the broker.
        clock: stamps what arrives.
        rng: the random part of the pauses between attempts.
        probe: called at each step: `journal.before`, `journal.after`, `event.before`,
            `event.after`, `ack.received`. Tests pass one that kills the process.

    Raises:
        InputError: the URL, the profile or the folder is invalid.
    """

    def __init__(
        self,
        config: DriverConfig,
        bus_settings: BusSettings,
        clock: Clock,
        rng: random.Random,
        probe: Callable[[str], None] = no_probe,
    ) -> None:
        self._config = config
        self._bus_settings = bus_settings
        self._clock = clock
        self._rng = rng
        self._probe = probe
        self._profile = profile_text(config.profile)
        wanted = parse_profile(self._profile, source=config.profile)
        self._endpoint = parse_url(config.url, baud=wanted.serial.baud)

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            InputError: the journal's folder cannot be used, or another driver uses it.
            LogRefused: the journal is damaged.
            LogUnwritable: there is no journal yet and none can be begun.
            ExceptionGroup: a part failed; the service fails closed.
        """
        with JournalFolder(self._config.journal_dir) as folder:
            session = folder.next_session()
            recorder = await asyncio.to_thread(
                Recorder, folder, self._profile, self._clock, self._probe, self._config.keep
            )
            try:
                await self._serve(recorder, session)
            finally:
                recorder.close()

    async def _serve(self, recorder: Recorder, session: int) -> None:
        topics = self._config.topics
        presence = PresencePublisher(topics.status(SERVICE), session, self._clock.utc_ns())

        async def on_connect() -> None:
            performer.perform_at_once(presence.announce())
            event_sender.connected()

        async def on_own_status(message: Message) -> None:
            performer.perform_at_once(presence.on_own_status(message))

        def view() -> PortStatus:
            return PortStatus(
                intake.held, intake.reason, str(self._endpoint), intake.hint, intake.opened
            )

        def post(topic: str, payload: bytes, retain: bool) -> bool:
            return bus.post(topic, payload, retain=retain)

        event_sender = EventSender(topics, recorder, view, post, self._clock, self._probe)
        intake = LinkSupervisor(
            self._endpoint, recorder, self._clock, self._rng, event_sender.changed
        )
        recorder.on_events = event_sender.on_events
        bus = Bus(
            self._bus_settings,
            subscriptions={
                topics.shoe_ack: event_sender.on_ack,
                presence.topic: on_own_status,
            },
            will=presence.will,
            on_connect=on_connect,
            on_disconnect=event_sender.disconnected,
            rng=self._rng,
        )
        performer = Performer(bus, self._clock)
        async with asyncio.TaskGroup() as tasks:
            others = [
                tasks.create_task(bus.run()),
                tasks.create_task(performer.perform(presence.beat())),
                tasks.create_task(_tick(recorder, event_sender)),
                tasks.create_task(_tidy(recorder)),
            ]
            try:
                await intake.run()
            finally:
                await _publish_offline(performer, presence)
                for task in others:
                    task.cancel()


async def _tick(recorder: Recorder, event_sender: EventSender) -> None:
    while True:
        await asyncio.sleep(_TICK_S)
        await recorder.refill()
        event_sender.tick()


async def _tidy(recorder: Recorder) -> None:
    while True:
        await asyncio.sleep(_TIDY_S)
        await recorder.drop_old_files()


async def _publish_offline(performer: Performer, presence: PresencePublisher) -> None:
    try:
        async with asyncio.timeout(_OFFLINE_S):
            await performer.perform(presence.publish_offline())
    except TimeoutError:
        _log.warning("farewell.unheard")
