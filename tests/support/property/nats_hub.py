"""A property's hub as real processes on loopback: nodes with TLS and logins, and leaves."""

import json
import secrets
import shutil
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any, Final

import bcrypt
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import Error as JetStreamError

from baccarat.atomic_files import write_atomically
from baccarat.local_brokers.nats import LOOPBACK, find_nats_server
from baccarat.processes.children import Child
from events.errors import BusError
from property.hub.connection import HubSettings, StreamLimits, connect, ensure_streams
from property.hub.server_conf import (
    ROLES,
    SYSTEM,
    HubLogin,
    HubNode,
    LeafNode,
    LeafTable,
    accounts_conf,
    hub_conf,
    leaf_conf,
)
from tests.support.brokers.certificates import pki_with
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until, until_blocking

HUB_ERRORS: Final = (BusError, NatsError, JetStreamError, TimeoutError, OSError)
"""Of a hub that has just started, or is short of time, and may be without a leader."""

# The lowest that bcrypt has: the passwords are long and random.
_ROUNDS: Final = 4
_AGAIN_S: Final = 0.2


class Hub:
    """A hub's nodes. `start_all`, and stop it at the end; or use `running_hub`.

    Args:
        folder: for everything.
        tables: `<site>/<table>` of those that have a login.
        nodes: how many; one is no cluster, and its streams have one copy.
        host: the address they listen at.
    """

    def __init__(
        self, folder: Path, tables: Iterable[str] = (), nodes: int = 3, host: str = LOOPBACK
    ) -> None:
        self.folder, self._host = folder, host
        self.passwords = {who: secrets.token_urlsafe(18) for who in (*ROLES, SYSTEM, *tables)}
        pki = pki_with(folder / "pki", "client", owner="property")
        self.nodes: list[HubNode] = []
        for number in range(1, nodes + 1):
            name = f"hub{number}"
            pki.issue(name, [host], client=True)
            self.nodes.append(self._node(name))
        self._children: dict[int, Child] = {}
        self._leaves: list[Leaf] = []

    def _node(self, name: str) -> HubNode:
        client, cluster, leaves, monitor = (free_port() for _ in range(4))
        return HubNode(
            name=name,
            host=self._host,
            clients=client,
            cluster=cluster,
            leaves=leaves,
            monitor=monitor,
            store=str(self.folder / name / "store"),
            store_most="20GB",
            pki=str(self.folder / "pki"),
        )

    @property
    def limits(self) -> StreamLimits:
        """As many copies as nodes, of little."""
        return StreamLimits(replicas=len(self.nodes), event_bytes=1024**3)

    def settings(self, who: str, node: int | None = None) -> HubSettings:
        """How that login comes in, at one node or at any."""
        nodes = self.nodes if node is None else [self.nodes[node]]
        pki = self.folder / "pki"
        return HubSettings(
            servers=tuple(f"tls://{each.host}:{each.clients}" for each in nodes),
            who=who,
            password=self.passwords[who],
            ca=pki / "ca.pem",
            cert=pki / "client.pem",
            key=pki / "client.key",
        )

    def start_all(self) -> None:
        """Start every node that does not run, and wait until all are in order."""
        self._write_accounts()
        for number in range(len(self.nodes)):
            if number not in self._children:
                self._launch(number)
        for number in range(len(self.nodes)):
            self._await(number)

    def start(self, number: int, *, wait: bool = True) -> None:
        """Start a node again, and wait until it has caught up."""
        self._launch(number)
        if wait:
            self._await(number)

    def kill(self, number: int) -> None:
        """SIGKILL."""
        self._children.pop(number).kill()

    def stop(self, number: int) -> None:
        """Stop a node in order."""
        self._children.pop(number).stop()

    def wipe(self, number: int) -> None:
        """Take away what a node, which does not run, has stored."""
        assert number not in self._children
        shutil.rmtree(self._store(number))

    def copy(self, number: int) -> Path:
        """What a stopped node has stored, as a backup of it."""
        assert number not in self._children
        target = self.folder / f"copy-{secrets.token_hex(4)}"
        shutil.copytree(self._store(number), target)
        return target

    def restore(self, number: int, copy: Path) -> None:
        """Put a copy in the place of what a stopped node has stored."""
        self.wipe(number)
        shutil.copytree(copy, self._store(number))

    def alive(self) -> list[int]:
        """The numbers of the nodes that run."""
        return sorted(self._children)

    def pid(self, number: int) -> int:
        """A node's process."""
        return self._children[number].pid

    def leaf(
        self,
        tables: Sequence[str],
        prefix: Sequence[str] = (),
        edit: Callable[[str], str] | None = None,
    ) -> "Leaf":
        """A controller's leaf for these tables, started.

        Args:
            tables: `<site>/<table>` of each.
            prefix: what goes before its command.
            edit: changes its configuration, as a controller's owner may.
        """
        leaf = Leaf(self, f"leaf{len(self._leaves) + 1}", tables, prefix)
        if edit is not None:
            leaf.conf.write_text(edit(leaf.conf.read_text("utf-8")), "utf-8")
        self._leaves.append(leaf)
        leaf.start()
        return leaf

    def monitor(self, number: int, path: str) -> dict[str, Any]:
        """What a node says of itself at `/healthz`, `/jsz`, `/varz` and the like."""
        return _asked(self.nodes[number].monitor, path)

    def leader(self, stream: str) -> int | None:
        """The number of the node that leads a stream, or None while there is none."""
        for number in self.alive():
            with suppress(OSError):
                told = self.monitor(number, "jsz?streams=1")
                for account in told.get("account_details", []):
                    for each in account.get("stream_detail", []):
                        name = each.get("cluster", {}).get("leader", self.nodes[number].name)
                        if each["name"] == stream and name:
                            return [node.name for node in self.nodes].index(name)
        return None

    def close(self) -> None:
        """Stop everything."""
        for leaf in self._leaves:
            leaf.stop()
        for number in self.alive():
            self.stop(number)

    def _store(self, number: int) -> Path:
        return Path(self.nodes[number].store)

    def _write_accounts(self) -> None:
        hashed = (
            HubLogin(who, bcrypt.hashpw(password.encode(), bcrypt.gensalt(_ROUNDS)).decode())
            for who, password in self.passwords.items()
        )
        text = accounts_conf(list(hashed))
        for node in self.nodes:
            place = self.folder / node.name
            place.mkdir(exist_ok=True)
            # In one step: a node that was started a moment ago may be about to read it.
            write_atomically(place / "accounts.conf", text.encode(), 0o600)
            write_atomically(place / "nats-server.conf", hub_conf(node, self.nodes).encode(), 0o600)

    def _launch(self, number: int) -> None:
        place = self.folder / self.nodes[number].name
        self._children[number] = Child.start(
            [find_nats_server(), "-c", place / "nats-server.conf"],
            name=place.name,
            output=place / "log",
        )

    def _await(self, number: int) -> None:
        def healthy() -> bool:
            child = self._children[number]
            log = self.folder / self.nodes[number].name / "log"
            assert child.code is None, log.read_text(errors="replace")[-2000:]
            with suppress(OSError, HTTPException, ValueError):  # it has just come up
                return self.monitor(number, "healthz").get("status") == "ok"
            return False

        until_blocking(healthy, f"{self.nodes[number].name} is in order")


