"""Writes nats-server configuration: the hub's nodes, their accounts, and a controller's leaf. Pure.

Every table has an account of its own, and so has each service that reads. Four of a table's
subjects lead into the property's account, which holds the streams. Two more return what the hub
holds of that table. A reader's subjects lead to requests that change nothing. An account has no
other subjects, not even JetStream's own.

One shared account with rules for each login would not be safe. A publisher names the reply subject,
and the server publishes the reply with its own rights. In a shared account a publisher could make
the server write to another table's subject; in an account of its own there is no such subject.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from events.errors import InputError
from property.hub.subjects import (
    API,
    CHECKPOINTS,
    EDITIONS,
    EVENTS,
    FEEDS,
    NOTICES,
    checkpoint_subject,
    edition_subject,
    event_subject,
    feed_subject,
    held_checkpoint_subject,
    held_event_subject,
    split_origin,
    stored_subject,
)
from property.hub.uplink_status import WITNESS

__all__ = [
    "CHARACTER_RULE",
    "KEEPER",
    "PASSWORD",
    "ROLES",
    "SYSTEM",
    "HubLogin",
    "HubNode",
    "LeafNode",
    "LeafTable",
    "accounts_conf",
    "hub_conf",
    "inbox_of",
    "leaf_conf",
    "login_of",
]

# An event has at most 4 MiB.
_PAYLOAD: Final = "8MB"
# The answer to this request has several parts.
_IN_PARTS: Final = "DIRECT.GET.{stream}"
# Requests to a stream that change nothing. Consumers are not among them: their creator names the
# subject to which the server delivers with its rights, and may delete another's consumer.
_READS: Final = ("STREAM.INFO.{stream}", "STREAM.MSG.GET.{stream}", _IN_PARTS, f"{_IN_PARTS}.>")
_JETSTREAM: Final = "$JS.API"
# The property's own logins, and the streams that each reads. `keeper` creates the streams. Only the
# hub's administrator has it; no service of a table does.
KEEPER: Final = "keeper"
ROLES: Final[dict[str, tuple[str, ...]]] = {
    KEEPER: (),
    "archive": (EVENTS, FEEDS, EDITIONS),
    "witness": (EVENTS, CHECKPOINTS),
}
# The subjects that the hub publishes, and a role hears.
_HEARS: Final = {"archive": (f"{NOTICES}.>",)}
# The subjects to which a role publishes.
_PUBLISHES: Final = {"witness": ("property.v1.*.*.cosigned", feed_subject(*split_origin(WITNESS)))}
# How a login may connect: as a client, or also as a controller's leaf.
_CLIENT: Final = ("STANDARD",)
_TABLE: Final = ("STANDARD", "LEAFNODE")
# The server's own account `$SYS`, for monitoring.
SYSTEM: Final = "system"

# A leaf's URL contains its password.
PASSWORD: Final = re.compile(r"[A-Za-z0-9_-]{16,72}\Z")
CHARACTER_RULE: Final = "16 to 72 of A-Za-z0-9_-"


class HubLogin(Struct, frozen=True):
    """A login of the hub.

    Args:
        who: a role of `ROLES`, `SYSTEM`, or a table's `<site>/<table>`.
        hash: the password's bcrypt hash. A generated password needs no slow hash, and two hundred
            tables that reconnect at once need a quick one.
    """

    who: str
    hash: str


class HubNode(Struct, frozen=True, kw_only=True):
    """One of the hub's nodes.

    Args:
        name: unique; no other machine may use it while the hub knows it.
        host: the address to listen at.
        clients: port for workers, and for tables without a leaf.
        cluster: port for the other nodes.
        leaves: port for controllers.
        monitor: port for monitoring, on loopback only.
        store: folder of its streams.
        store_most: the folder's largest size, such as `200GB`.
        pki: folder of `ca.pem`, `<name>.pem` and `<name>.key`.
    """

    name: str
    host: str
    clients: int = 4222
    cluster: int = 6222
    leaves: int = 7422
    monitor: int = 8222
    store: str = "/var/lib/baccarat-hub"
    store_most: str = "200GB"
    pki: str = "/etc/baccarat-hub/pki"


class LeafNode(Struct, frozen=True, kw_only=True):
    """A controller's leaf.

    Args:
        name: the leaf's name.
        port: on loopback, for the uplink.
        pki: folder of the property's `ca.pem`.
        cert: the controller's certificate, issued by the property's CA.
        key: its key.
    """

    name: str
    port: int = 4222
    pki: str
    cert: str
    key: str


class LeafTable(Struct, frozen=True):
    """A table that a leaf serves: `<site>/<table>`, and the password of its login at the hub."""

    origin: str
    password: str


def login_of(who: str) -> str:
    """Return the login's name: a table's is `<site>.<table>`."""
    return who.replace("/", ".")


def inbox_of(who: str) -> str:
    """Return the prefix of the login's reply subjects; no other login may subscribe to them."""
    return f"_INBOX.{login_of(who)}"


