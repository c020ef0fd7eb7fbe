"""Read a property's hub file (nodes, tables, controllers' leaves) and write the files of each node.

    tables = ["harbour/b7", "harbour/b8"]
    [nodes.hub1]
    host = "10.20.0.1"
    [nodes.hub2]
    host = "10.20.0.2"
    [nodes.hub3]
    host = "10.20.0.3"
    [leaves.b7]
    tables = ["harbour/b7"]

It yields each node's and each leaf's files, and passwords, once.
"""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import bcrypt
from msgspec import Meta, Struct
from msgspec.structs import asdict

from baccarat.atomic_files import write_atomically
from baccarat.config.errors import ConfigFault, ConfigFaults, read_toml
from events.errors import InputError
from events.mqtt.topics import SEGMENT
from events.toml_form import read_table
from property.hub.server_conf import (
    CHARACTER_RULE,
    PASSWORD,
    ROLES,
    SYSTEM,
    HubLogin,
    HubNode,
    LeafNode,
    LeafTable,
    accounts_conf,
    hub_conf,
    leaf_conf,
    login_of,
)
from property.hub.subjects import split_origin

__all__ = ["HubPlan", "LeafForm", "NodeForm", "load_hub_plan", "write_hub"]

# Nobody finds a machine's password of 144 bits by trying, at any speed; and a hub that restarts
# checks two hundred of them at once.
_ROUNDS: Final = 5
_PASSWORD_BYTES: Final = 18
_PASSWORDS: Final = "passwords"
_EXAMPLES: Final = {
    "tables": 'tables = ["harbour/b7"]',
    "nodes": '[nodes.hub1] with host = "10.20.0.1"',
}
_Port = Annotated[int, Meta(ge=1, le=65535)]


class NodeForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A node. See `property.hub.server_conf.HubNode`."""

    host: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9.:_-]+\Z")]
    clients: _Port = 4222
    cluster: _Port = 6222
    leaves: _Port = 7422
    monitor: _Port = 8222
    store: str = "/var/lib/baccarat-hub"
    store_most: Annotated[str, Meta(pattern=r"\A[0-9]+[MGT]B\Z")] = "200GB"
    pki: str = "/etc/baccarat-hub/pki"


class LeafForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A controller's leaf.

    Args:
        tables: `<site>/<table>` of those on it.
        port: on its loopback, for the uplink.
        pki: the folder there of the property's `ca.pem`.
        cert: its certificate of the property's CA there.
        key: its key there.
    """

    tables: Annotated[tuple[str, ...], Meta(min_length=1)]
    port: _Port = 4222
    pki: str = "/etc/baccarat-leaf/pki"
    cert: str = "/etc/baccarat-leaf/pki/leaf.pem"
    key: str = "/etc/baccarat-leaf/pki/leaf.key"


class HubPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole hub.

    Args:
        tables: `<site>/<table>` of each that has a login.
        nodes: by name; three, or one for a trial.
        leaves: by name.
    """

    tables: tuple[str, ...]
    nodes: dict[str, NodeForm]
    leaves: dict[str, LeafForm] = {}


def load_hub_plan(path: Path) -> HubPlan:
    """Read and check a hub's file.

    Raises:
        ConfigError: it is missing or is not TOML.
        ConfigFaults: keys in it are wrong: all of them.
    """
    tree = read_toml(path, "the hub's")
    said: list[str] = []
    plan = read_table(HubPlan, tree, "", said.append)
    faults = [_fault_of(line) for line in said]
    if plan is not None:
        faults += _impossible_values(plan)
    if plan is None or faults:
        raise ConfigFaults(str(path), faults)
    return plan


def _fault_of(line: str) -> ConfigFault:
    """Turn a line of the form's reader into a fault."""
    key, _, reason = line.partition(": ")
    if not reason:
        key, _, reason = line.partition(" ")
    return ConfigFault(key=key, reason=reason, example=_EXAMPLES.get(key, ""))


