"""The doctor, no service itself, finds each service's credentials where its unit has them from."""

import re
from pathlib import Path

import click
import pytest

from baccarat.cli.main import cli
from baccarat.config.keys import PlacedConfig
from baccarat.config.table import load_config
from baccarat.site.credentials import hand_over, link_credentials, outdated, with_sources
from baccarat.site.doctor import examine
from tests.support.brokers.certificates import pki_with
from tests.unit.baccarat.config.test_table import written

UNITS = Path("deploy/systemd")
CONFIG = """
site = "harbour"
table = "b7"
rulebook = "au-commission"
[shoe]
url = "pty:/run/shoe"
username = "b7-shoe"
password_file = "credential:broker"
[bus]
ca = "pki/ca.pem"
cert = "pki/b7.pem"
key = "credential:bus-key"
password_file = "credential:broker"
[checkpoints]
key = "credential:signing"
[displays]
password_file = "credential:broker"
key = "credential:screens-key"
cert = "pki/b7.pem"
[cage]
password_file = "own-file"
[metrics]
password_file = "credential:unheard-of"
"""


def test_each_sections_credential_is_its_own_services(tmp_path: Path) -> None:
    pki_with(tmp_path / "pki")
    (tmp_path / "own-file").write_text("x")
    config = load_config(written(tmp_path, CONFIG))
    store = tmp_path / "store"
    found = with_sources(config, UNITS, store)
    assert found.password_files() == {
        "shoe": str(store / "baccarat-b7-shoe"),
        "bus": str(store / "baccarat-b7-core"),
        "displays": str(store / "baccarat-b7-console"),
        "cage": "own-file",
        "metrics": "credential:unheard-of",
    }
    assert found.bus.key == str(store / "baccarat-b7-bus-key")
    assert found.checkpoints.key == str(store / "baccarat-b7-signing")
    assert found.displays is not None
    assert found.displays.key == str(store / "baccarat-b7-screens-key")
    assert with_sources(config, tmp_path / "no-units", store) == config


def test_a_secret_that_nobody_has_copied_is_named(tmp_path: Path) -> None:
    pki_with(tmp_path / "pki")
    (tmp_path / "own-file").write_text("x")
    (tmp_path / "own-file").chmod(0o600)
    store = tmp_path / "store"
    store.mkdir()
    (store / "baccarat-b7-shoe").write_text("secret")
    (store / "baccarat-b7-shoe").chmod(0o640)
    config = with_sources(load_config(written(tmp_path, CONFIG)), UNITS, store)
    found = {each.check: each for each in examine(config, tmp_path / "none")}
    assert "can be read by others" in found["shoe.password_file"].says
    assert found["bus.password_file"].verdict == "fail"
    assert "operator's guide" in found["bus.password_file"].remedy
    assert found["cage.password_file"].verdict == "ok"
    assert found["signing key"].verdict == "fail"
    assert "metrics.password_file" not in found  # a credential of whose source no unit tells


def test_a_service_that_runs_by_what_was_replaced_since_is_named(tmp_path: Path) -> None:
    store, laid_out = tmp_path / "store", tmp_path / "run"
    store.mkdir()
    for name in ("core", "bus-key", "signing", "shoe", "screens-key"):
        (store / f"baccarat-b7-{name}").write_text(name)
    for service, credentials in (
        ("table", {"broker": "core", "bus-key": "bus-key", "signing": "signing"}),
        ("shoe", {"broker": "shoe", "bus-key": "bus-key"}),  # the others do not run
    ):
        folder = laid_out / f"baccarat-{service}@b7.service"
        folder.mkdir(parents=True)
        for name, data in credentials.items():
            (folder / name).write_text(data)
    assert list(outdated("b7", UNITS, store, laid_out)) == []
    (store / "baccarat-b7-bus-key").write_text("renewed")
    assert list(outdated("b7", UNITS, store, laid_out)) == [
        ("baccarat-shoe@b7.service", "bus-key"),
        ("baccarat-table@b7.service", "bus-key"),
    ]
    assert list(outdated("b8", UNITS, store, laid_out)) == []


def test_a_running_service_reads_the_secret_that_is_handed_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, given, live = (tmp_path / name for name in ("store", "given", "live"))
    own = live / "b7" / "shoe"
    for folder in (store, given, own):
        folder.mkdir(parents=True)
    for folder, name in ((store, "baccarat-b7-shoe"), (given, "broker")):
        (folder / name).write_text("first")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(given))
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(own))
    secret = PlacedConfig().beside("credential:broker")
    link_credentials()
    assert secret.read_text() == "first"
    assert list(hand_over("b7", UNITS, store, live)) == []
    (store / "baccarat-b7-shoe").write_text("second")
    changed = [("baccarat-shoe@b7.service", "broker")]
    assert list(outdated("b7", UNITS, store, given, live)) == changed
    assert list(hand_over("b7", UNITS, store, live)) == changed
    assert (secret.read_text(), secret.stat().st_mode & 0o777) == ("second", 0o600)
    assert list(outdated("b7", UNITS, store, given, live)) == []
    link_credentials()  # started again, from what the service manager hands over
    assert secret.read_text() == "first"


def test_a_remedy_names_a_command_that_there_is_and_the_given_file(tmp_path: Path) -> None:
    pki_with(tmp_path / "pki")
    path = written(tmp_path, CONFIG.replace('"own-file"', '"credential:broker"'))
    found = {each.check: each for each in examine(load_config(path), tmp_path / "none")}
    assert found["message keys"].remedy == f"`baccarat keys messages {path}`"
    source = Path("baccarat/site/doctor.py").read_text("utf-8")
    named = re.findall(r"`baccarat ([a-z]+)(?: ([a-z-]+))?( \{config\.file\})?", source)
    assert len(named) > 10
    for noun, verb, file in named:
        group = cli.get_command(click.Context(cli), noun)
        assert group is not None, noun
        if isinstance(group, click.Group):
            assert verb in group.commands or group.get_command(click.Context(group), verb)
        assert file or (noun, verb) in {
            ("keys", "new"),
            ("pki", "issue"),
            ("rulebook", "check"),
            ("shoe", "list"),
        }, verb
