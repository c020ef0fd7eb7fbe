"""What a configuration may say of screens: nothing goes over a network in the clear unsaid."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from baccarat.config.errors import ConfigFaults
from baccarat.config.table import load_config
from tests.support.brokers.certificates import certify

TABLE = """\
site = "harbour"
table = "b7"
rulebook = "au-commission"
[shoe]
url = "pty:/tmp/line/shoe"
"""


def load(folder: Path, screens: str) -> list[str]:
    """The faults, as lines."""
    (folder / "people.toml").touch()
    path = folder / "b7.toml"
    path.write_text(TABLE + screens)
    try:
        load_config(path)
    except ConfigFaults as error:
        return str(error).splitlines()
    return []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pair = certify(tmp_path)
    der = x509.load_pem_x509_certificate(pair.cert.read_bytes()).public_bytes(Encoding.DER)
    (tmp_path / "b7.der").write_bytes(der)
    return tmp_path


PEOPLE = 'users = "people.toml"\n'
PAIR = 'cert = "b7.pem"\nkey = "b7.key"\n'
ANYWHERE = 'host = "0.0.0.0"\n'
CLEARTEXT = "cleartext = true\n"


@pytest.mark.parametrize(
    "screens",
    [
        "[displays]\n",
        f"[displays]\n{PEOPLE}",
        f'[displays]\n{PEOPLE}host = "localhost"\n',
        f'[displays]\n{PEOPLE}host = "::1"\n',
        f"[displays]\n{PEOPLE}{PAIR}{ANYWHERE}",
        f"[displays]\n{CLEARTEXT}{ANYWHERE}",
        f"[displays]\n{PEOPLE}[scoreboard]\n",
        f"[displays]\n{PEOPLE}[scoreboard]\n{ANYWHERE}{CLEARTEXT}",
        f"[displays]\n{PEOPLE}[scoreboard]\n{ANYWHERE}{PAIR}",
        f'[scoreboard]\n{ANYWHERE}{PAIR}names = ["b7.casino.example", "board", "B7-2.local"]\n',
    ],
)
def test_what_is_well(folder: Path, screens: str) -> None:
    assert load(folder, screens) == []


@pytest.mark.parametrize(
    ("screens", "key", "reason"),
    [
        (f"[displays]\n{ANYWHERE}", "displays.cert", "cleartext = true"),
        (f"[scoreboard]\n{ANYWHERE}", "scoreboard.cert", "cleartext = true"),
        ('[scoreboard]\nhost = "192.0.2.7"\n', "scoreboard.cert", "screens at 192.0.2.7 need TLS"),
        (f"[displays]\n{PEOPLE}{ANYWHERE}", "displays.cert", "logins at 0.0.0.0 need TLS"),
        (f"[displays]\n{PEOPLE}{ANYWHERE}{CLEARTEXT}", "displays.cert", "logins at 0.0.0.0"),
        (f'[displays]\n{PEOPLE}{ANYWHERE}cert = ""\nkey = ""\n', "displays.cert", "need TLS"),
        ('[scoreboard]\ncert = "b7.pem"\n', "scoreboard.key", "both `cert` and `key`"),
        ('[displays]\nkey = "b7.key"\n', "displays.cert", "both `cert` and `key`"),
        ('[displays]\ncert = "b7.key"\nkey = "b7.key"\n', "displays.cert", "PEM"),
        ('[displays]\ncert = "b7.der"\nkey = "b7.key"\n', "displays.cert", "PEM"),
        ('[displays]\ncert = "no.pem"\nkey = "b7.key"\n', "displays.cert", "cannot be read"),
        ('[displays]\ncert = "b7.pem"\nkey = "no.key"\n', "displays.key", "cannot be read"),
        (f"[scoreboard]\n{PEOPLE}", "scoreboard.users", "no such key"),
        ("[displays]\n[scoreboard]\n", "displays.users", "without people"),
        ('[displays]\nnames = ["http://b7/"]\n', "displays.names[0]", "a host's name"),
        ('[displays]\nnames = ["b7", "b7:8080"]\n', "displays.names[1]", "a host's name"),
        ("[displays]\nport = 0\n", "displays.port", ">= 1"),
    ],
)
def test_what_is_not_is_said_with_its_key_and_why(
    folder: Path, screens: str, key: str, reason: str
) -> None:
    [said] = load(folder, screens)
    assert f"{key}: " in said
    assert reason in said
    assert "b7.toml" in said
