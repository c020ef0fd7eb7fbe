"""Set up and run the demo's machine: data folder, configuration, broker, and service processes."""

import fcntl
import secrets
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec
from msgspec import Struct, field

from baccarat.config.form import TableConfig
from baccarat.config.table import load_config
from baccarat.free_port import free_port
from baccarat.local_brokers.mosquitto import MosquittoBroker
from baccarat.local_brokers.nats import LOOPBACK, EmbeddedBroker
from baccarat.processes.children import Child, first_ended
from baccarat.rulebooks.library import is_file, site_rulebook
from baccarat.services.registry import service_command
from displays.auth.accounts import UserAccount, save_accounts
from displays.auth.passwords import hash_password
from events.errors import InputError, TableError
from events.proof.keys import make_signing_key
from simulators.device.profiles import simulated_form

__all__ = ["LEDGER", "PUBLIC_KEY", "DemoBroken", "DemoOptions", "Machine"]

_SITE: Final = "demo"
_TABLE: Final = "t1"

_CONFIG: Final = """\
# Written by `baccarat demo`.
site = "{site}"
table = "{table}"
rulebook = {rulebook}

[shoe]
url = "pty:{link}*"
profile = {profile}

[bus]
host = "{host}"
port = {port}

[message_keys]
mode = "trust-broker"

[checkpoints]
key = "{key}"

[displays]
host = "{host}"
port = {page}
users = "{users}"
betting_s = {betting_s}

[cage]
ledger = "{ledger}"

[users]
dealer = ["dealer"]
supervisor = ["supervisor"]
wagers = ["wagers"]
cage = ["cage"]
display = ["display"]
console = ["console"]
"""
_KEY: Final = "table.key"
_USERS: Final = "users.toml"
_PEOPLE: Final[Mapping[str, tuple[str, ...]]] = {
    "dealer": ("dealer",),
    "supervisor": ("supervisor",),
}
# How long the simulated dealer keeps betting open, seconds at speed 1.
_BETTING_S: Final = 10
PUBLIC_KEY: Final = "table.pub"
LEDGER: Final = "ledger.sqlite"
# Lines of a service's log that are shown when it ends by itself.
_LAST_LINES: Final = 3


# They mean something in a URL, or in the file that the demo writes.
_ODD_IN_PATHS: Final = frozenset('#?%"\\')


class DemoBroken(TableError):  # noqa: N818 - named for what happened
    """A part of the demo ended by itself."""


class DemoOptions(Struct, frozen=True, kw_only=True):
    """Options of the command line.

    Args:
        rounds: coups to play; None plays until Ctrl-C.
        seed: of cards, wagers and whims.
        speed: 1 is a live table's pace, 0 as fast as possible.
        rulebook: id of the rulebook, or a site's file of one.
        profile: id of the wire profile, or a site's file of one.
        disclosure: `immediate` or `deferred`.
        data: the folder for everything durable; None makes one.
        port: the page's port on loopback; None takes a free one.
        faults: planned faults, by name; may be empty.
        mqtt_port: the broker's port; None takes a free one.
        people: who may log in at the consoles, each with roles.
    """

    rounds: int | None
    seed: int
    speed: float
    rulebook: str
    profile: str
    disclosure: str
    data: Path | None
    port: int | None
    faults: tuple[str, ...] = ()
    mqtt_port: int | None = None
    people: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(_PEOPLE))


