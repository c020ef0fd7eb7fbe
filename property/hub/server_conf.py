"""The configuration of a hub's nodes, and of a controller's leaf, in nats-server's words. Pure.

Every table has an account of its own, and so has each service that reads. Four of a table's
subjects lead into the property's account, where the streams are, and two more answer what the hub
holds of that table; a reader's lead to questions that change nothing. Nothing else is there, not
even JetStream's own subjects. One account with rules a login would not do: a publisher names the
subject that is to be answered, and the server answers there with its own rights. In an account
shared with others it could be made to write to another table's subject; here there is no such
subject.
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
    checkpoint_subject,
    edition_subject,
    event_subject,
    feed_subject,
    held_checkpoint_subject,
    held_event_subject,
    split_origin,
    stored_subject,
)

__all__ = [
    "KEEPER",
    "MADE_OF",
    "PASSWORD",
    "ROLES",
    "SYSTEM",
    "HubNode",
    "LeafPlace",
    "LeafTable",
    "Login",
    "accounts_conf",
    "hub_conf",
    "inbox_of",
    "leaf_conf",
    "login_of",
]

# An event has at most 4 MiB.
_PAYLOAD: Final = "8MB"
# The answer to this one has several parts.
_IN_PARTS: Final = "DIRECT.GET.{stream}"
# What is asked of a stream and changes nothing. Consumers are not among it: whoever makes one says
# where the server delivers, with its rights, and whoever may make one may take away another's.
_READS: Final = ("STREAM.INFO.{stream}", "STREAM.MSG.GET.{stream}", _IN_PARTS, f"{_IN_PARTS}.>")
_JETSTREAM: Final = "$JS.API"
# Each login of the property's own, and the streams that it reads. `keeper` makes the streams, and
# belongs to the person who keeps the hub; no service of a table has it.
KEEPER: Final = "keeper"
ROLES: Final[dict[str, tuple[str, ...]]] = {
    KEEPER: (),
    "archive": (EVENTS, FEEDS, EDITIONS),
    "witness": (EVENTS, CHECKPOINTS),
}
# What a role says beside its questions.
_SAYS: Final = {"witness": ("property.v1.*.*.cosigned",)}
# By what a login comes in: as a client, or as a controller's leaf.
_CLIENT: Final = ("STANDARD",)
_TABLE: Final = ("STANDARD", "LEAFNODE")
# The server's own account, for who watches it: `$SYS`.
SYSTEM: Final = "system"

# A password goes into a leaf's URL.
PASSWORD: Final = re.compile(r"[A-Za-z0-9_-]{16,}\Z")
MADE_OF: Final = "16 or more of A-Za-z0-9_-"


class Login(Struct, frozen=True):
    """Who may come in.

    Args:
        who: a role of `ROLES`, `SYSTEM`, or a table's `<site>/<table>`.
        hash: of the password, by bcrypt. A password that a machine made needs no slow hash, and
            two hundred tables that come back at once need a quick one.
    """

    who: str
    hash: str


class HubNode(Struct, frozen=True, kw_only=True):
    """One of the hub's nodes.

    Args:
        name: its own, never given to another machine while the hub knows it.
        host: the address that it listens at.
        clients: port for workers, and for tables that come without a leaf.
        cluster: port for the other nodes.
        leaves: port for controllers.
        monitor: port on this machine alone that tells how it is.
        store: folder of its streams.
        store_most: how much may lie there, such as `200GB`.
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


class LeafPlace(Struct, frozen=True, kw_only=True):
    """A controller's leaf.

    Args:
        name: its own.
        port: on loopback, for the uplink.
        pki: folder of the property's `ca.pem`.
        cert: the controller's certificate, of the property's CA.
        key: its key.
    """

    name: str
    port: int = 4222
    pki: str
    cert: str
    key: str


class LeafTable(Struct, frozen=True):
    """A table behind a leaf: `<site>/<table>`, and the password of its login at the hub."""

    origin: str
    password: str


def login_of(who: str) -> str:
    """The login's name: a table's is `<site>.<table>`."""
    return who.replace("/", ".")


def inbox_of(who: str) -> str:
    """Where that login is answered: nobody else may listen there."""
    return f"_INBOX.{login_of(who)}"


