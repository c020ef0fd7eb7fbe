"""Each key of a table's configuration: its explanation, and an example.

`config init` writes them out, and a fault shows the example of its key.
"""

from typing import Final, NamedTuple

__all__ = ["KEYS", "TABLES", "ConfigKey", "example_of"]


class ConfigKey(NamedTuple):
    """A key.

    Args:
        says: its explanation, for a person.
        example: its value in TOML.
        given: whether a new configuration sets it; the others are comments there.
    """

    says: str
    example: str
    given: bool = False


# The purpose of each TOML table, and whether a new configuration has it.
TABLES: Final[dict[str, tuple[str, bool]]] = {
    "limits": ("The table's own limits over the rulebook's, minor units.", False),
    "shoe": ("The shoe link.", True),
    "shoe.keep": ("How long raw journals stay; what is still needed stays in any case.", True),
    "bus": ("The MQTT broker.", True),
    "data": ("Where the durable things are.", True),
    "checkpoints": ("What the log is signed with.", False),
    "displays": ("The screens' web server: the scoreboard, and the people's screens.", True),
    "scoreboard": ("Another one, for the scoreboard alone: nobody can log in at it.", False),
    "cage": ("The reference ledger, where this table keeps one.", True),
    "metrics": ("Metrics for Prometheus, on loopback.", True),
    "users": ("Logins at the broker, and what each may do.", True),
}

