"""A worker's rounds: how every node of the hub stands, the streams' room, and this machine.

A node is asked at its own port whether it lets a client in. The streams' leader is asked whether
the node has what the others have. A node whose disk was full goes on without JetStream until it is
started anew: it lets clients in, and the leader misses it.
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import nats.errors
from nats.aio.client import Client

from events.errors import ConfigError
from events.tls import ClientTls
from property.archive.readings import ReadingStore, SaidReading
from property.archive.stream_reader import reader_jetstream
from property.health.readings import Reading
from property.hub.connection import HubSettings
from property.hub.server_conf import login_of
from property.hub.subjects import EVENTS

__all__ = [
    "DoorAnswer",
    "LocalReadings",
    "go_rounds",
    "hub_doors",
    "hub_readings",
    "knock",
    "node_readings",
    "stream_state",
]

LocalReadings = Callable[[], Sequence[Reading]]
"""Reads this machine: its disk, certificates and backups. Blocks."""

_EVERY_S: Final = 4.0
_DOOR_S: Final = 3.0
_JETSTREAM_S: Final = 3.0
# A replica that the leader has not heard for so long has no JetStream, or is not there.
_SEEN_NS: Final = 8_000_000_000


class DoorAnswer(NamedTuple):
    """How a node answers at its own port.

    Args:
        name: its name, or its address where it does not say it.
        error: why it does not answer; empty where it does.
        jetstream: whether it says that it has JetStream.
        ends_s: when its certificate ends, seconds since 1970; None where it was not shown.
    """

    name: str
    error: str = ""
    jetstream: bool = True
    ends_s: float | None = None


async def knock(server: str, hub: HubSettings, context: ssl.SSLContext | None) -> DoorAnswer:
    """Log in at a node and have it answer, within three seconds.

    Args:
        server: its URL.
        hub: the login.
        context: of TLS; None where the URL asks for none.
    """
    parts = urlsplit(server)
    name = f"{parts.hostname}:{parts.port}"
    writer = None
    try:
        async with asyncio.timeout(_DOOR_S):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            line = await reader.readline()
            info = json.loads(line.removeprefix(b"INFO "))
            name = str(info.get("server_name") or name)
            ends_s = None
            if context is not None and parts.scheme == "tls":
                await writer.start_tls(context, server_hostname=parts.hostname)
                shown = writer.get_extra_info("peercert") or {}
                ends_s = ssl.cert_time_to_seconds(shown["notAfter"]) if shown else None
            login = {"user": login_of(hub.who), "pass": hub.password, "verbose": False}
            writer.write(b"CONNECT %b\r\nPING\r\n" % json.dumps(login).encode())
            await writer.drain()
            answer = await reader.readline()
            error = "" if answer.startswith(b"PONG") else answer.decode("utf-8", "replace").strip()
            return DoorAnswer(
                name, error or ("" if answer else "hangs up"), "jetstream" in info, ends_s
            )
    except (OSError, ValueError, TimeoutError, AttributeError) as error:
        told = "does not answer" if isinstance(error, TimeoutError) else str(error)
        return DoorAnswer(name, f"{parts.hostname}:{parts.port}: {told or type(error).__name__}")
    finally:
        if writer is not None:
            with suppress(Exception):
                writer.transport.abort()


def node_readings(doors: Iterable[DoorAnswer], cluster: Mapping[str, Any] | None) -> list[Reading]:
    """Return a reading for each node.

    Args:
        doors: each node's own answer.
        cluster: the events' stream by its leader, as JetStream tells it: `leader`, and `replicas`
            with `name`, `current`, `offline` and `active`; None where it was not told.
    """
    replicas = {each["name"]: each for each in (cluster or {}).get("replicas") or ()}
    leader = (cluster or {}).get("leader")
    found = []
    for door in doors:
        state, seen = "on", replicas.get(door.name)
        if not door.jetstream:
            state = "off"
        elif seen is not None and door.name != leader:
            if seen.get("offline") or seen.get("active", 0) > _SEEN_NS:
                state = "off"
            elif not seen.get("current"):
                state = "behind"
        found.append(
            Reading(kind="node", name=door.name, error=door.error, state=state, at_s=door.ends_s)
        )
    return found


async def hub_doors(hub: HubSettings, tls: ClientTls) -> list[DoorAnswer]:
    """Knock at every node at once; return the answers in the order of the servers.

    Args:
        hub: the servers and the login.
        tls: the result of `hub.tls()`.

    Raises:
        ConfigError: a file of the settings is unusable.
    """
    context = tls.context()
    return await asyncio.gather(*(knock(server, hub, context) for server in hub.servers))


def hub_readings(doors: Sequence[DoorAnswer], stream: Mapping[str, Any]) -> list[Reading]:
    """Return how each node and the events' stream stand.

    Args:
        doors: each node's own answer.
        stream: as `stream_state` returns it.
    """
    return [*node_readings(doors, stream.get("cluster")), _stream_reading(stream)]


async def go_rounds(
    client: Client,
    hub: HubSettings,
    store: ReadingStore,
    turn: asyncio.Lock,
    name: str,
    local: LocalReadings,
) -> None:
    """Store how everything stands, every four seconds, until the database or the hub is lost.

    Args:
        client: logged in with the role `archive`.
        hub: its servers.
        store: keeps the readings.
        turn: the lock on the store's connection.
        name: this worker's.
        local: reads this machine.

    Raises:
        ArchiveUnavailable: the database does not answer.
    """
    tls = hub.tls()
    while True:
        found = await _look(client, hub, tls)
        found += [Reading(kind="worker", name=name), *await asyncio.to_thread(local)]
        async with turn:
            await store.keep([SaidReading.now(each) for each in found])
            await store.forget_gone([each.name for each in found if each.kind == "node"])
        await asyncio.sleep(_EVERY_S)


async def _look(client: Client, hub: HubSettings, tls: ClientTls) -> list[Reading]:
    try:
        doors, stream = await asyncio.gather(hub_doors(hub, tls), stream_state(client))
    except ConfigError as error:
        return [Reading(kind="certificate", name="hub", error=str(error))]
    return hub_readings(doors, stream)


async def stream_state(client: Client | None) -> dict[str, Any]:
    """Return what the leader of the events' stream tells; `error` where nobody does.

    Args:
        client: logged in with the role `archive`; None where no node lets it in.
    """
    if client is None:
        return {"error": "no node lets us in"}
    try:
        async with asyncio.timeout(_JETSTREAM_S):
            told = await reader_jetstream(client).stream_info(EVENTS)
    except (nats.errors.Error, TimeoutError, OSError) as error:
        return {"error": str(error) or type(error).__name__}
    cluster = told.cluster
    replicas = [vars(each) for each in (cluster and cluster.replicas) or ()]
    return {
        "bytes": told.state.bytes,
        "most": told.config.max_bytes,
        "cluster": {"leader": cluster and cluster.leader, "replicas": replicas},
    }


def _stream_reading(info: Mapping[str, Any]) -> Reading:
    if "error" in info:
        return Reading(kind="stream", name=EVENTS, error=f"takes nothing: {info['error']}")
    cluster, most = info["cluster"], info["most"] or 0
    if cluster and cluster["replicas"] and not cluster["leader"]:
        return Reading(kind="stream", name=EVENTS, error="takes nothing: it has no leader")
    free = 1 - info["bytes"] / most if most > 0 else None
    return Reading(kind="stream", name=EVENTS, free=free)
