"""A whole table with screens for people: real broker, core, driver and web server, in a thread.

The shoe is a pseudo-terminal that says what the test says; the browser is the test's own.
"""

import asyncio
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import msgspec
from msgspec import Struct
from paho.mqtt import publish

from baccarat.config.form import TableConfig
from baccarat.config.table import load_config
from baccarat.services.screens import serve_displays
from baccarat.services.shoe import serve as serve_shoe
from baccarat.services.table import serve as serve_table
from displays.auth.accounts import UserAccount, save_accounts
from events.clock import SystemClock
from events.log.store import EventLog
from events.proof.keys import make_signing_key
from events.types import WagersPlaced, decode_data, decode_envelope
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.service.service import TableService
from table_core.service.table import Table
from tests.support.brokers.brokers import Broker, running
from tests.support.machine.ports import free_port
from tests.support.machine.tasks import loop_apart
from tests.support.machine.waiting import until_blocking
from tests.support.service.console_site import PASSWORD, SECRET
from tests.support.shoe.shoe_bytes import frames
from tests.support.shoe.shoe_line import ShoePort

__all__ = ["PASSWORD", "ConsoleTable", "Placed", "console_table"]

_COPIES: Final = 3
_PEOPLE: Final = {
    "dora": ("dealer",),
    "sam": ("supervisor",),
    "both": ("dealer", "supervisor"),
    "tec": ("technician",),
}
_CONFIG: Final = """\
site = "harbour"
table = "b7"
rulebook = "{rulebook}"

[shoe]
url = "{shoe}"
profile = "enq-bcc"

[bus]
host = "127.0.0.1"
port = {port}

[displays]
port = {page}
users = "users.toml"
record = "logins.jsonl"
betting_s = 20

[checkpoints]
key = "b7.key"
"""


class Placed(NamedTuple):
    """A wager as the log has it, and who placed it."""

    actor: str
    seat: int
    bet: str
    stake: int


class ConsoleTable(Struct, kw_only=True):
    """The table under test.

    Args:
        broker: to be killed.
        shoe: the shoe's end of its line.
        address: of the pages, without a slash at its end.
        log: the log's file.
        loop: of the services.
        power: of the table itself.
        key: the log's public key.
    """

    broker: Broker
    shoe: ShoePort
    address: str
    log: Path
    loop: asyncio.AbstractEventLoop
    power: "_Power"
    key: str
    _said: int = 0
    _after: int = 0

    def say(self, reports: str) -> None:
        """Have the shoe say comma-separated reports, each in copies, with its running number."""
        for report in reports.split(","):
            [frame] = frames(report, self._said + 1)
            self._said = 0 if report.strip() == "S" else self._said + 1
            self.shoe.say(frame * _COPIES)

    def request(self, user: str, command: str, **fields: object) -> None:
        """Have somebody on the bus ask for something, as the cage does."""
        body = msgspec.json.encode({"transaction": secrets.token_hex(16), **fields})
        topic = f"bac/v1/harbour/b7/request/{user}/{command}"
        publish.single(topic, body, qos=1, hostname="127.0.0.1", port=self.broker.port)

    def turn(self, *, on: bool) -> None:
        """The table's own service ends, or starts again; the others go on."""
        self.loop.call_soon_threadsafe(partial(self.power.turn, on=on))

    def fall_silent(self, seconds: float) -> None:
        """Every service hangs, its connections open, for so long."""
        self.loop.call_soon_threadsafe(time.sleep, seconds)

    def events(self, kind: str) -> int:
        """How many events of a type are in the log, since it was marked."""
        return self._ask("SELECT count(*) FROM event WHERE type = ? AND position > ?", kind)

    def mark(self) -> None:
        """Count events from here on."""
        self._after = self.head()

    def head(self) -> int:
        """The log's newest position."""
        with closing(sqlite3.connect(f"file:{self.log}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT max(position) FROM event").fetchone()[0])

    def placed(self) -> list[Placed]:
        """The wagers of the log in its order, since it was marked."""
        query = (
            "SELECT bytes FROM event WHERE type = 'wagers_placed' AND position > ? "
            "ORDER BY position"
        )
        with closing(sqlite3.connect(f"file:{self.log}?mode=ro", uri=True)) as connection:
            rows = connection.execute(query, (self._after,)).fetchall()
        found = []
        for (stored,) in rows:
            envelope = decode_envelope(stored)
            event = decode_data(envelope)
            assert isinstance(event, WagersPlaced)
            found += [Placed(envelope.actor, w.seat, w.bet, w.stake) for w in event.wagers]
        return found

    def _ask(self, query: str, kind: str) -> int:
        with closing(sqlite3.connect(f"file:{self.log}?mode=ro", uri=True)) as connection:
            return int(connection.execute(query, (kind, self._after)).fetchone()[0])


