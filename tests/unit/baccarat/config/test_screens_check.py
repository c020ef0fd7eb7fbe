"""A configuration whose screens would not start is not in order."""

from pathlib import Path

import pytest

from baccarat.config.screens_check import screen_faults
from baccarat.config.table import load_config
from tests.support.brokers.certificates import pki_with
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
    pki_with(tmp_path)
    found = list(screen_faults(load_config(written(tmp_path, TABLE + section))))
    assert [each.key for each in found] == ([fault[0]] if fault else [])
    assert all(fault and fault[1] in each.reason for each in found)