class Machine:
    """Broker and services next to the demo's own process; a context manager that stops them.

    Args:
        options: of the command line.
        start_broker: starts another broker than the embedded one, in a folder.
        device: id of the simulated shoe's profile; empty is ours that speaks the options' one.

    Raises:
        InputError: there is no such rulebook or profile, or both ports are one.

    Attributes:
        rulebook: that the table plays by.
        profile: id of the simulated shoe's.
    """

    def __init__(
        self,
        options: DemoOptions,
        start_broker: Callable[[Path], EmbeddedBroker | MosquittoBroker] | None = None,
        *,
        device: str = "",
    ) -> None:
        self.rulebook = site_rulebook(options.rulebook)
        self.profile = device or simulated_form(options.profile)
        if options.port is not None and options.port == options.mqtt_port:
            raise InputError(f"--mqtt-port: {options.port} is --port already; give it another")
        self._options = options
        self._start_broker = start_broker or partial(EmbeddedBroker.start, port=options.mqtt_port)
        self._stack = ExitStack()
        self._children: list[tuple[Child, Path]] = []
        self.data = options.data or Path(tempfile.mkdtemp(prefix="baccarat-demo-"))
        self.link = self.data.absolute() / "line" / "shoe"
        self._killed: set[int] = set()
        self.config: TableConfig | None = None
        self.password: str | None = None  # people's passwords, where their file was made just now

    def __enter__(self) -> Self:
        with self._stack:  # undone, in order, when anything below fails
            self._prepare()
            self._broker = self._start_broker(self.data.absolute() / "broker")
            self._stack.enter_context(self._broker)
            self.config = self._write_config(self._broker.port)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def table(self) -> TableConfig:
        """The table's configuration, once the machine is up."""
        assert self.config is not None  # noqa: S101 - entered
        return self.config

    @property
    def address(self) -> str:
        """The scoreboard's URL."""
        displays = self.table.displays
        assert displays is not None  # noqa: S101 - written by us
        return f"http://{displays.host}:{displays.port}/"

    @property
    def pids(self) -> dict[str, int]:
        """The processes by name, with the broker's."""
        return {"broker": self._broker.pid} | {child.name: child.pid for child, _ in self._children}

    def start(self, service: str) -> None:
        """Start a service's own process; its log goes to `<service>.log` in the data folder."""
        output = self.data / f"{service}.log"
        command = service_command(self.data / "table.toml", service)
        child = Child.start(command, name=service, output=output)
        self._children.append((self._stack.enter_context(child), output))

    async def restart(self, service: str) -> None:
        """Kill a service, as a power cut would, and start it again."""
        for index, (child, _) in enumerate(self._children):
            if child.name == service:
                self._killed.add(child.pid)
                child.kill()
                del self._children[index]
                break
        self.start(service)

    def stop_services(self) -> None:
        """Stop the services in order; the broker keeps running."""
        for child, _ in reversed(self._children):
            child.stop()

    async def watch(self) -> None:
        """Wait until a service or the broker ends by itself, which is a failure.

        Raises:
            DemoBroken: with the last lines of the service's log.
        """
        while True:
            logs = dict([*self._children, (self._broker.child, self._broker.log)])
            child = await first_ended(logs)
            if child.pid not in self._killed:
                output = logs[child]
                words = " | ".join(output.read_text("utf-8", "replace").splitlines()[-_LAST_LINES:])
                raise DemoBroken(
                    f"the {child.name} has ended with code {child.code}; it said: {words}"
                )

    def _prepare(self) -> None:
        odd = sorted(set(str(self.data.absolute())) & _ODD_IN_PATHS)
        if odd:
            raise InputError(f"--data {self.data}: a path with {' '.join(odd)} is no shoe link's")
        if self._options.port is not None:
            _refuse_taken(self._options.port)
        try:
            self.data.mkdir(0o700, parents=True, exist_ok=True)
            lock = self._stack.enter_context((self.data / ".lock").open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"--data {self.data}: another demo plays there") from error
        except OSError as error:
            raise InputError(
                f"--data {self.data}: {error.strerror}; name a folder that this user may write"
            ) from error

    def _write_config(self, port: int) -> TableConfig:
        key = self.data / _KEY
        if not key.exists():
            made = make_signing_key(key, f"{_SITE}/{_TABLE}")
            (self.data / PUBLIC_KEY).write_text(f"{made.verifier}\n", encoding="utf-8")
        users = self.data / _USERS
        if not users.exists():
            self.password = secrets.token_urlsafe(9)
            account = hash_password(self.password)
            save_accounts(
                users,
                {
                    name: UserAccount(password=account, roles=roles)
                    for name, roles in self._options.people.items()
                },
            )
        path = self.data / "table.toml"
        path.write_text(
            _CONFIG.format(
                site=_SITE,
                table=_TABLE,
                rulebook=_named(self._options.rulebook),
                link=self.link,
                profile=_named(self._options.profile),
                host=LOOPBACK,
                port=port,
                key=_KEY,
                ledger=LEDGER,
                page=self._options.port or free_port(),
                users=_USERS,
                betting_s=max(1, round(_BETTING_S / (self._options.speed or 1000))),
            ),
            encoding="utf-8",
        )
        return load_config(path)


def _refuse_taken(port: int) -> None:
    """Report at once that the page's port is taken; otherwise only its service's log would.

    Raises:
        InputError: the port is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise InputError(f"--port {port}: {error.strerror}") from error


def _named(name: str) -> str:
    """Return an id, or a file's absolute path, as a string of TOML."""
    found = str(Path(name).absolute()) if is_file(name) else name
    return msgspec.json.encode(found).decode()  # TOML's escapes are those of JSON