class _Power:
    """Runs the table, and turns it off and on; of the services' own loop.

    Args:
        config: of the table.
        rulebook: in place of the one that the configuration names.
    """

    def __init__(self, config: TableConfig, rulebook: Rulebook | None) -> None:
        self._config = config
        self._rulebook = rulebook
        self._off, self._on = asyncio.Event(), asyncio.Event()
        self._over = False
        self._on.set()

    async def run(self) -> None:
        """The table, as often as it is turned on."""
        while True:
            await self._on.wait()
            if self._over:
                return
            if self._rulebook is None:
                await serve_table(self._config, self._off)
            else:
                await _serve_by(self._rulebook, self._config, self._off)
            # What inspects a log that was closed is a child of the main thread, which this is not.
            self._rulebook = self._rulebook or load_rulebook(self._config.rulebook)

    def turn(self, *, on: bool) -> None:
        """Off or on."""
        (self._off.clear if on else self._off.set)()
        (self._on.set if on else self._on.clear)()

    def end(self) -> None:
        """Off for good."""
        self._over = True
        self._off.set()
        self._on.set()


async def _serve_by(rulebook: Rulebook, config: TableConfig, stop: asyncio.Event) -> None:
    """The table by a house's own rulebook, whose shoe always says a result."""
    clock = SystemClock()
    with EventLog.open(config.log_path, config.origin) as log:
        table = Table(log, config.topics, rulebook, clock, roles=config.roles()[0])
        await TableService(table, config.bus_settings("table")).run(stop)


@contextmanager
def console_table(
    folder: Path,
    rulebook: str = "au-commission",
    *,
    own: Rulebook | None = None,
    sign_from: int | None = None,
) -> Iterator[ConsoleTable]:
    """The table, until the block ends.

    Args:
        folder: for everything that it keeps.
        rulebook: by which it plays.
        own: by which it plays in place of that, where the house has another.
        sign_from: what a correction moves, minor units, that a second person signs by password.
    """
    save_accounts(
        folder / "users.toml",
        {name: UserAccount(password=SECRET, roles=roles) for name, roles in _PEOPLE.items()},
    )
    key = str(make_signing_key(folder / "b7.key", "harbour/b7").verifier)
    shoe = ShoePort(folder / "shoe")
    with running("nats", folder / "broker") as broker:
        path = folder / "table.toml"
        written = _CONFIG.format(
            rulebook=rulebook, shoe=shoe.url, port=broker.port, page=free_port()
        )
        if sign_from is not None:
            written = f"sign_corrections_from = {sign_from}\n{written}".replace(
                "[displays]\n", "[displays]\ncountersign = true\n"
            )
        path.write_text(written)
        config = load_config(path)
        with _serving(config, own) as (loop, power):
            assert config.displays is not None
            address = f"http://127.0.0.1:{config.displays.port}"
            until_blocking(lambda: _live(address), "the pages are live")
            yield ConsoleTable(
                broker=broker,
                shoe=shoe,
                address=address,
                log=config.log_path,
                loop=loop,
                power=power,
                key=key,
            )
    shoe.unplug()


@contextmanager
def _serving(
    config: TableConfig, own: Rulebook | None
) -> Iterator[tuple[asyncio.AbstractEventLoop, _Power]]:
    """The services in a loop of their own."""
    power = _Power(config, own)

    async def serve(stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(power.run())
            for service in (serve_shoe, serve_displays):
                group.create_task(service(config, stop))
            await stop.wait()
            power.end()

    with loop_apart(serve) as loop:
        yield loop, power


def _live(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
