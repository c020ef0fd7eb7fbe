"""The tables and keys of a table's TOML file, as types.

`baccarat.config.table` reads a file into them and reports its faults.
"""

import os
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from baccarat.config.limits import LimitsConfig
from displays.auth.accounts import load_accounts
from events.errors import ConfigError
from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics
from table_core.process.options import RotationPolicy

__all__ = [
    "CREDENTIAL",
    "DEFAULT_USERS",
    "BusConfig",
    "CageConfig",
    "CheckpointConfig",
    "DataConfig",
    "DisplaysConfig",
    "KeepConfig",
    "MetricsConfig",
    "ScoreboardConfig",
    "ShoeConfig",
    "TableConfig",
]

# The path of a site's own rulebook or wire profile ends in this; a shipped one's name does not.
_FILE: Final = ".toml"

DEFAULT_USERS: Final[dict[str, tuple[str, ...]]] = {
    "dealer": ("dealer",),
    "supervisor": ("supervisor",),
    "wagers": ("wagers",),
    "cage": ("cage",),
    "display": ("display",),
    "console": ("console",),
}


# The prefix of the name of a secret that the service manager hands over.
CREDENTIAL: Final = "credential:"


class KeepConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits on the raw journals kept; by default all are. A journal still needed always stays.

    Args:
        days: files older than this may be deleted.
        megabytes: the oldest may be deleted while all together are larger.
        segment_megabytes: a file as large as this is followed by another, between coups.
    """

    days: Annotated[int, Meta(ge=1)] | None = None
    megabytes: Annotated[int, Meta(ge=1)] | None = None
    segment_megabytes: Annotated[int, Meta(ge=1, le=1024)] = 4


class ShoeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shoe link.

    Args:
        url: `serial:///dev/serial/by-id/...?baud=4800`, `tcp://host:port`, `pty:/path/of/the/link`
            or `file:capture.raw`.
        profile: id of the wire profile, or the path of a site's own.
        username: the driver's login at the broker, where it is not that of `[bus]`.
        password_file: the file with its password.
        keep: how long raw journals are kept.
    """

    url: str
    profile: str = "enq-bcc"
    username: str | None = None
    password_file: str | None = None
    keep: KeepConfig = KeepConfig()


class BusConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The MQTT broker; relative paths count from the configuration file's folder.

    Args:
        ca: PEM file of the CA that must have issued the broker's certificate; it turns TLS on.
        cert: PEM file of our own certificate, where the broker asks for one.
        key: PEM file of its key.
        username: the login of the table's services.
        password_file: the file with its password, or `credential:NAME`.
    """

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535)] = 1883
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    username: str | None = None
    password_file: str | None = None


class DataConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Durable data; relative paths count from the configuration file's folder.

    Args:
        log: the event log's file.
        journal: the folder of the driver's journals.
        new_file: when the log rotates: a new file begins, and the old one moves to the folder
            `archive`.
    """

    log: str = "table.sqlite"
    journal: str = "journal"
    new_file: RotationPolicy = "never"


class CheckpointConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys that sign the log; relative paths count from the configuration file's folder.

    Args:
        key: the private key's file, as `baccarat keys new` made it; None signs nothing.
        retiring: the previous key, during a change of keys.
        every_s: how long events without money may wait for a checkpoint, seconds.
    """

    key: str | None = None
    retiring: str | None = None
    every_s: Annotated[int, Meta(ge=1, le=86_400)] = 300


_Port = Annotated[int, Meta(ge=1, le=65535)]


class ScoreboardConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A web server for the scoreboard alone, without logins, so it can be exposed.

    Relative paths count from the configuration file's folder.

    Args:
        host: the address to listen at.
        port: the port to listen at.
        names: names that browsers use, besides its addresses and `localhost`.
        cert: PEM file of the certificate chain, with `key`.
        key: PEM file of its key.
        cleartext: accept that the network can read and forge pages; required beyond loopback
            without TLS.
        betting_s: how long betting usually stays open in this house, seconds, for the countdown.
        username: our login at the broker, where it is not that of `[bus]`.
        password_file: the file with its password.
    """

    host: str = "127.0.0.1"
    port: _Port = 8081
    names: tuple[str, ...] = ()
    cert: str | None = None
    key: str | None = None
    cleartext: bool = False
    betting_s: Annotated[int, Meta(ge=1, le=3600)] | None = None
    username: str | None = None
    password_file: str | None = None