class Leaf:
    """A controller's own nats-server, with a line to the hub for each of its tables."""

    def __init__(self, hub: Hub, name: str, tables: Sequence[str], prefix: Sequence[str]) -> None:
        self._hub, self._prefix = hub, tuple(prefix)
        self._place = hub.folder / name
        self._place.mkdir()
        self.port = free_port()
        pki = hub.folder / "pki"
        place = LeafNode(
            name=name,
            port=self.port,
            pki=str(pki),
            cert=str(pki / "client.pem"),
            key=str(pki / "client.key"),
        )
        behind = [LeafTable(each, hub.passwords[each]) for each in tables]
        self.conf = self._place / "nats-server.conf"
        self.conf.write_text(leaf_conf(place, hub.nodes, behind), "utf-8")
        self._child: Child | None = None

    def settings(self, origin: str) -> HubSettings:
        """How a table's uplink comes to it."""
        return HubSettings(
            servers=(f"nats://{LOOPBACK}:{self.port}",),
            who=origin,
            password=self._hub.passwords[origin],
        )

    def start(self) -> None:
        """Start it."""
        self._child = Child.start(
            [*self._prefix, find_nats_server(), "-c", self.conf],
            name=self._place.name,
            output=self._place / "log",
        )

    def kill(self) -> None:
        """SIGKILL."""
        assert self._child is not None
        self._child.kill()
        self._child = None

    def stop(self) -> None:
        """Stop it in order, if it runs."""
        if self._child is not None:
            self._child.stop()
            self._child = None


def _asked(port: int, path: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/{path}", timeout=2) as answer:
            told: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        told = json.load(error)
    return told


@contextmanager
def running_hub(folder: Path, tables: Iterable[str] = (), nodes: int = 3) -> Iterator[Hub]:
    """A hub that runs, without streams; gone at the end."""
    hub = Hub(folder, tables, nodes)
    try:
        hub.start_all()
        yield hub
    finally:
        hub.close()


@asynccontextmanager
async def signed_in(hub: Hub, who: str = "keeper", node: int = 0) -> AsyncIterator[Client]:
    """Somebody's connection to one of the nodes, while the block lasts."""
    client = await connect(hub.settings(who), node)
    try:
        yield client
    finally:
        await client.close()


async def made_streams(hub: Hub, *, anew: bool = False) -> None:
    """Make the hub's streams, or fail.

    Args:
        hub: it runs.
        anew: take away those that are there, with all that they hold.
    """
    attempts = count()

    async def made() -> bool:
        async with signed_in(hub, node=next(attempts)) as keeper:
            js = JetStreamContext(keeper, timeout=15)
            for each in await js.streams_info() if anew else ():
                await js.delete_stream(str(each.config.name))
            await ensure_streams(js, hub.limits)
        return True

    await until(made, "the hub has its streams", every=_AGAIN_S, despite=HUB_ERRORS)
