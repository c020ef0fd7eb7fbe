"""Set up and run many tables on this machine: one broker, and one process a service for all."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from baccarat.config.form import TableConfig
from baccarat.config.table import load_config
from baccarat.demo.machine import DemoBroken
from baccarat.local_brokers.mosquitto import MosquittoBroker
from baccarat.local_brokers.nats import LOOPBACK, EmbeddedBroker
from baccarat.processes.children import Child, first_ended
from baccarat.services.registry import service_command
from events.proof.keys import make_signing_key

__all__ = ["SITE", "BrokerKind", "Pit"]

SITE: Final = "casino"
_SERVICES: Final = ("shoe", "table")
_RULEBOOK: Final = "au-commission"
_KEY: Final = "table.key"
_CONFIG: Final = """\
# Written by `baccarat sim casino`.
site = "{site}"
table = "{table}"
rulebook = "{rulebook}"

[shoe]
url = "pty:{link}"

[bus]
host = "{host}"
port = {port}

[message_keys]
mode = "trust-broker"

[checkpoints]
key = "{key}"
"""
BrokerKind = Literal["mosquitto", "nats"]
_BROKERS: Final[Mapping[str, Callable[[Path], EmbeddedBroker | MosquittoBroker]]] = {
    "mosquitto": MosquittoBroker.start,
    "nats": EmbeddedBroker.start,
}


class Pit:
    """Broker and services of many tables; as a context manager they stop at its end.

    Args:
        tables: how many.
        data: the folder for everything durable.
        broker: `nats`, which is ours, or `mosquitto`, which is the distribution's.
    """

    def __init__(self, tables: int, data: Path, broker: BrokerKind = "mosquitto") -> None:
        self._tables = tables
        self._kind = broker
        self._data = data.absolute()
        self._stack = ExitStack()
        self._children: list[Child] = []
        self.configs: list[TableConfig] = []

    def __enter__(self) -> Self:
        with self._stack:  # undone, in order, when anything below fails
            self.broker = _BROKERS[self._kind](self._data / "broker")
            self._stack.enter_context(self.broker)
            paths = [self._write(number) for number in range(1, self._tables + 1)]
            self.configs = [load_config(path) for path in paths]
            for name in _SERVICES:
                command = service_command(paths[0], name, *paths[1:])
                child = Child.start(command, name=name, output=self._data / f"{name}.log")
                self._children.append(self._stack.enter_context(child))
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
    def pids(self) -> Mapping[str, int]:
        """The processes by name, with the broker's."""
        return {"broker": self.broker.pid} | {child.name: child.pid for child in self._children}

    def link(self, config: TableConfig) -> Path:
        """Return the path where a table's shoe is plugged in."""
        return Path(config.shoe.url.removeprefix("pty:"))

    async def watch(self) -> None:
        """Wait until a service or the broker ends by itself, which is a failure.

        Raises:
            DemoBroken: names it and its log.
        """
        child = await first_ended([*self._children, self.broker.child])
        raise DemoBroken(
            f"the {child.name} has ended with code {child.code}; see {self._data}/{child.name}.log"
        )

    def _write(self, number: int) -> Path:
        table = f"t{number:04d}"
        folder = self._data / table
        folder.mkdir(parents=True)
        make_signing_key(folder / _KEY, f"{SITE}/{table}")
        path = folder / "table.toml"
        path.write_text(
            _CONFIG.format(
                site=SITE,
                table=table,
                rulebook=_RULEBOOK,
                link=folder / "shoe",
                host=LOOPBACK,
                port=self.broker.port,
                key=_KEY,
            ),
            encoding="utf-8",
        )
        return path
