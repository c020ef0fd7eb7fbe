"""`baccarat config broker`: what it refuses to write for a broker."""

from pathlib import Path

import pytest

from baccarat.cli.main import main
from tests.support.brokers.tls_broker import quick_hashes


def written(folder: Path, *options: str) -> int:
    """Write the broker's files for a table, into `folder/broker`: the exit code."""
    table = folder / "b7.toml"
    if not table.exists():
        assert main(["config", "init", str(table)]) == 0
    for name in ("ca.pem", "broker.pem", "broker.key"):
        (folder / name).touch()
    command = ["config", "broker", "--kind", "mosquitto", "--pki", str(folder)]
    with quick_hashes():
        return main([*command, "-o", str(folder / "broker"), *options, str(table)])


def test_an_emptied_password_is_no_login(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert written(tmp_path) == 0
    emptied = tmp_path / "broker/secrets/b7-core"
    emptied.write_text("")
    before = (tmp_path / "broker/passwords").read_bytes()
    assert written(tmp_path) == 2
    assert f"{emptied}: is empty" in capsys.readouterr().err
    assert (tmp_path / "broker/passwords").read_bytes() == before
    emptied.unlink()
    assert written(tmp_path) == 0
    assert emptied.read_text().strip()


def test_two_listeners_want_two_ports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert written(tmp_path, "--port", "8884") == 2
    assert "--websockets: 8884 is --port already" in capsys.readouterr().err
    assert not (tmp_path / "broker").exists()
