"""Each key of a property's configuration: its explanation, and an example.

`property init` writes them out, and a fault shows the example of its key.
"""

import re
from typing import Final

from baccarat.config.keys import ConfigKey

__all__ = ["example_of", "template"]

_HEAD: Final = """\
# A property of baccarat-table. Paths count from this file's folder.
# Each machine has only the sections of what runs there: an uplink beside its tables, archive
# workers, the witness and the page wherever they are.
"""
_TABLES: Final[dict[str, str]] = {
    "hub": "The NATS hub, or a leaf of it on this machine.",
    "uplink": "The uplink beside tables: each log goes up to the hub.",
    "archive": "The archive in PostgreSQL.",
    "witness": "The witness, on a machine that no table's people can write to.",
    "page": "The page of all tables. It asks for no login.",
}
_SITE_TABLE: Final = '"harbour/b7"'

_KEYS: Final[dict[str, ConfigKey]] = {
    "hub.servers": ConfigKey(
        "The nodes, tried in turn.",
        '["tls://hub1.casino.example:4222", "tls://hub2.casino.example:4222"]',
        given=True,
    ),
    "hub.ca": ConfigKey("PEM file of the property's CA.", '"pki/ca.pem"', given=True),
    "hub.cert": ConfigKey("PEM file of our certificate.", '"pki/client.pem"', given=True),
    "hub.key": ConfigKey("PEM file of its key.", '"pki/client.key"', given=True),
    "uplink.tables": ConfigKey(
        "A line for each table: its log, and the file with its login's password.",
        f'{{ {_SITE_TABLE} = {{ log = "table.sqlite", password_file = "secrets/b7-hub" }} }}',
    ),
    "archive.database": ConfigKey(
        "The database; a password comes from the file that PGPASSFILE names.",
        '"postgresql://baccarat@db.casino.example/property"',
    ),
    "archive.workers": ConfigKey("How many processes fill it from here; 0 only reads it.", "1"),
    "archive.password_file": ConfigKey(
        "With the password of the hub's login.", '"secrets/archive"'
    ),
    "witness.book": ConfigKey("What it has seen. Back it up.", '"witness.sqlite"'),
    "witness.key": ConfigKey("Its private key; `baccarat keys new` makes one.", '"witness.key"'),
    "witness.password_file": ConfigKey(
        "With the password of the hub's login.", '"secrets/witness"'
    ),
    "witness.keys": ConfigKey(
        "A line for each table: the public keys that may sign its checkpoints.",
        f'{{ {_SITE_TABLE} = ["harbour/b7+5ab1c8a6+AVd..."] }}',
    ),
    "page.host": ConfigKey("Where to listen.", '"127.0.0.1"'),
    "page.port": ConfigKey("At which port.", "8090"),
    "page.names": ConfigKey("Names that browsers call it by.", '["property.casino.example"]'),
    "page.exposed": ConfigKey("Beyond loopback: something in front of it asks for logins.", "true"),
}
# A TOML table for a gaming table has keys of its own.
_NAMED: Final = re.compile(r"(uplink\.tables|witness\.keys)\.")


def example_of(key: str) -> str:
    """Return a line of TOML that is right for a key; empty where there is no such key."""
    named = _NAMED.match(key)
    found = _KEYS.get(named[1] if named else key)
    name = (named[1] if named else key).rpartition(".")[2]
    return f"{name} = {found.example}" if found else ""


def template() -> str:
    """Return a new configuration: every key is explained; the optional sections are comments."""
    lines = [_HEAD.rstrip()]
    table = ""
    for name, key in _KEYS.items():
        inside, _, last = name.rpartition(".")
        hidden = "" if key.given else "# "
        if inside != table:
            table = inside
            lines += ["", f"# {_TABLES[table]}", f"{hidden}[{table}]"]
        lines += [f"# {key.says}", f"{hidden}{last} = {key.example}"]
    return "\n".join(lines) + "\n"
