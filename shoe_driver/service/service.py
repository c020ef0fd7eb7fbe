"""The driver's service: runs the driver's process on a folder, a port and a broker."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from events.clock import Clock
from events.mqtt.bus import BusSettings
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.process import no_probe
from events.mqtt.process_shell import ProcessShell, clock_and_log_lines, perform_at_once
from events.mqtt.topics import Topics
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.process.driver import ENDING_S, DriverProcess
from shoe_driver.process.effects import AckReceived, Uniform
from shoe_driver.process.retention import JournalRetention
from shoe_driver.profiles.catalogue import profile_text
from shoe_driver.profiles.profile import parse_profile
from shoe_driver.service.driver_port import DriverPort
from shoe_driver.service.journal_store import JournalStore
from shoe_driver.transports.endpoint import parse_url

__all__ = ["DriverConfig", "DriverService"]


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


class DriverService:
    """Runs the shoe link of one table.

    Args:
        config: its settings.
        bus_settings: how to reach the broker.
        clock: stamps what arrives.
        rng: the random part of the pauses between attempts.
        probe: called at each step: `journal.before`, `journal.after`, `event.before`,
            `event.after`, `ack.received`. Tests pass one that kills the process.
        keys: the driver's message keys; None where it has none.

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
        *,
        keys: PeerKeys | None = None,
    ) -> None:
        self._keys = keys
        self._config = config
        self._bus_settings = bus_settings
        self._clock = clock
        self._rng = rng
        self._probe = probe
        self._profile = profile_text(config.profile)
        wanted = parse_profile(self._profile, source=config.profile)
        self._endpoint = parse_url(config.url, baud=wanted.serial.baud, line=wanted.serial)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set.

        Raises:
            InputError: the journal's folder cannot be used, or another driver uses it.
            LogRefused: the journal is damaged.
            LogUnwritable: there is no journal yet and none can be begun.
            ExceptionGroup: a part failed; the service fails closed.
        """
        config, clock, probe = self._config, self._clock, self._probe
        with JournalFolder(config.journal_dir) as folder:
            process = DriverProcess(
                config.topics,
                str(self._endpoint),
                self._profile,
                config.keep,
                folder.next_session(),
                clock.utc_ns(),
                self._keys,
            )
            journals, port = JournalStore(folder, clock), DriverPort(self._endpoint, clock)
            shell = ProcessShell(
                process,
                self._bus_settings,
                clock,
                at_once={
                    AckReceived: lambda _: probe("ack.received"),
                    Uniform: lambda effect: self._rng.uniform(effect.least, effect.most),
                    **journals.at_once,
                    **port.at_once,
                },
                waiting={**journals.in_thread, **port.waiting},
                probe=probe,
                rng=self._rng,
                ending_s=ENDING_S,
            )
            start = {**clock_and_log_lines(clock), **journals.in_order}
            try:
                await asyncio.to_thread(perform_at_once, process.start(), start)
                await shell.run(stop)
            finally:
                port.close()
                journals.close()
