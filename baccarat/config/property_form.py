"""The tables and keys of a property's TOML file, as types.

`baccarat.config.property` reads a file into them and reports its faults. A machine has only the
sections of the services that run there.
"""

from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from baccarat.config.keys import (
    ConfigKey,
    Form,
    OpenFile,
    PemFile,
    PlacedConfig,
    Port,
    RequiredFile,
)
from baccarat.read_files import read_password
from events.proof.keys import load_signing_key
from events.proof.note import VerifierKey, parse_verifier_key
from property.hub.connection import HubSettings
from property.witness.service import WitnessSettings

__all__ = [
    "PROPERTY",
    "ArchiveConfig",
    "HubConfig",
    "PageConfig",
    "PropertyConfig",
    "PropertyMetricsConfig",
    "UplinkConfig",
    "UplinkTable",
    "WitnessConfig",
]

_Text: TypeAlias = Annotated[str, Meta(min_length=1)]
_SITE_TABLE: Final = '"harbour/b7"'


class HubConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The NATS hub, or a leaf of it on this machine."""

    servers: Annotated[
        tuple[_Text, ...],
        Meta(min_length=1),
        ConfigKey(
            "The nodes, tried in turn.",
            '["tls://hub1.casino.example:4222", "tls://hub2.casino.example:4222"]',
            given=True,
        ),
    ]
    ca: Annotated[
        PemFile, ConfigKey("PEM file of the property's CA.", '"pki/ca.pem"', given=True)
    ] = None
    cert: Annotated[
        PemFile, ConfigKey("PEM file of our certificate.", '"pki/client.pem"', given=True)
    ] = None
    key: Annotated[OpenFile, ConfigKey("PEM file of its key.", '"pki/client.key"', given=True)] = (
        None
    )


class UplinkTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table whose log the uplink sends to the hub.

    Args:
        log: its event log's file.
        password_file: the file with the password of its login at the hub.
    """

    log: str
    password_file: RequiredFile


class UplinkConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The uplink next to tables, which sends each log to the hub."""

    tables: Annotated[
        dict[str, UplinkTable],
        ConfigKey(
            "A line for each table: its log, and the file with its login's password.",
            f'{{ {_SITE_TABLE} = {{ log = "table.sqlite", password_file = "secrets/b7-hub" }} }}',
        ),
    ]


class ArchiveConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The archive in PostgreSQL."""

    database: Annotated[
        str,
        ConfigKey(
            "The database; a password comes from the file that PGPASSFILE names.",
            '"postgresql://baccarat@db.casino.example/property"',
        ),
    ]
    workers: Annotated[
        int,
        Meta(ge=0, le=16),
        ConfigKey("How many processes fill it from here; 0 only reads it.", "1"),
    ] = 1
    password_file: Annotated[
        OpenFile, ConfigKey("With the password of the hub's login.", '"secrets/archive"')
    ] = None


class WitnessConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The witness, on a machine that no table's people can write to."""

    book: Annotated[str, ConfigKey("What it has seen. Back it up.", '"witness.sqlite"')] = (
        "witness.sqlite"
    )
    key: Annotated[
        str, ConfigKey("Its private key; `baccarat keys new` makes one.", '"witness.key"')
    ]
    password_file: Annotated[
        RequiredFile, ConfigKey("With the password of the hub's login.", '"secrets/witness"')
    ]
    keys: Annotated[
        dict[str, tuple[str, ...]],
        ConfigKey(
            "A line for each table: the public keys that may sign its checkpoints.",
            f'{{ {_SITE_TABLE} = ["harbour/b7+5ab1c8a6+AVd..."] }}',
        ),
    ]


class PageConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The page of all tables. It asks for a login where `users` is given."""

    host: Annotated[str, ConfigKey("Where to listen.", '"127.0.0.1"')] = "127.0.0.1"
    port: Annotated[Port, ConfigKey("At which port.", "8090")] = 8090
    names: Annotated[
        tuple[str, ...],
        ConfigKey("Names that browsers call it by.", '["property.casino.example"]'),
    ] = ()
    replay: Annotated[
        str,
        ConfigKey(
            "Where a table's replay is, for the name of its tile.",
            '"https://{table}.{site}.example/replay"',
        ),
    ] = ""
    users: Annotated[
        OpenFile,
        ConfigKey("Who may see it: a file that `baccarat user` writes.", '"users.toml"'),
    ] = None
    exposed: Annotated[
        bool,
        ConfigKey(
            "Beyond loopback: something in front of it has TLS, and logins unless `users` does.",
            "true",
        ),
    ] = False


class PropertyMetricsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The property's health for Prometheus, on loopback."""

    port: Annotated[Port, ConfigKey("Where /metrics is served.", "9190")] = 9190


class PropertyConfig(PlacedConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The property's services that run on this machine, or are asked from it."""

    hub: HubConfig | None = None
    uplink: UplinkConfig | None = None
    archive: ArchiveConfig | None = None
    witness: WitnessConfig | None = None
    page: PageConfig | None = None
    metrics: PropertyMetricsConfig | None = None

    def hub_settings(self, who: str, password_file: str) -> HubSettings:
        """Return how `who` reaches the hub.

        Raises:
            OSError: a file cannot be read.
        """
        assert self.hub is not None  # noqa: S101 - checked on reading
        return HubSettings(
            servers=self.hub.servers,
            who=who,
            password=read_password(self.beside(password_file)),
            ca=self.beside(self.hub.ca),
            cert=self.beside(self.hub.cert),
            key=self.beside(self.hub.key),
        )

    def witness_settings(self) -> WitnessSettings:
        """Return the witness's settings.

        Raises:
            InputError: a key cannot be used.
        """
        assert self.witness is not None  # noqa: S101 - the caller has looked
        return WitnessSettings(
            key=load_signing_key(self.beside(self.witness.key)), given=self.given_keys()
        )

    def given_keys(self) -> dict[str, tuple[VerifierKey, ...]]:
        """Return the public keys of each log.

        Raises:
            InputError: one of them is not a public key.
        """
        given = self.witness.keys if self.witness else {}
        return {origin: tuple(map(parse_verifier_key, keys)) for origin, keys in given.items()}


PROPERTY: Final = Form(
    PropertyConfig,
    "the property's",
    head="""\
# A property of baccarat-table. Paths count from this file's folder.
# Each machine has only the sections of what runs there: an uplink beside its tables, archive
# workers, the witness and the page wherever they are.
""",
    whole=True,
)
