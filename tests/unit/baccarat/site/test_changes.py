"""A user is put into a configuration, changed and taken out; nothing else in the file changes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.config.errors import ConfigFaults
from baccarat.config.form import TABLE
from baccarat.config.table import load_config
from baccarat.site.broker_files import BrokerRecord, read_record, reload_broker
from baccarat.site.changes import set_user
from baccarat.site.pki import Pki
from events.errors import InputError
from tests.support.brokers.certificates import pki_with
from tests.support.brokers.tls_broker import quick_hashes
from tests.unit.baccarat.config.test_table import written

_HEAD = 'site = "harbour"\ntable = "b7"\nrulebook = "ez"\n[shoe]\nurl = "pty:/run/shoe" # ours\n'


@pytest.mark.parametrize(
    "users", ["", '[users] # who\ncage = ["cage"]\n[look]\nname = "Harbour"\n']
)
def test_a_user_comes_and_goes(tmp_path: Path, users: str) -> None:
    path = written(tmp_path, _HEAD + users)
    before = load_config(path).users
    assert set_user(path, "bank", ["cage"])
    assert not set_user(path, "bank", ["cage"])
    assert load_config(path).users == {**before, "bank": ("cage",)}
    assert set_user(path, "bank", ["cage", "wagers"])
    assert load_config(path).users["bank"] == ("cage", "wagers")
    assert path.read_text().startswith(_HEAD)
    assert set_user(path, "bank", [])
    assert load_config(path).users == before


def test_a_form_that_cannot_be_changed_by_a_line_is_left_alone(tmp_path: Path) -> None:
    text = _HEAD + '[users]\nbank = [\n  "cage",\n]\n'
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=r"change bank in \[users\] by hand"):
        set_user(path, "bank", ["wagers"])
    assert path.read_text() == text


def test_a_brokers_folder_of_an_earlier_build_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`baccarat config broker` once more"):
        read_record(tmp_path)


def test_a_signing_key_that_no_table_takes_gives_way_to_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pki_with(tmp_path / "pki")
    Pki(tmp_path / "pki", datetime.now(UTC)).issue("broker", ("localhost",))
    key, config = tmp_path / "table.key", tmp_path / "b7.toml"
    assert main(["keys", "new", str(key), "--name", "harbour/b7"]) == 0
    config.write_text(_HEAD + '[checkpoints]\nkey = "table.key"\n')
    with quick_hashes():
        broker = ["config", "broker", "--kind", "mosquitto", "--pki", str(tmp_path / "pki")]
        assert main([*broker, "-o", str(tmp_path / "broker"), str(config)]) == 0
        before, files = key.read_bytes(), {*tmp_path.iterdir()}
        monkeypatch.setattr("baccarat.cli.site._TAKEN_S", 0.0)
        assert main(["site", "signing-key", str(config)]) == 1
    assert "the old one is back. Does it run?" in capsys.readouterr().err
    assert (key.read_bytes(), {*tmp_path.iterdir()}) == (before, files)


def test_a_broker_is_written_for_logins_whose_passwords_it_makes(tmp_path: Path) -> None:
    """By the example of the configuration's own comment."""
    pki_with(tmp_path / "pki")
    Pki(tmp_path / "pki", datetime.now(UTC)).issue("broker", ("localhost",))
    config, folder = tmp_path / "b7.toml", tmp_path / "broker"
    config.write_text(f"{_HEAD}[bus]\n{TABLE.example_of('bus.password_file')}\n")
    with pytest.raises(ConfigFaults, match=r"bus\.password_file: .* cannot be read"):
        load_config(config)
    with quick_hashes():
        made = ["config", "broker", "--kind", "mosquitto", "--pki", str(tmp_path / "pki")]
        assert main([*made, "-o", str(folder), str(config)]) == 0
    assert (folder / "secrets/b7-core").samefile(
        tmp_path / str(load_config(config).bus.password_file)
    )


@pytest.mark.parametrize(
    ("at", "word", "found"),
    [
        ("/", "{}/mosquitto.conf", True),
        ("{}", "mosquitto.conf", True),
        ("{}/..", "./broker/mosquitto.conf", True),
        (None, "{}/mosquitto.conf", True),  # another user's process
        ("/", "mosquitto.conf", False),
    ],
)
def test_a_running_broker_is_found_by_the_path_of_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str | None, word: str, *, found: bool
) -> None:
    folder, process, told = tmp_path / "broker", tmp_path / "proc/612", list[int]()
    folder.mkdir()
    process.mkdir(parents=True)
    command = f"/usr/sbin/mosquitto\0-c\0{word.format(folder)}\0"
    (process / "cmdline").write_text(command)
    if at is not None:
        (process / "cwd").symlink_to(at.format(folder))
    monkeypatch.setattr("baccarat.site.broker_files._PROCESSES", tmp_path / "proc")
    monkeypatch.setattr("os.kill", lambda number, _: told.append(number))
    record = BrokerRecord(kind="mosquitto", pki="", host="", port=1, websockets=2, tables=())
    (said,) = reload_broker(record, folder)
    assert (told, "none runs" in said) == ([612] * found, not found)
