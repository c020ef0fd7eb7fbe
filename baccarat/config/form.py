"""The tables and keys of a table's TOML file, as types.

`baccarat.config.table` reads a file into them and reports its faults.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from baccarat.config.keys import (
    CREDENTIAL,
    CaFile,
    ConfigKey,
    Form,
    OpenFile,
    PemFile,
    PlacedConfig,
    Port,
    named_files,
)
from baccarat.read_files import read_password
from displays.auth.accounts import load_accounts
from displays.consoles.layout import NINE_SEATS
from events.errors import InputError
from events.mqtt.bus import BusSettings
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.topics import Topics
from events.proof.key_file import KeyFile
from events.types import BetLimits, LimitsSet, Per
from table_core.process.options import RotationPolicy

__all__ = [
    "DEFAULT_USERS",
    "TABLE",
    "BetLimitsConfig",
    "BusConfig",
    "CageConfig",
    "CheckpointConfig",
    "ChosenBusMode",
    "DataConfig",
    "DisplaysConfig",
    "KeepConfig",
    "LimitsConfig",
    "LookConfig",
    "MessageKeysConfig",
    "MetricsConfig",
    "ScoreboardConfig",
    "ScreensConfig",
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

_Amount: TypeAlias = Annotated[int, Meta(ge=1, le=2**53 - 1)]
_AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1)]
ChosenBusMode: TypeAlias = Literal["trust-broker", "enrolling", "required"]
"""What a site may choose; a table without `[message_keys]` is `off`."""
_BETTING: Final = Meta(ge=1, le=3600)


class BetLimitsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one bet, minor units; those left out are the rulebook's.

    Args:
        minimum: the smallest amount that may be bet.
        maximum: the largest.
        step: stakes are multiples of it.
        per: what minimum and maximum bind: `patron`, `seat`, `spot` or `wager`.
        table_maximum: all patrons' stakes on the bet together.
    """

    minimum: _Amount | None = None
    maximum: _Amount | None = None
    step: _Amount | None = None
    per: Per | None = None
    table_maximum: _Amount | None = None


class LimitsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table's own limits over the rulebook's, minor units."""

    table_maximum: Annotated[
        _Amount | None, ConfigKey("All stakes of a coup together.", "10000000")
    ] = None
    differential: Annotated[
        _Amount | None, ConfigKey("Between all Player and all Banker stakes.", "5000000")
    ] = None
    patron_maximum: Annotated[_Amount | None, ConfigKey("All stakes of one patron.", "2000000")] = (
        None
    )
    seat_maximum: Annotated[_Amount | None, ConfigKey("All stakes in one box.", "2000000")] = None
    bets: Annotated[
        dict[str, BetLimitsConfig],
        ConfigKey(
            "By bet; what is left out is the rulebook's.",
            '{ banker = { minimum = 2500, maximum = 1000000, step = 500, per = "patron" } }',
        ),
    ] = {}

    def as_event(self) -> LimitsSet:
        """Return the limits as an event, bets in the order of their names."""
        return LimitsSet(
            bets=tuple(
                BetLimits(bet=bet, **msgspec.structs.asdict(each))
                for bet, each in sorted(self.bets.items())
            ),
            table_maximum=self.table_maximum,
            differential=self.differential,
            patron_maximum=self.patron_maximum,
            seat_maximum=self.seat_maximum,
        )


class KeepConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long raw journals stay; what is still needed stays in any case."""

    days: Annotated[
        _AtLeastOne | None, ConfigKey("Raw journals older than this may go.", "400")
    ] = None
    megabytes: Annotated[
        _AtLeastOne | None, ConfigKey("The oldest may go while all together are larger.", "2000")
    ] = None
    segment_megabytes: Annotated[
        int,
        Meta(ge=1, le=1024),
        ConfigKey("A file as large as this is followed by another.", "4"),
    ] = 4


class ShoeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shoe link."""

    url: Annotated[
        str,
        ConfigKey(
            "serial:///dev/serial/by-id/..., tcp://host:port, pty:/path or file:capture.raw; "
            "`baccarat shoe list` shows the readers of this machine.",
            '"serial:///dev/serial/by-id/usb-FTDI_FT232R_A50285BI-if00-port0?baud=4800"',
            given=True,
        ),
    ]
    profile: Annotated[
        str,
        ConfigKey(
            "The wire profile, or the path of your own; `baccarat shoe profiles` names them.",
            '"enq-bcc"',
            given=True,
        ),
    ] = "enq-bcc"
    username: Annotated[
        str | None, ConfigKey("The driver's login at the broker, if of its own.", '"b7-shoe"')
    ] = None
    password_file: Annotated[
        OpenFile, ConfigKey("The file that holds its password.", '"broker/secrets/b7-shoe"')
    ] = None
    message_key: Annotated[
        OpenFile,
        ConfigKey(
            "The file of the driver's message key; `baccarat keys messages` makes it.",
            '"secrets/b7-shoe.messagekey"',
        ),
    ] = None
    keep: KeepConfig = KeepConfig()


class BusConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The MQTT broker."""

    host: Annotated[
        str, Meta(min_length=1), ConfigKey("The broker's host.", '"127.0.0.1"', given=True)
    ] = "127.0.0.1"
    port: Annotated[
        Port, ConfigKey("The broker's port; 8883 is usual with TLS.", "1883", given=True)
    ] = 1883
    ca: Annotated[
        CaFile,
        ConfigKey("PEM file of the CA that signed the broker's certificate: TLS.", '"pki/ca.pem"'),
    ] = None
    cert: Annotated[
        PemFile,
        ConfigKey("PEM file of our certificate, where the broker asks for one.", '"pki/b7.pem"'),
    ] = None
    key: Annotated[OpenFile, ConfigKey("PEM file of its key.", '"pki/b7.key"')] = None
    username: Annotated[
        str | None, ConfigKey("The services' login at the broker.", '"b7-core"')
    ] = None
    password_file: Annotated[
        OpenFile,
        ConfigKey(
            "The file that holds its password, or credential:NAME of the service manager.",
            '"broker/secrets/b7-core"',
        ),
    ] = None


class MessageKeysConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which messages on the bus the table believes."""

    file: Annotated[
        OpenFile,
        ConfigKey(
            "The file of the table's message keys; `baccarat keys messages` makes it.",
            '"secrets/b7-core.messagekeys"',
        ),
    ] = None
    mode: Annotated[
        ChosenBusMode,
        ConfigKey(
            '"required"; "enrolling" while keys are handed out; "trust-broker" to go without.',
            '"required"',
        ),
    ] = "required"
    without: Annotated[
        tuple[str, ...], ConfigKey("Users whose programs have no key.", '["wagers"]')
    ] = ()


class DataConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The places of the log and the journals."""

    log: Annotated[str, ConfigKey("The event log's file.", '"table.sqlite"', given=True)] = (
        "table.sqlite"
    )
    journal: Annotated[
        str, ConfigKey("The folder of the driver's raw journals.", '"journal"', given=True)
    ] = "journal"
    new_file: Annotated[
        RotationPolicy,
        ConfigKey('When the log goes on in a new file: "never", "shoe", "day".', '"never"'),
    ] = "never"


class CheckpointConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys that sign the log."""

    key: Annotated[
        str | None, ConfigKey("The private key's file; `baccarat keys new` makes one.", '"b7.key"')
    ] = None
    retiring: Annotated[
        str | None, ConfigKey("The key before it, while one is rotated.", '"b7-old.key"')
    ] = None
    head: Annotated[
        str | None,
        ConfigKey("Where the newest signed state is kept; else next to the log.", '"b7.head"'),
    ] = None
    every_s: Annotated[
        int,
        Meta(ge=1, le=86_400),
        ConfigKey("Events without money wait so long for a checkpoint.", "300"),
    ] = 300


class DisplaysConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The screens' web server: the scoreboard, and the people's screens."""

    host: Annotated[
        str, ConfigKey("Where to listen; beyond loopback, with TLS.", '"127.0.0.1"')
    ] = "127.0.0.1"
    port: Annotated[Port, ConfigKey("At which port.", "8080", given=True)] = 8080
    names: Annotated[
        tuple[str, ...], ConfigKey("Names that browsers call it by.", '["b7.casino.example"]')
    ] = ()
    cert: Annotated[
        PemFile, ConfigKey("PEM file of the certificate chain.", '"pki/screens.pem"')
    ] = None
    key: Annotated[OpenFile, ConfigKey("PEM file of its key.", '"pki/screens.key"')] = None
    cleartext: Annotated[
        bool, ConfigKey("Beyond loopback without TLS; never for logins.", "true")
    ] = False
    users: Annotated[
        str | None,
        ConfigKey(
            "The users file of `baccarat user`; without one only the scoreboard is served.",
            '"people.toml"',
        ),
    ] = None
    betting_s: Annotated[
        Annotated[int, _BETTING] | None,
        ConfigKey("How long betting stays open by custom, for the countdown.", "25"),
    ] = None
    idle_minutes: Annotated[
        int,
        Meta(ge=1, le=720),
        ConfigKey("A login ends when nothing was done for so long.", "30"),
    ] = 30
    record: Annotated[
        str | None,
        ConfigKey("The file in which logins are recorded.", '"logins.jsonl"'),
    ] = None
    password_days: Annotated[
        Annotated[int, Meta(ge=1, le=3650)] | None,
        ConfigKey("A password older than this lets nobody in.", "90"),
    ] = None
    one_session: Annotated[
        bool, ConfigKey("A further login of a person ends the earlier one.", "true")
    ] = False
    seats: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=99)], ...],
        Meta(min_length=1, max_length=14),
        ConfigKey("The seats' numbers on the layout, in their order.", "[1, 2, 3, 5, 6, 7, 8, 9]"),
    ] = NINE_SEATS
    chips: Annotated[
        dict[str, tuple[_Amount, ...]],
        ConfigKey(
            "The chips of each currency, minor units; else the rulebook's.",
            "{ AUD = [500, 2500, 10000, 50000, 100000] }",
        ),
    ] = {}
    sessions: Annotated[
        str, ConfigKey("The file that keeps logins over a restart.", '"sessions.json"')
    ] = "sessions.json"
    countersign: Annotated[
        bool, ConfigKey("Whoever signs second does so with name and password.", "true")
    ] = False
    username: Annotated[
        str | None, ConfigKey("The screens' login at the broker, if of their own.", '"b7-display"')
    ] = None
    password_file: Annotated[
        OpenFile, ConfigKey("The file that holds its password.", '"broker/secrets/b7-display"')
    ] = None
    message_key: Annotated[
        OpenFile,
        ConfigKey(
            "The file of the consoles' message key; `baccarat keys messages` makes it.",
            '"secrets/b7-console.messagekey"',
        ),
    ] = None


class ScoreboardConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another one, for the scoreboard alone: nobody can log in at it."""

    host: Annotated[
        str, ConfigKey("Where to listen; beyond loopback, with TLS.", '"192.0.2.7"')
    ] = "127.0.0.1"
    port: Annotated[Port, ConfigKey("At which port.", "8081")] = 8081
    names: Annotated[
        tuple[str, ...], ConfigKey("Names that browsers call it by.", '["board.casino.example"]')
    ] = ()
    cert: Annotated[PemFile, ConfigKey("PEM file of the certificate chain.", '"pki/board.pem"')] = (
        None
    )
    key: Annotated[OpenFile, ConfigKey("PEM file of its key.", '"pki/board.key"')] = None
    cleartext: Annotated[
        bool, ConfigKey("Beyond loopback without TLS: it can be forged there.", "true")
    ] = False
    betting_s: Annotated[
        Annotated[int, _BETTING] | None,
        ConfigKey("How long betting stays open by custom.", "25"),
    ] = None
    username: Annotated[
        str | None, ConfigKey("Its login at the broker, if of its own.", '"b7-display"')
    ] = None
    password_file: Annotated[
        OpenFile, ConfigKey("The file that holds its password.", '"broker/secrets/b7-display"')
    ] = None


_Colour: TypeAlias = Annotated[str, Meta(pattern=r"\A#[0-9a-fA-F]{6}\Z")] | None


class LookConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The house's name, logo and colours on the screens; letters must stay readable on them."""

    name: Annotated[
        str, Meta(max_length=40), ConfigKey("The house's name on the screens.", '"Harbour Casino"')
    ] = ""
    logo: Annotated[
        OpenFile, ConfigKey("A picture in place of the name: .svg, .png or .webp.", '"logo.svg"')
    ] = None
    felt: Annotated[_Colour, ConfigKey("The ground of every screen.", '"#0d2019"')] = None
    ink: Annotated[_Colour, ConfigKey("Letters on it.", '"#f4f1e8"')] = None
    accent: Annotated[_Colour, ConfigKey("The name, and the shoe's bar.", '"#e8c66a"')] = None
    player: Annotated[_Colour, ConfigKey("Player.", '"#5aa9ff"')] = None
    banker: Annotated[_Colour, ConfigKey("Banker.", '"#ff6b57"')] = None
    tie: Annotated[_Colour, ConfigKey("Tie.", '"#52d273"')] = None


class CageConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reference ledger, where this table keeps one."""

    ledger: Annotated[
        str, ConfigKey("A SQLite file, or postgresql://...", '"cage.sqlite"', given=True)
    ] = "cage.sqlite"
    user: Annotated[str, ConfigKey("Its login, one of [users] with the role cage.", '"cage"')] = (
        "cage"
    )
    consumer: Annotated[
        str, ConfigKey("The name by which the table remembers what it took.", '"cage"')
    ] = "cage"
    username: Annotated[
        str | None, ConfigKey("Its login at the broker, if of its own.", '"b7-cage"')
    ] = None
    password_file: Annotated[
        OpenFile, ConfigKey("The file that holds its password.", '"broker/secrets/b7-cage"')
    ] = None
    message_key: Annotated[
        OpenFile,
        ConfigKey(
            "The file of the cage's message key; `baccarat keys messages` makes it.",
            '"secrets/b7-cage.messagekey"',
        ),
    ] = None


class MetricsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Metrics for Prometheus, on loopback."""

    port: Annotated[Port, ConfigKey("Where /metrics is served.", "9180", given=True)] = 9180
    username: Annotated[
        str | None, ConfigKey("The login at the broker, if of its own.", '"b7-metrics"')
    ] = None
    password_file: Annotated[
        OpenFile, ConfigKey("The file that holds its password.", '"broker/secrets/b7-metrics"')
    ] = None


ScreensConfig: TypeAlias = DisplaysConfig | ScoreboardConfig