def hub_conf(node: HubNode, nodes: Sequence[HubNode]) -> str:
    """Return a node's `nats-server.conf`.

    Args:
        node: the node.
        nodes: all nodes, with or without this one.
    """
    routes = ", ".join(
        f'"tls://{each.host}:{each.cluster}"' for each in nodes if each.name != node.name
    )
    tls = _tls(f"{node.pki}/ca.pem", f"{node.pki}/{node.name}.pem", f"{node.pki}/{node.name}.key")
    # A single node, for a trial, is no cluster.
    cluster = f"""\
cluster {{
  name: "property"
  listen: "{node.host}:{node.cluster}"
  routes: [{routes}]
  # A node that hangs is left soon; clients and leaves ping by themselves.
  ping_interval: "2s"
  ping_max: 2
  {tls}
}}
"""
    return f"""\
# Written by `property.hub_conf`: change what it is written from, not this.
server_name: "{node.name}"
listen: "{node.host}:{node.clients}"
http: "127.0.0.1:{node.monitor}"
{tls}
max_payload: {_PAYLOAD}
max_connections: 4096
max_control_line: 4KB
write_deadline: "10s"
ping_interval: "10s"
ping_max: 2
lame_duck_duration: "30s"
# Every write is on the disk before it is acknowledged. It has still been seen to lose some: each
# table's log stays the source.
jetstream {{
  store_dir: "{node.store}"
  sync_interval: always
  max_memory_store: 64MB
  max_file_store: {node.store_most}
}}
{cluster if routes else ""}leafnodes {{
  listen: "{node.host}:{node.leaves}"
  {tls}
}}
include "accounts.conf"
"""


def accounts_conf(logins: Iterable[HubLogin]) -> str:
    """Return the accounts file, the same for every node; `nats-server --signal reload` reads it.

    Raises:
        InputError: a login is neither a role's nor a table's, or appears twice.
    """
    found: dict[str, list[str]] = {"property": [], "system": [], "others": []}
    seen: set[str] = set()
    for login in logins:
        if login.who in seen:
            raise InputError(f"{login.who}: has a login already")
        seen.add(login.who)
        if login.who == SYSTEM:
            found["system"].append(_user(login, [">"], [">"]))
        elif login.who == KEEPER:
            found["property"].append(_user(login, [">"], [">"]))
        elif login.who in ROLES:
            found["others"].append(_reader_account(login))
        else:
            found["others"].append(_table_account(login))
    return f"""\
# Written by `property.hub_conf`: change what it is written from, not this.
system_account: SYSTEM
accounts {{
  SYSTEM {{ users: [{_lines(found["system"])}] }}
  PROPERTY {{
    jetstream: enabled
    users: [{_lines(found["property"])}]
    # What another account may take of this is said there, subject by subject.
    exports: [
      {{ service: "property.v1.*.*.event" }}
      {{ service: "property.v1.*.*.checkpoint" }}
      {{ service: "property.v1.*.*.feed" }}
      {{ service: "{edition_subject("*", "*")}" }}
      {{ service: "property.v1.*.*.cosigned" }}
      {{ stream: "{NOTICES}.>" }}{_exported()}
    ]
  }}
{"".join(found["others"])}}}
"""


def _tls(ca: str, cert: str, key: str) -> str:
    return (
        f'tls {{ ca_file: "{ca}", cert_file: "{cert}", key_file: "{key}", '
        'verify: true, min_version: "1.2", timeout: 5 }'
    )


def _exported() -> str:
    """Return the exports that let other accounts send read requests to the streams."""
    streams = dict.fromkeys(stream for streams in ROLES.values() for stream in streams)
    text = ""
    for stream in streams:
        for each in _READS:
            kind = ', response_type: "stream"' if each == _IN_PARTS else ""
            text += f'\n      {{ service: "{_JETSTREAM}.{each.format(stream=stream)}"{kind} }}'
    return text


def _reader_account(login: HubLogin) -> str:
    """Return a reader's account: its read requests, and what it publishes and hears beside them."""
    asks = [each.format(stream=stream) for stream in ROLES[login.who] for each in _READS]
    takes = [(f"{_JETSTREAM}.{each}", f"{API}.{each}") for each in asks]
    takes += [(each, each) for each in _PUBLISHES.get(login.who, ())]
    hears = _HEARS.get(login.who, ())
    return _account(login, takes, "max_connections: 64", _CLIENT, hears)