def hub_conf(node: HubNode, nodes: Sequence[HubNode], accounts: str = "accounts.conf") -> str:
    """A node's `nats-server.conf`.

    Args:
        node: the one.
        nodes: all of them, itself among them or not.
        accounts: the file that `accounts_conf` makes, the same for every node, beside this one.
    """
    routes = ", ".join(
        f'"tls://{each.host}:{each.cluster}"' for each in nodes if each.name != node.name
    )
    tls = _tls(f"{node.pki}/ca.pem", f"{node.pki}/{node.name}.pem", f"{node.pki}/{node.name}.key")
    # A node that stands alone, for a trial, is no cluster.
    cluster = f"""\
cluster {{
  name: "property"
  listen: "{node.host}:{node.cluster}"
  routes: [{routes}]
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
include "{accounts}"
"""


def accounts_conf(logins: Iterable[Login]) -> str:
    """The accounts, the same file for every node. `nats-server --signal reload` reads it anew.

    Raises:
        InputError: somebody is neither a role nor a table, or is there twice.
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
            found["others"].append(_reader(login))
        else:
            found["others"].append(_table(login))
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
      {{ service: "property.v1.*.*.cosigned" }}{_exported()}
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
    """The questions that other accounts may be let ask of the streams."""
    streams = dict.fromkeys(stream for streams in ROLES.values() for stream in streams)
    text = ""
    for stream in streams:
        for each in _READS:
            kind = ', response_type: "stream"' if each == _IN_PARTS else ""
            text += f'\n      {{ service: "{_JETSTREAM}.{each.format(stream=stream)}"{kind} }}'
    return text


def _reader(login: Login) -> str:
    """The account of a service that reads: its questions, and what it says."""
    asks = [each.format(stream=stream) for stream in ROLES[login.who] for each in _READS]
    takes = [(f"{_JETSTREAM}.{each}", f"{API}.{each}") for each in asks]
    takes += [(each, each) for each in _SAYS.get(login.who, ())]
    return _account(login, takes, "max_connections: 64", _CLIENT)


def _table(login: Login) -> str:
    """A table's account: what it says, and the two questions what the hub has of it."""
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
    login: Login, takes: Sequence[tuple[str, str]], limits: str, kinds: Sequence[str]
) -> str:
    """An account of one login, and what it takes of the property's: its name there, and here."""
    imports = "".join(
        f'\n      {{ service: {{ account: PROPERTY, subject: "{there}" }}, to: "{here}" }}'
        for there, here in takes
    )
    user = _user(login, [here for _, here in takes], [f"{inbox_of(login.who)}.>"], kinds)
    return f"""\
  "{login.who}" {{
    limits: {{ {limits} }}
    users: [{_lines([user])}]
    imports: [{imports}
    ]
  }}
"""


def _user(
    login: Login, says: Iterable[str], hears: Iterable[str], kinds: Iterable[str] = _CLIENT
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


def leaf_conf(place: LeafPlace, hub: Sequence[HubNode], tables: Sequence[LeafTable]) -> str:
    """A controller's `nats-server.conf`: one line to the hub for each of its tables.

    The uplink comes to the leaf with the same login as it would to the hub, and finds the same
    subjects. The leaf keeps nothing: the log does. The file holds passwords: its owner alone reads.

    Raises:
        InputError: a password cannot stand in a URL, or is too short for a machine's.
    """
    tls = (
        f'tls {{ ca_file: "{place.pki}/ca.pem", cert_file: "{place.cert}", '
        f'key_file: "{place.key}", min_version: "1.2", timeout: 5 }}'
    )
    remotes, accounts = [], []
    for each in tables:
        if not PASSWORD.match(each.password):
            raise InputError(f"{each.origin}: its password is not one of {MADE_OF}")
        login, account = login_of(each.origin), each.origin
        urls = _quoted(f"tls://{login}:{each.password}@{node.host}:{node.leaves}" for node in hub)
        remotes.append(f'{{ urls: [{urls}], account: "{account}", {tls} }}')
        # Its own words are those of the hub's account: nothing of the table's bus goes up.
        site, table = split_origin(each.origin)
        said = (event_subject, checkpoint_subject, feed_subject, edition_subject)
        says = tuple(say(site, table) for say in said)
        asks = (held_event_subject(site, table), held_checkpoint_subject(site, table))
        hears = [f"{inbox_of(each.origin)}.>"]
        # The remote's URL has it in clear, so that a hash here would hide nothing.
        user = _user(Login(each.origin, each.password), says + asks, hears)
        accounts.append(f'  "{account}" {{ users: [{user}] }}\n')
    return f"""\
# Written by `property.hub_conf`: change what it is written from, not this.
server_name: "{place.name}"
listen: "127.0.0.1:{place.port}"
max_payload: {_PAYLOAD}
max_connections: 64
ping_interval: "10s"
ping_max: 2
leafnodes {{
  reconnect: 1
  remotes: [{_lines(remotes)}]
}}
accounts {{
{"".join(accounts)}}}
"""
