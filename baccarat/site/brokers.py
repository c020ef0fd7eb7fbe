"""Generate both brokers' configurations: TLS, logins and access rules of each identity.

A client needs a certificate of the site's CA and the login's password. The rules deny everything
that they do not allow by name.
"""

import base64
import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import bcrypt
from msgspec import Struct

from baccarat.site.identities import Identity
from events.errors import InputError

__all__ = ["BrokerFiles", "mosquitto_acl", "mosquitto_conf", "mosquitto_passwords", "nats_conf"]

# mosquitto's own form of a password: PBKDF2 with SHA-512.
_ROUNDS: Final = 210_000
_SALT_BYTES: Final = 12  # the same as mosquitto's own tool
_PAYLOAD: Final = 8 * 1024 * 1024
_MOST_HASHED: Final = 72  # bytes: bcrypt reads no more of a password
_NATS_HASH: Final = re.compile(r'user: "([^"]+)", password: "([^"]+)"')
# How a login may connect: MQTT, over TCP or in websockets, and never NATS itself.
_KINDS: Final = '"MQTT", "MQTT_WS"'


class BrokerFiles(Struct, frozen=True, kw_only=True):
    """A broker's addresses and the files that it reads.

    Args:
        folder: of its files.
        host: the address to listen at.
        port: of MQTT over TLS.
        websockets: of MQTT over secure websockets, for displays in browsers.
        ca: PEM file of the site's CA.
        cert: PEM file of the broker's certificate.
        key: PEM file of its key.
    """

    folder: Path
    host: str
    port: int
    websockets: int
    ca: Path
    cert: Path
    key: Path


def mosquitto_conf(place: BrokerFiles) -> str:
    """Return `mosquitto.conf`: two TLS listeners with client certificates, logins and rules."""
    tls = (
        f"cafile {place.ca}\ncertfile {place.cert}\nkeyfile {place.key}\n"
        "require_certificate true\ntls_version tlsv1.2\n"
    )
    return (
        "# Written by `baccarat config broker`: change the tables' configurations, not this.\n"
        "per_listener_settings false\nallow_anonymous false\n"
        f"password_file {place.folder / 'passwords'}\nacl_file {place.folder / 'acl'}\n\n"
        f"listener {place.port} {place.host}\n{tls}\n"
        f"listener {place.websockets} {place.host}\nprotocol websockets\n{tls}\n"
        "# A small message would wait 40 ms for the acknowledgement of the one before.\n"
        "set_tcp_nodelay true\n"
        f"message_size_limit {_PAYLOAD}\n\n"
        "# A courier, never a store: what is retained is sent again by its owner.\n"
        "persistence false\nmax_queued_messages 1000\nmax_inflight_messages 1000\n"
        "sys_interval 0\n"
    )


def mosquitto_acl(identities: Iterable[Identity]) -> str:
    """Return mosquitto's file of access rules."""
    lines = []
    for each in identities:
        lines += ["", f"user {each.login}"]
        lines += [f"topic write {name}" for name in each.says]
        lines += [f"topic read {name}" for name in each.hears]
    return "\n".join(lines[1:]) + "\n"


def mosquitto_passwords(passwords: Mapping[str, str], before: str) -> str:
    """Return the password file: login to password, each with a salt of its own.

    Args:
        passwords: login to password.
        before: the file until now; the line of a password that has not changed stays.
    """
    kept = {line.partition(":")[0]: line for line in before.splitlines()}
    return "".join(
        f"{_mosquitto_line(login, password, kept.get(login, ''))}\n"
        for login, password in passwords.items()
    )


def _mosquitto_line(login: str, password: str, before: str) -> str:
    _, _, rounds, salt, _ = (before.split("$") + [""] * 5)[:5]
    if before and before == _hashed(login, password, int(rounds), base64.b64decode(salt)):
        return before
    return _hashed(login, password, _ROUNDS, secrets.token_bytes(_SALT_BYTES))


def _hashed(login: str, password: str, rounds: int, salt: bytes) -> str:
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, rounds)
    text = "$".join((base64.b64encode(salt).decode(), base64.b64encode(digest).decode()))
    return f"{login}:$7${rounds}${text}"


def nats_conf(
    place: BrokerFiles,
    identities: Iterable[Identity],
    passwords: Mapping[str, str],
    rounds: int,
    before: str,
) -> str:
    """Return `nats-server.conf` with the same rules.

    Args:
        place: the broker's addresses and files.
        identities: the logins.
        passwords: login to password; only their bcrypt hashes are written.
        rounds: bcrypt's cost, as a power of two.
        before: the file until now; the hash of a password that has not changed stays.

    Raises:
        InputError: a password is too long for bcrypt.
    """
    tls = (
        f'tls {{ ca_file: "{place.ca}", cert_file: "{place.cert}", key_file: "{place.key}", '
        'verify: true, min_version: "1.2" }'
    )
    kept = dict(_NATS_HASH.findall(before))
    users = "\n".join(
        _nats_user(each, passwords[each.login], rounds, kept.get(each.login, ""))
        for each in identities
    )
    return f"""\
# Written by `baccarat config broker`: change the tables' configurations, not this.
server_name: "baccarat"
# Clients of NATS itself have no business here; MQTT needs the server to have a place of its own.
listen: "127.0.0.1:-1"
max_payload: 8MB
jetstream {{ store_dir: "{place.folder / "store"}", max_memory_store: 16MB, max_file_store: 1GB }}
mqtt {{
  listen: "{place.host}:{place.port}"
  {tls}
}}
websocket {{
  listen: "{place.host}:{place.websockets}"
  {tls}
}}
authorization {{
  users: [
{users}
  ]
}}
"""


def _nats_user(identity: Identity, password: str, rounds: int, before: str) -> str:
    if len(password.encode()) > _MOST_HASHED:
        raise InputError(
            f"the password of {identity.login}: nats-server takes {_MOST_HASHED} bytes at the most"
        )
    hashed = before
    if not before or not bcrypt.checkpw(password.encode(), before.encode()):
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds)).decode()
    says = ", ".join(f'"{each}"' for each in _subjects(identity.says))
    # An empty list would allow everything.
    publish = f"[{says}]" if says else '{ deny: ">" }'
    hears = ", ".join(f'"{each}"' for each in _subjects(identity.hears))
    # nats-server keeps MQTT's QoS 1 subscriptions under `$MQTT.sub`: the messages of all tables
    # pass there, and a NATS client could listen. An MQTT client cannot subscribe to it.
    return (
        f'    {{ user: "{identity.login}", password: "{hashed}", permissions: {{ '
        f'publish: {publish}, subscribe: [{hears}{", " if hears else ""}"$MQTT.sub.>"] }}, '
        f"allowed_connection_types: [{_KINDS}] }}"
    )


def _subjects(filters: Iterable[str]) -> list[str]:
    """Return MQTT's filters as NATS subjects; `a/#` also means `a`."""
    found = []
    for each in filters:
        subject = each.replace("/", ".").replace("+", "*")
        if subject.endswith(".#"):
            found += [subject.removesuffix(".#"), subject.removesuffix("#") + ">"]
        else:
            found.append(subject)
    return found