class TableConfig(PlacedConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table. A section that is None is not there; without `[limits]` people set the limits."""

    site: Annotated[
        str,
        ConfigKey("The site's id on the bus: a-z, 0-9, - and _.", '"harbour"', given=True),
    ]
    table: Annotated[str, ConfigKey("The table's id on the bus.", '"b7"', given=True)]
    rulebook: Annotated[
        str,
        ConfigKey(
            "See `baccarat rulebook list`; or the path of your own.", '"au-commission"', given=True
        ),
    ]
    library: Annotated[
        tuple[str, ...],
        ConfigKey(
            "Your further rulebooks, by which a coup can be corrected.", '["harbour-2026.toml"]'
        ),
    ] = ()
    pay_scale: Annotated[
        str | None,
        ConfigKey("The property's scale, for rulebooks that pay by one.", '"one"'),
    ] = None
    dealers: Annotated[
        Literal["named", "accounts"],
        ConfigKey(
            "A dealer is any reference (named), or signs in at the table (accounts).", '"accounts"'
        ),
    ] = "named"
    sign_corrections_from: Annotated[
        _Amount | None,
        ConfigKey("Two people sign a correction that moves as much, minor units.", "500000"),
    ] = None
    limits: LimitsConfig | None = None
    shoe: ShoeConfig
    bus: BusConfig = BusConfig()
    message_keys: MessageKeysConfig | None = None
    data: DataConfig = DataConfig()
    checkpoints: CheckpointConfig = CheckpointConfig()
    displays: DisplaysConfig | None = None
    scoreboard: ScoreboardConfig | None = None
    look: LookConfig = LookConfig()
    cage: CageConfig | None = None
    metrics: MetricsConfig | None = None
    users: Annotated[dict[str, tuple[str, ...]], ConfigKey("", '["supervisor"]')] = msgspec.field(
        default_factory=lambda: dict(DEFAULT_USERS)
    )

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

    def bus_settings(self, service: str) -> BusSettings:
        """Return the broker and login of `service`; its client id is fixed for the table."""
        return self._login(service, self.bus)

    def own_bus(
        self, name: Literal["shoe", "displays", "scoreboard", "cage", "metrics"]
    ) -> BusSettings:
        """Return the broker and a section's own login, else that of the table's services.

        Screens without people are a scoreboard, which may run next to a server with consoles. Each
        has a client id of its own, or the broker would disconnect one for the other.
        """
        given = getattr(self, name)
        service = name if getattr(given, "users", name) else "scoreboard"
        return self._login(service, given if given and given.username else self.bus)

    def own_keys(self, name: Literal["shoe", "displays", "cage"]) -> PeerKeys:
        """Return the message keys of a section's service; none where it has no file of them.

        Raises:
            InputError: the file cannot be used.
        """
        path = self.beside(getattr(getattr(self, name), "message_key", None))
        return PeerKeys(read=KeyFile(path, self.origin) if path else None)

    def password_files(self) -> dict[str, str]:
        """Return section to password file, for the sections that name one."""
        found = {key.partition("."): value for key, value, _ in named_files(self)}
        return {name: value for (name, _, key), value in found.items() if key == "password_file"}

    def _login(
        self, service: str, given: ShoeConfig | BusConfig | ScreensConfig | CageConfig
    ) -> BusSettings:
        secret = self.beside(given.password_file)
        if secret and not secret.exists() and str(given.password_file).startswith(CREDENTIAL):
            told = f"{given.password_file}: {secret} is not there"
            raise InputError(
                f"{told}; systemd alone provides it: its unit loads it from /etc/credstore, where "
                "`baccarat site apply` puts it; without systemd, name the file itself"
            )
        return BusSettings(
            host=self.bus.host,
            port=self.bus.port,
            client_id=f"bac-{self.site}-{self.table}-{service}",
            username=given.username,
            password=read_password(secret) if secret else None,
            read_password=partial(read_password, secret) if secret else None,
            ca=self.beside(self.bus.ca),
            cert=self.beside(self.bus.cert),
            key=self.beside(self.bus.key),
        )

    def roles(self) -> tuple[dict[str, frozenset[str]], str]:
        """Return user to roles, with the people who have a console login, and what is wrong.

        A name to which this file and the users file give other roles has those that both give. The
        text names it, for a person; it is empty where there is none.

        Raises:
            InputError: the users file cannot be used.
        """
        roles = {user: frozenset(each) for user, each in self.users.items()}
        path, wrong = self.beside(self.displays.users) if self.displays else None, ""
        for name, account in load_accounts(path).items() if path else ():
            theirs = frozenset(account.roles)
            if roles.setdefault(name, theirs) != theirs:
                roles[name] &= theirs
                wrong = wrong or (
                    f"{path}: user {name}: the table's configuration gives other roles to a user "
                    "of that name; choose another name"
                )
        return roles, wrong

    def _name_or_file(self, name: str) -> str:
        return str(self.beside(name)) if name.endswith(_FILE) else name


_USERS: Final = "".join(f'{user} = ["{role}"]\n' for user, (role,) in DEFAULT_USERS.items())
TABLE: Final = Form(
    TableConfig,
    "the table's",
    head="# A table of baccarat-table. Paths count from this file's folder.\n\n",
    tail=f"\n# Logins at the broker, and what each may do.\n[users]\n{_USERS}",
)
