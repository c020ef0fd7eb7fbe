"""What happens to a property in its life, as `PropertyLife.perform` reads it."""

from typing import Final

_NEW_FILES: Final = """
hub.md / Give the nodes new files / property hub
hub.md / Give the nodes new files / scp
"""

BRING_UP: Final = """
plan b7 b8
deal b7 b8
hub.md / Set up the hub / pki init
hub.md / Set up the hub / pki issue pki hub1
hub.md / Set up the hub / curl
configure hub.md 0 office property.toml
hub.md / Set up the hub / pki issue pki office
hub.md / Set up the hub / streams
configure hub.md 1 property etc/baccarat/property.toml
hub.md / Set up the hub / ssh property
witness.md / Run it / pki issue
configure witness.md 0 witness etc/baccarat/property.toml
witness.md / Run it / enable
witness.md / Run it / --witness
configure hub.md 2 b7 etc/baccarat/b7-property.toml
configure hub.md 2 b8 etc/baccarat/b8-property.toml
hub.md / Set up the hub / ssh b7
hub.md / Check it / status
finds unknown
archive.md / Run it / df
finds_no unknown
well
"""


def _added(table: str, *others: str) -> str:
    return f"""
plan {table} {" ".join(others)}
deal {table}
{_NEW_FILES}
configure witness.md 0 witness etc/baccarat/property.toml
hub.md / Add a table / systemctl
configure hub.md 2 {table} etc/baccarat/{table}-property.toml
hub.md / Set up the hub / ssh b7 / {table}
well
"""


ADD_B9: Final = _added("b9", "b7", "b8")

RENAME_B8: Final = f"""
deal b8
well
hub.md / Give up a table / systemctl / b8
until b8 uplink ended
{_added("b10", "b7", "b9")}
archive.md / Run it / property events / b8
until b8 position 24
"""

RETIRE_B9: Final = f"""
kill uplink@b9
hub.md / Give up a table / retire / b9
until b9 uplink ended
plan b7 b10
{_NEW_FILES}
nonsense b9
until b9 feed_alarms ['nonsense']
archive.md / Read its alarms / release / b9
well
"""

RENEW: Final = """
finds ends
hub.md / Renew certificates / pki renew
hub.md / Renew certificates / hub1
hub.md / Renew certificates / witness
hub.md / Renew certificates / b7
finds_no ends
well
"""

LOSE: Final = """
hub.md / When something is lost or full / hub2
well
kill hub@hub1 hub@hub2 hub@hub3
wipe hub1 hub2 hub3
hub.md / When something is lost or full / start baccarat-hub@hub1
hub.md / Set up the hub / curl
hub.md / Set up the hub / streams
hub.md / Give up a table / retire / b8
hub.md / Give up a table / retire / b9
deal b7 b10
well
"""

RESTORE: Final = """
archive.md / Maintain it / property backup
deal b7 b10
well
kill property@archive
lose_database
archive.md / Maintain it / property restore
well
hub.md / When something is lost or full / refill
well
"""

FORK: Final = f"""
forge b7
until b7 uplink stopped
hub.md / A feed that has stopped / rm hub/passwords / b7
{_NEW_FILES}
hub.md / A feed that has stopped / nothing was done / b7
hub.md / A feed that has stopped / keeper --by mary / b7
hub.md / A feed that has stopped / ssh witness / b7
well
"""