def _table_account(login: HubLogin) -> str:
    """Return a table's account: its three subjects, and its two requests to the hub."""
    site, table = split_origin(login.who)
    event, checkpoint = event_subject(site, table), checkpoint_subject(site, table)
    feed, editions = feed_subject(site, table), edition_subject(site, table)
    get = f"{_JETSTREAM}.DIRECT.GET"
    takes = (
        (event, event),
        (checkpoint, checkpoint),
        (feed, feed),
        (editions, editions),
        (f"{get}.{EVENTS}.{stored_subject(site, table)}", held_event_subject(site, table)),
        (f"{get}.{CHECKPOINTS}.{checkpoint}", held_checkpoint_subject(site, table)),
    )
    limits = "max_connections: 8, max_leafnodes: 2, max_subscriptions: 256"
    return _account(login, takes, limits, _TABLE)


def _account(
    login: HubLogin, takes: Sequence[tuple[str, str]], limits: str, kinds: Sequence[str],
    hears: Sequence[str] = (),
) -> str:  # fmt: skip
    """Return a login's account.

    Args:
        login: the login.
        takes: subjects of the property's account that it may publish to, and its own for them.
        limits: of the account, in the server's syntax.
        kinds: how the login may connect.
        hears: subjects of the property's account that it may subscribe to.
    """
    imports = "".join(
        f'\n      {{ service: {{ account: PROPERTY, subject: "{there}" }}, to: "{here}" }}'
        for there, here in takes
    )
    imports += "".join(
        f'\n      {{ stream: {{ account: PROPERTY, subject: "{each}" }} }}' for each in hears
    )
    inbox = f"{inbox_of(login.who)}.>"
    user = _user(login, [here for _, here in takes], [inbox, *hears], kinds)
    return f"""\
  "{login.who}" {{
    limits: {{ {limits} }}
    users: [{_lines([user])}]
    imports: [{imports}
    ]
  }}
"""


def _user(
    login: HubLogin, says: Iterable[str], hears: Iterable[str], kinds: Iterable[str] = _CLIENT
) -> str:
    return (
        f'{{ user: "{login_of(login.who)}", password: "{login.hash}", '
        f"allowed_connection_types: [{_quoted(kinds)}], permissions: {{ "
        f"publish: {{ allow: [{_quoted(says)}] }}, subscribe: {{ allow: [{_quoted(hears)}] }} }} }}"
    )


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{each}"' for each in names)


def _lines(entries: Iterable[str]) -> str:
    text = "".join(f"\n      {each}" for each in entries)
    return f"{text}\n    " if text else ""


def leaf_conf(place: LeafNode, hub: Sequence[HubNode], tables: Sequence[LeafTable]) -> str:
    """Return a controller's `nats-server.conf`, with one connection to the hub for each table.

    An uplink uses the same login and subjects at the leaf as at the hub. The leaf stores nothing,
    since the log does. The file holds passwords: only its owner may read it.

    Raises:
        InputError: a password is too short, or has characters that a URL does not allow.
    """
    tls = (
        f'tls {{ ca_file: "{place.pki}/ca.pem", cert_file: "{place.cert}", '
        f'key_file: "{place.key}", min_version: "1.2", timeout: 5 }}'
    )
    remotes, accounts = [], []
    for each in tables:
        if not PASSWORD.match(each.password):
            raise InputError(f"{each.origin}: its password is not one of {CHARACTER_RULE}")
        login, account = login_of(each.origin), each.origin
        urls = _quoted(f"tls://{login}:{each.password}@{node.host}:{node.leaves}" for node in hub)
        remotes.append(f'{{ urls: [{urls}], account: "{account}", {tls} }}')
        # The same rights as in the hub's account: the leaf forwards nothing of the table's bus.
        site, table = split_origin(each.origin)
        said = (event_subject, checkpoint_subject, feed_subject, edition_subject)
        says = tuple(say(site, table) for say in said)
        asks = (held_event_subject(site, table), held_checkpoint_subject(site, table))
        hears = [f"{inbox_of(each.origin)}.>"]
        # The remote's URL holds the password in clear, so a hash here would hide nothing.
        user = _user(HubLogin(each.origin, each.password), says + asks, hears)
        accounts.append(f'  "{account}" {{ users: [{user}] }}\n')
    return f"""\
# Written by `property.hub_conf`: change what it is written from, not this.
server_name: "{place.name}"
listen: "127.0.0.1:{place.port}"
max_payload: {_PAYLOAD}
max_connections: 64
ping_interval: "2s"
ping_max: 2
leafnodes {{
  reconnect: 1
  remotes: [{_lines(remotes)}]
}}
accounts {{
{"".join(accounts)}}}
"""