def _impossible_values(plan: HubPlan) -> Iterator[ConfigFault]:
    if len(plan.nodes) not in {1, 3, 5}:
        reason = f"{len(plan.nodes)} of them: three carry on without one, five without two"
        yield ConfigFault(key="nodes", reason=reason)
    for name in (*plan.nodes, *plan.leaves):
        if not SEGMENT.match(name):
            yield ConfigFault(key=name, reason="a name is of lower-case letters, digits, - and _")
        if name == _PASSWORDS:
            yield ConfigFault(key=name, reason="the folder of the passwords has this name")
    yield from _ports_twice(plan)
    for name in sorted(set(plan.nodes) & set(plan.leaves)):
        yield ConfigFault(key=f"leaves.{name}", reason="a node has this name")
    yield from _no_tables(plan)
    for name, leaf in plan.leaves.items():
        for origin in sorted(set(leaf.tables) - set(plan.tables)):
            yield ConfigFault(key=f"leaves.{name}.tables", reason=f"{origin} is none of the tables")


def _ports_twice(plan: HubPlan) -> Iterator[ConfigFault]:
    """Yield ports that two nodes of one machine share; a trial may run several nodes there."""
    taken: dict[tuple[str, int], str] = {}
    for name, node in plan.nodes.items():
        for of in ("clients", "cluster", "leaves"):
            key, port = f"nodes.{name}.{of}", getattr(node, of)
            first = taken.setdefault((node.host, port), key)
            if first != key:
                yield ConfigFault(key=key, reason=f"{node.host}:{port} is {first} already")


def _no_tables(plan: HubPlan) -> Iterator[ConfigFault]:
    for number, origin in enumerate(plan.tables):
        try:
            split_origin(origin)
        except InputError as error:
            yield ConfigFault(key="tables", reason=str(error), example='tables = ["harbour/b7"]')
        if origin in plan.tables[:number]:
            yield ConfigFault(key="tables", reason=f"{origin} is there twice")


def write_hub(plan: HubPlan, folder: Path) -> tuple[Path, ...]:
    """Write every node's and every leaf's files.

    Args:
        plan: the hub.
        folder: gets a folder for each node and each leaf, and `passwords`, with a file for each
            login.
            An existing password is kept: delete its file, and the next writing makes another.

    Returns:
        The files of nodes and leaves.

    Raises:
        InputError: a password there cannot be used.
    """
    who = (*ROLES, SYSTEM, *plan.tables)
    passwords = {each: _password(folder / _PASSWORDS, login_of(each)) for each in who}
    nodes = [HubNode(name=name, **asdict(form)) for name, form in plan.nodes.items()]
    accounts = accounts_conf(
        [
            HubLogin(
                each, bcrypt.hashpw(passwords[each].encode(), bcrypt.gensalt(_ROUNDS)).decode()
            )
            for each in who
        ]
    )
    written = []
    for node in nodes:
        written.append(_write(folder / node.name / "nats-server.conf", hub_conf(node, nodes)))
        written.append(_write(folder / node.name / "accounts.conf", accounts))
    for name, form in plan.leaves.items():
        place = LeafNode(name=name, port=form.port, pki=form.pki, cert=form.cert, key=form.key)
        tables = [LeafTable(each, passwords[each]) for each in form.tables]
        written.append(_write(folder / name / "nats-server.conf", leaf_conf(place, nodes, tables)))
    return tuple(written)


def _password(folder: Path, login: str) -> str:
    path = folder / login
    if not path.exists():
        _write(path, f"{secrets.token_urlsafe(_PASSWORD_BYTES)}\n")
    found = path.read_text("utf-8", "replace").strip()
    # A power cut may have emptied the file; it must not become a login without a password.
    if not PASSWORD.match(found):
        raise InputError(
            f"{path}: not a password of {CHARACTER_RULE}; take the file away, and another is made"
        )
    return found


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return write_atomically(path, text.encode(), 0o600)
