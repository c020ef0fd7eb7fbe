"""A configuration whose screens would not start is not in order."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from baccarat.config.screens_check import screen_faults
from baccarat.config.table import load_config
from baccarat.site.pki import Pki
from tests.unit.baccarat.config.test_table import written

TABLE = 'site = "harbour"\ntable = "b7"\nrulebook = "ez"\n[shoe]\nurl = "pty:/run/shoe"\n'
PAIR = 'cert = "b7.pem"\nkey = "{key}"\n'


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        ("[displays]\n", None),
        (f"[displays]\n{PAIR}".format(key="b7.key"), None),
        (f"[scoreboard]\n{PAIR}".format(key="ca.key"), ("scoreboard.key", "is not the key of")),
        (f"[displays]\n{PAIR}".format(key="credential:screens"), None),
        ("[displays]\nport = 8080\n[metrics]\nport = 8080\n", ("metrics.port", "of [displays]")),
        (
            f"[scoreboard]\nhost = '0.0.0.0'\n{PAIR}port = 9180\n[metrics]\n".format(key="b7.key"),
            ("metrics.port", "of [scoreboard]"),
        ),
        ("[displays]\nport = 8081\n[metrics]\nport = 8082\n", None),
    ],
)
def test_what_keeps_screens_from_starting_is_named(
    tmp_path: Path, section: str, fault: tuple[str, str] | None
) -> None:
    pki = Pki(tmp_path, datetime.now(UTC))
    pki.begin("harbour")
    pki.issue("b7")
    found = list(screen_faults(load_config(written(tmp_path, TABLE + section))))
    assert [each.key for each in found] == ([fault[0]] if fault else [])
    assert all(fault and fault[1] in each.reason for each in found)