class DisplaysConfig(ScoreboardConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The screens' web server: the scoreboard, and the consoles where people log in.

    Args:
        users: the users file of `baccarat user`; without one only the scoreboard is served.
        idle_minutes: a login ends after this time without activity.
    """

    port: _Port = 8080
    users: str | None = None
    idle_minutes: Annotated[int, Meta(ge=1, le=720)] = 30


class CageConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reference ledger, for a table that keeps one.

    Args:
        ledger: a SQLite file, relative to the configuration's folder, or `postgresql://...`.
        user: its login on the bus; one of the users with the role `cage`.
        consumer: the name under which the table remembers its acknowledgements.
        username: the broker's login, where it is not that of the table's services.
        password_file: the file with its password.
    """

    ledger: str = "cage.sqlite"
    user: str = "cage"
    consumer: str = "cage"
    username: str | None = None
    password_file: str | None = None


class MetricsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Metrics for Prometheus, served on loopback only because they show the table's activity.

    Args:
        port: the loopback port that serves `/metrics`.
        username: our login at the broker, where it is not that of `[bus]`.
        password_file: the file with its password.
    """

    port: _Port = 9180
    username: str | None = None
    password_file: str | None = None


_WithLogin = ShoeConfig | ScoreboardConfig | CageConfig | MetricsConfig


class TableConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table.

    Args:
        site: the site's id on the bus.
        table: the table's id on the bus.
        rulebook: the rulebook in force: the id of a shipped one, or the path of the site's own.
        shoe: the shoe link.
        bus: the broker.
        data: log and journal.
        checkpoints: the keys that sign the log.
        displays: the screens' web server; None where there is none.
        scoreboard: another one, for the scoreboard alone; None where there is none.
        cage: the reference ledger; None where the table keeps none.
        metrics: metrics for Prometheus; None where there are none.
        users: user to roles.
        limits: the table's own; None leaves them to the rulebook, and to people.
        pay_scale: the property's scale, for rulebooks of which it must choose one (seed 1, 11A.8).
        library: paths of the site's further rulebooks, for corrections of coups; above all those
            that were in force before.
    """

    site: str
    table: str
    rulebook: str
    shoe: ShoeConfig
    bus: BusConfig = BusConfig()
    data: DataConfig = DataConfig()
    checkpoints: CheckpointConfig = CheckpointConfig()
    displays: DisplaysConfig | None = None
    scoreboard: ScoreboardConfig | None = None
    cage: CageConfig | None = None
    metrics: MetricsConfig | None = None
    users: dict[str, tuple[str, ...]] = msgspec.field(default_factory=lambda: dict(DEFAULT_USERS))
    limits: LimitsConfig | None = None
    pay_scale: str | None = None
    library: tuple[str, ...] = ()
    base: str = ""

    @property
    def topics(self) -> Topics:
        """The table's topics."""
        return Topics(self.site, self.table)

    @property
    def origin(self) -> str:
        """The origin of the log: `<site>/<table>`."""
        return f"{self.site}/{self.table}"

    @property
    def log_path(self) -> Path:
        """The event log's file."""
        return Path(self.base) / self.data.log

    @property
    def journal_path(self) -> Path:
        """The raw journal's folder."""
        return Path(self.base) / self.data.journal

    @property
    def rulebook_name(self) -> str:
        """The rulebook in force: the id of a shipped one, or its file."""
        return self._name_or_file(self.rulebook)

    @property
    def library_files(self) -> tuple[str, ...]:
        """The files of the site's further rulebooks."""
        return tuple(str(self.beside(name)) for name in self.library)

    @property
    def profile_name(self) -> str:
        """The wire profile: the name of a shipped one, or its file."""
        return self._name_or_file(self.shoe.profile)

    @property
    def password_path(self) -> Path | None:
        """The file with the broker's password, where there is one."""
        return self.beside(self.bus.password_file)

    def bus_settings(self, service: str) -> BusSettings:
        """Return the broker and login of `service`; its client id is fixed for the table."""
        return self._login(service, self.bus.username, self.password_path)

    def displays_bus(self) -> BusSettings:
        """Return the broker and login of the screens' server; its own login where it has one.

        Without people it is a scoreboard, which may run next to a server with consoles. Each has a
        client id of its own, or the broker would disconnect one for the other.
        """
        name = "displays" if self.displays and self.displays.users else "scoreboard"
        return self._own_bus(name, self.displays)

    def scoreboard_bus(self) -> BusSettings:
        """Return the broker and login of the scoreboard's own server."""
        return self._own_bus("scoreboard", self.scoreboard)

    def shoe_bus(self) -> BusSettings:
        """Return the broker and login of the driver; its own login where it has one."""
        return self._own_bus("shoe", self.shoe)

    def metrics_bus(self) -> BusSettings:
        """Return the broker and login of the metrics; their own login where there is one."""
        return self._own_bus("metrics", self.metrics)

    def cage_bus(self) -> BusSettings:
        """Return the broker and login of the cage; its own login where it has one."""
        return self._own_bus("cage", self.cage)

    def password_files(self) -> dict[str, str]:
        """Return section to password file, for the sections that name one."""
        named = ("shoe", "bus", "displays", "scoreboard", "cage", "metrics")
        sections = {name: getattr(self, name) for name in named}
        return {
            name: section.password_file
            for name, section in sections.items()
            if section is not None and section.password_file is not None
        }

    def _own_bus(self, service: str, given: _WithLogin | None) -> BusSettings:
        """Return a section's own login, else that of the table's services."""
        if given is None or given.username is None:
            return self.bus_settings(service)
        return self._login(service, given.username, self.beside(given.password_file))

    def _login(self, service: str, username: str | None, secret: Path | None) -> BusSettings:
        password = secret.read_text("utf-8").strip() if secret else None
        return BusSettings(
            host=self.bus.host,
            port=self.bus.port,
            client_id=f"bac-{self.site}-{self.table}-{service}",
            username=username,
            password=password,
            ca=self.beside(self.bus.ca),
            cert=self.beside(self.bus.cert),
            key=self.beside(self.bus.key),
        )

    def roles(self) -> dict[str, frozenset[str]]:
        """Return user to roles, with the people who have a console login.

        Raises:
            InputError: the users file cannot be used, or gives somebody other roles than this file
                does.
        """
        roles = {user: frozenset(each) for user, each in self.users.items()}
        path = self.beside(self.displays.users) if self.displays else None
        for name, account in load_accounts(path).items() if path else ():
            if roles.setdefault(name, frozenset(account.roles)) != frozenset(account.roles):
                raise ConfigError(
                    f"{path}: user {name}: the table's configuration gives other roles to a user "
                    "of that name; choose another name"
                )
        return roles

    def _name_or_file(self, name: str) -> str:
        return str(self.beside(name)) if name.endswith(_FILE) else name

    def beside(self, path: str | None) -> Path | None:
        """Resolve a path of the configuration against the folder of its file.

        `credential:NAME` is a file that the service manager provides to this service alone
        (systemd's
        `LoadCredential=NAME:...`), so the service's user need not be able to read the secret.
        """
        if path and path.startswith(CREDENTIAL):
            folder = os.environ.get("CREDENTIALS_DIRECTORY", "/run/credentials/none")
            return Path(folder) / path.removeprefix(CREDENTIAL)
        return Path(self.base) / path if path else None