KEYS: Final[dict[str, ConfigKey]] = {
    "site": ConfigKey("The site's id on the bus: a-z, 0-9, - and _.", '"harbour"', given=True),
    "table": ConfigKey("The table's id on the bus.", '"b7"', given=True),
    "rulebook": ConfigKey(
        "See `baccarat rulebook list`; or the path of your own.", '"au-commission"', given=True
    ),
    "library": ConfigKey(
        "Your further rulebooks, by which a coup can be corrected.", '["harbour-2026.toml"]'
    ),
    "pay_scale": ConfigKey("The property's scale, for rulebooks that pay by one.", '"one"'),
    "limits.table_maximum": ConfigKey("All stakes of a coup together.", "10000000"),
    "limits.differential": ConfigKey("Between all Player and all Banker stakes.", "5000000"),
    "limits.bets": ConfigKey(
        "By bet; what is left out is the rulebook's.",
        "{ banker = { minimum = 2500, maximum = 1000000, step = 500 } }",
    ),
    "shoe.url": ConfigKey(
        "serial:///dev/serial/by-id/..., tcp://host:port, pty:/path or file:capture.raw; "
        "`baccarat shoe list` shows the readers of this machine.",
        '"serial:///dev/serial/by-id/usb-FTDI_FT232R_A50285BI-if00-port0?baud=4800"',
        given=True,
    ),
    "shoe.profile": ConfigKey(
        "The wire profile, or the path of your own; `baccarat shoe profiles` names them.",
        '"enq-bcc"',
        given=True,
    ),
    "shoe.username": ConfigKey("The driver's login at the broker, if of its own.", '"b7-shoe"'),
    "shoe.password_file": ConfigKey("The file that holds its password.", '"secrets/b7-shoe"'),
    "shoe.keep.days": ConfigKey("Raw journals older than this may go.", "400"),
    "shoe.keep.megabytes": ConfigKey("The oldest may go while all together are larger.", "2000"),
    "shoe.keep.segment_megabytes": ConfigKey(
        "A file as large as this is followed by another.", "4"
    ),
    "bus.host": ConfigKey("The broker's host.", '"127.0.0.1"', given=True),
    "bus.port": ConfigKey("The broker's port; 8883 is usual with TLS.", "1883", given=True),
    "bus.ca": ConfigKey(
        "PEM file of the CA that signed the broker's certificate: TLS.", '"pki/ca.pem"'
    ),
    "bus.cert": ConfigKey(
        "PEM file of our certificate, where the broker asks for one.", '"pki/b7.pem"'
    ),
    "bus.key": ConfigKey("PEM file of its key.", '"pki/b7.key"'),
    "bus.username": ConfigKey("The services' login at the broker.", '"b7-core"'),
    "bus.password_file": ConfigKey(
        "The file that holds its password, or credential:NAME of the service manager.",
        '"secrets/b7-core"',
    ),
    "data.log": ConfigKey("The event log's file.", '"table.sqlite"', given=True),
    "data.journal": ConfigKey("The folder of the driver's raw journals.", '"journal"', given=True),
    "data.new_file": ConfigKey(
        'When the log goes on in a new file: "never", "shoe", "day".', '"never"'
    ),
    "checkpoints.key": ConfigKey(
        "The private key's file; `baccarat keys new` makes one.", '"b7.key"'
    ),
    "checkpoints.retiring": ConfigKey("The key before it, while one is rotated.", '"b7-old.key"'),
    "checkpoints.every_s": ConfigKey("Events without money wait so long for a checkpoint.", "300"),
    "displays.host": ConfigKey("Where to listen; beyond loopback, with TLS.", '"127.0.0.1"'),
    "displays.port": ConfigKey("At which port.", "8080", given=True),
    "displays.names": ConfigKey("Names that browsers call it by.", '["b7.casino.example"]'),
    "displays.cert": ConfigKey("PEM file of the certificate chain.", '"pki/screens.pem"'),
    "displays.key": ConfigKey("PEM file of its key.", '"pki/screens.key"'),
    "displays.cleartext": ConfigKey("Beyond loopback without TLS; never for logins.", "true"),
    "displays.users": ConfigKey(
        "The users file of `baccarat user`; without one only the scoreboard is served.",
        '"people.toml"',
    ),
    "displays.betting_s": ConfigKey(
        "How long betting stays open by custom, for the countdown.", "25"
    ),
    "displays.idle_minutes": ConfigKey("A login ends when nothing was done for so long.", "30"),
    "displays.username": ConfigKey(
        "The screens' login at the broker, if of their own.", '"b7-display"'
    ),
    "displays.password_file": ConfigKey(
        "The file that holds its password.", '"secrets/b7-display"'
    ),
    "scoreboard.host": ConfigKey("Where to listen; beyond loopback, with TLS.", '"192.0.2.7"'),
    "scoreboard.port": ConfigKey("At which port.", "8081"),
    "scoreboard.names": ConfigKey("Names that browsers call it by.", '["board.casino.example"]'),
    "scoreboard.cert": ConfigKey("PEM file of the certificate chain.", '"pki/board.pem"'),
    "scoreboard.key": ConfigKey("PEM file of its key.", '"pki/board.key"'),
    "scoreboard.cleartext": ConfigKey(
        "Beyond loopback without TLS: it can be forged there.", "true"
    ),
    "scoreboard.betting_s": ConfigKey("How long betting stays open by custom.", "25"),
    "scoreboard.username": ConfigKey("Its login at the broker, if of its own.", '"b7-display"'),
    "scoreboard.password_file": ConfigKey(
        "The file that holds its password.", '"secrets/b7-display"'
    ),
    "cage.ledger": ConfigKey("A SQLite file, or postgresql://...", '"cage.sqlite"', given=True),
    "cage.user": ConfigKey("Its login, one of [users] with the role cage.", '"cage"'),
    "cage.consumer": ConfigKey("The name by which the table remembers what it took.", '"cage"'),
    "cage.username": ConfigKey("Its login at the broker, if of its own.", '"b7-cage"'),
    "cage.password_file": ConfigKey("The file that holds its password.", '"secrets/b7-cage"'),
    "metrics.port": ConfigKey("Where /metrics is served.", "9180", given=True),
    "metrics.username": ConfigKey("The login at the broker, if of its own.", '"b7-metrics"'),
    "metrics.password_file": ConfigKey("The file that holds its password.", '"secrets/b7-metrics"'),
    "users": ConfigKey("A user and the roles it has.", '["supervisor"]'),
}


def example_of(key: str) -> str:
    """Return a line of TOML that is right for a key; empty where there is no such key."""
    if key.startswith("users."):
        return f"{key.removeprefix('users.')} = {KEYS['users'].example}"
    if key.startswith("limits.bets."):
        key = "limits.bets"
    found = KEYS.get(key)
    return f"{key.rpartition('.')[2]} = {found.example}" if found else ""
