"""The tables and keys of a property's TOML file, as types.

`baccarat.config.property` reads a file into them and reports its faults. A machine has only the
sections of the services that run there.
"""

import os
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from baccarat.config.form import CREDENTIAL
from events.proof.keys import load_signing_key
from events.proof.note import VerifierKey, parse_verifier_key
from property.hub.connection import HubSettings
from property.witness.service import WitnessSettings

__all__ = [
    "ArchiveConfig",
    "HubConfig",
    "PageConfig",
    "PropertyConfig",
    "UplinkConfig",
    "UplinkTable",
    "WitnessConfig",
]

_Port = Annotated[int, Meta(ge=1, le=65535)]
_Text = Annotated[str, Meta(min_length=1)]
_NO_CREDENTIALS: Final = "/run/credentials/none"


class HubConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The NATS hub, or a leaf of it on this machine.

    Args:
        servers: URLs, `tls://host:port`; `nats://` only on loopback.
        ca: PEM file of the property's CA.
        cert: PEM file of our own certificate.
        key: PEM file of its key.
    """

    servers: Annotated[tuple[_Text, ...], Meta(min_length=1)]
    ca: str | None = None
    cert: str | None = None
    key: str | None = None


class UplinkTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table whose log the uplink sends to the hub.

    Args:
        log: its event log's file.
        password_file: the file with the password of its login at the hub.
    """

    log: str
    password_file: str


class UplinkConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The uplink next to one or more tables.

    Args:
        tables: `<site>/<table>` to its log and login.
    """

    tables: dict[str, UplinkTable]


class ArchiveConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The archive in PostgreSQL.

    Args:
        database: `postgresql://user@host/database`; a password comes from PGPASSFILE.
        workers: how many processes on this machine fill it; 0 only reads it.
        password_file: the file with the password of the hub's login `archive`.
    """

    database: str
    workers: Annotated[int, Meta(ge=0, le=16)] = 1
    password_file: str | None = None


class WitnessConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The witness.

    Args:
        book: its SQLite file.
        key: the file of the private key that it cosigns with.
        password_file: the file with the password of the hub's login `witness`.
        keys: `<site>/<table>` to the public keys that may sign its checkpoints.
    """

    book: str = "witness.sqlite"
    key: str
    password_file: str
    keys: dict[str, tuple[str, ...]]


class PageConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The page of all tables. It asks for no login: anybody who reaches it sees everything.

    Args:
        host: the address to listen at; of loopback, unless `exposed`.
        port: the port to listen at.
        names: names that browsers use, besides its addresses and `localhost`.
        exposed: confirm that a proxy in front asks for logins; required beyond loopback.
    """

    host: str = "127.0.0.1"
    port: _Port = 8090
    names: tuple[str, ...] = ()
    exposed: bool = False


class PropertyConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The property's services that run on this machine, or are asked from it.

    Args:
        hub: how to reach the hub; None where nothing here does.
        uplink: the tables of this machine.
        archive: the archive.
        witness: the witness.
        page: the page.
    """

    hub: HubConfig | None = None
    uplink: UplinkConfig | None = None
    archive: ArchiveConfig | None = None
    witness: WitnessConfig | None = None
    page: PageConfig | None = None
    base: str = ""

    def password_files(self) -> dict[str, str]:
        """Return key to password file, for the keys that are set."""
        found = {}
        if self.uplink is not None:
            for origin, table in self.uplink.tables.items():
                found[f"uplink.tables.{origin}.password_file"] = table.password_file
        for name in ("archive", "witness"):
            section = getattr(self, name)
            if section is not None and section.password_file is not None:
                found[f"{name}.password_file"] = section.password_file
        return found

    def hub_settings(self, who: str, password_file: str) -> HubSettings:
        """Return how `who` reaches the hub.

        Raises:
            OSError: a file cannot be read.
        """
        assert self.hub is not None  # noqa: S101 - checked on reading
        return HubSettings(
            servers=self.hub.servers,
            who=who,
            password=self.beside(password_file).read_text("utf-8").strip(),
            ca=self.beside(self.hub.ca) if self.hub.ca else None,
            cert=self.beside(self.hub.cert) if self.hub.cert else None,
            key=self.beside(self.hub.key) if self.hub.key else None,
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

    def beside(self, path: str) -> Path:
        """Resolve a path against the configuration file's folder; `credential:NAME` as well."""
        if path.startswith(CREDENTIAL):
            folder = os.environ.get("CREDENTIALS_DIRECTORY", _NO_CREDENTIALS)
            return Path(folder) / path.removeprefix(CREDENTIAL)
        return Path(self.base) / path
