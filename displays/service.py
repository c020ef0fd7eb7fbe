"""The display service: connects to the bus, and serves the table's screens over HTTP.

A process has one identity on the bus: `console` if people may log in, or `display` if it serves the
scoreboard alone. Both may run at the same time.
"""

import asyncio
from pathlib import Path
from typing import Final

from msgspec import Struct

from displays.app import IDLE_SECONDS, LoginRules, RulesSource, make_app, no_rules
from displays.auth.accounts import UserAccounts
from displays.auth.login_record import LoginRecord
from displays.consoles.layout import TableLayout
from displays.consoles.request_client import ConsoleRequestClient
from displays.consoles.routes import CoupPrinter
from displays.http.server import Certificate, WebServer
from displays.http.site_look import NO_SITE, SiteLook
from displays.live import LiveState
from displays.process import DisplayProcess
from events.clock import Clock
from events.mqtt.bus import BusSettings
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.process_shell import ProcessShell
from events.mqtt.request_client import RequestClient
from events.mqtt.topics import Topics
from events.structured_log import structlog

__all__ = ["DisplayService", "DisplaySettings"]

# Seconds between two checks for a renewed certificate.
_RENEW_S: Final = 60.0

_log: Final = structlog.get_logger()


class DisplaySettings(Struct, frozen=True, kw_only=True):
    """The settings of the service.

    Args:
        section: of the configuration, for messages.
        host: the address to listen at.
        port: the port to listen at; 0 takes a free one.
        names: the server's host names, in addition to its addresses.
        cert: PEM file of the certificate chain; None serves plain HTTP.
        key: PEM file of its key.
        users: the users file; None serves the scoreboard alone.
        betting_s: seconds for which the house keeps betting open; None shows no countdown.
        idle_s: seconds of inactivity that end a session.
        record: the file in which logins are recorded; None for nowhere.
        password_days: days after which a password lets nobody in; None for no end.
        one_session: a further login of a person ends the earlier one.
        layout: of the table, for the dealer's page.
        site: how the pages look.
        sessions: the file that keeps logins over a restart; None keeps none.
        countersign: whether a second signature is given by password.
    """

    section: str = "displays"
    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()
    cert: Path | None = None
    key: Path | None = None
    users: Path | None = None
    betting_s: int | None = None
    idle_s: int = IDLE_SECONDS
    record: Path | None = None
    password_days: int | None = None
    one_session: bool = False
    layout: TableLayout = TableLayout()
    site: SiteLook = NO_SITE
    sessions: Path | None = None
    countersign: bool = False


class DisplayService:
    """Serves the screens of one table.

    Args:
        settings: see `DisplaySettings`.
        topics: the table's topics.
        bus: the broker and the login.
        clock: for ages.
        session: the session number of the service's status, larger than at the last start.
        rules: for the page `/rules`.
        keys: the consoles' message keys; None where they have none.
        printer: renders a coup's page to print; None has none.

    Raises:
        InputError: the users file, the record or the certificate cannot be used, or the address is
            taken.

    Attributes:
        address: the server's URL.
    """

    def __init__(
        self,
        settings: DisplaySettings,
        topics: Topics,
        bus: BusSettings,
        clock: Clock,
        *,
        session: int,
        rules: RulesSource = no_rules,
        keys: PeerKeys | None = None,
        printer: CoupPrinter | None = None,
    ) -> None:
        accounts = UserAccounts(settings.users) if settings.users else None
        origin = f"{topics.site}/{topics.table}"
        recorded = settings.record if accounts else None
        self._record = LoginRecord(recorded, origin, clock) if recorded else None
        self.live = LiveState(clock, betting_s=settings.betting_s)
        requests = RequestClient(topics, keys) if accounts else None
        process = DisplayProcess(
            topics,
            self.live,
            utc_ns=clock.utc_ns(),
            session=session,
            requests=requests,
            logins=self._record.newest if self._record else None,
        )
        self._shell = ProcessShell(process, bus, clock)
        perform = self._shell.performer.perform
        self._certificate = _certificate(settings)
        app = make_app(
            self.live,
            clock,
            accounts=accounts,
            desk=ConsoleRequestClient(requests, perform) if requests else None,
            secure=self._certificate is not None,
            idle_s=settings.idle_s,
            names=settings.names,
            rules=rules,
            layout=settings.layout,
            login_rules=LoginRules(
                record=self._record,
                password_days=settings.password_days,
                one_session=settings.one_session,
            ),
            site=settings.site,
            sessions=settings.sessions,
            printer=printer,
            countersign=settings.countersign,
        )
        self._server = WebServer(
            app,
            section=settings.section,
            host=settings.host,
            port=settings.port,
            certificate=self._certificate,
        )
        self.address = self._server.address

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set; a failure of any part ends the service."""
        _log.info("displays.listening", address=self.address)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(self._server.serve())
            renewing = group.create_task(self._renew())
            await self._shell.run(stop)
            renewing.cancel()
            self.live.close()
            self._server.stop()
            await serving
        if self._record is not None:
            self._record.close()

    async def _renew(self) -> None:
        while self._certificate is not None:
            await asyncio.sleep(_RENEW_S)
            self._certificate.renew()


def _certificate(settings: DisplaySettings) -> Certificate | None:
    if settings.cert is None or settings.key is None:
        return None
    return Certificate(settings.cert, settings.key, settings.section)
