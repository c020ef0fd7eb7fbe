"""A table's configuration: begun, judged with every fault at once, and read back."""

import json
import tomllib
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest

from baccarat.cli.main import main
from baccarat.config.errors import ConfigFaults
from baccarat.config.form import DEFAULT_USERS, TABLE, TableConfig
from baccarat.config.keys import Form
from baccarat.config.property_form import PROPERTY, PropertyConfig
from baccarat.config.table import load_config

GOOD = """
site = "harbour"
table = "b7"
rulebook = "au-commission"
[shoe]
url = "pty:/run/shoe"
"""
# Ten mistakes of ten kinds, each with the key that must be named.
TEN = """
site = "Harbour 1"
tabel = "b7"
rulebook = "punto"
[shoe]
url = "usb://x"
profile = "nix"
[shoe.keep]
days = 0
[bus]
port = 99999
password = "geheim"
[displays]
idle_minutes = "many"
[users]
dealer = ["king"]
"""
TEN_KEYS = {
    "site",
    "tabel",
    "table",
    "rulebook",
    "shoe.url",
    "shoe.profile",
    "shoe.keep.days",
    "bus.port",
    "bus.password",
    "displays.idle_minutes",
    "users.dealer",
}


def written(folder: Path, text: str) -> Path:
    path = folder / "table.toml"
    path.write_text(text, "utf-8")
    return path


def keys_of(kind: type[msgspec.Struct], before: str = "") -> set[str]:
    found: set[str] = set()
    for field in msgspec.structs.fields(kind):
        nested = [
            each
            for each in (get_args(field.type) or (field.type,))
            if get_origin(field.type) is not dict  # any number of entries are one key
            and isinstance(each, type)
            and issubclass(each, msgspec.Struct)
        ]
        name = before + field.name
        found |= keys_of(nested[0], name + ".") if nested else {name}
    return found


@pytest.mark.parametrize(("form", "kind"), [(TABLE, TableConfig), (PROPERTY, PropertyConfig)])
def test_every_key_is_explained_and_has_an_example(
    form: Form[Any], kind: type[msgspec.Struct]
) -> None:
    assert keys_of(kind) - {"base", "file"} == set(form.keys)
    assert all(key.example for key in form.keys.values())
    assert {name for name, key in form.keys.items() if not key.says} <= {"users"}
    assert {key.rpartition(".")[0] for key in form.keys if "." in key} == set(form.sections)
    assert all(form.sections.values())


def test_what_init_writes_is_in_order_also_with_every_comment_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    assert main(["config", "init", str(path)]) == 0
    assert main(["config", "check", str(path)]) == 0
    every = [line.removeprefix("# ") for line in TABLE.template().splitlines()]
    told = tomllib.loads("\n".join(line for line in every if " = " in line or "[" in line[:1]))
    config = msgspec.convert(told, TableConfig)  # each example is of its key's type
    assert config.users == DEFAULT_USERS


def test_init_writes_over_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "mine")
    assert main(["config", "init", str(path)]) == 2
    assert path.read_text() == "mine"
    assert "is there already" in capsys.readouterr().err


def test_ten_mistakes_are_said_in_one_run_each_with_key_reason_and_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, TEN)
    with pytest.raises(ConfigFaults) as caught:
        load_config(path)
    assert {fault.key for fault in caught.value.faults} == TEN_KEYS
    assert all(fault.reason and fault.example for fault in caught.value.faults)
    for command in (["config", "check"], ["run"]):
        assert main([*command, str(path)]) == 2
        said = capsys.readouterr().err.splitlines()
        assert len(said) == len(TEN_KEYS)
        assert all(line.startswith(f"baccarat: {path}: ") for line in said)


def test_check_answers_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check", "--json", str(written(tmp_path, TEN))]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert not answer["ok"]
    assert {each["key"] for each in answer["errors"]} == TEN_KEYS
    assert main(["config", "check", "--json", str(written(tmp_path, GOOD))]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "errors": []}


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ('[bus]\npassword = "x"', "bus.password"),
        ('[displays]\nsecret = "x"', "displays.secret"),
        ('[cage]\nledger = "postgresql://b7:geheim@db/cage"', "cage.ledger"),
        ('[bus]\npassword_file = "nowhere"', "bus.password_file"),
        ('[bus]\nca = "nowhere.pem"', "bus.ca"),
        ('[bus]\nca = "table.toml"', "bus.ca"),
        ('[bus]\ncert = "table.toml"\nkey = "table.toml"', "bus.ca"),
        ('[displays]\ncert = "x.pem"', "displays.key"),
        ('[displays]\nhost = "0.0.0.0"\nusers = "people.toml"', "displays.cert"),
        ("base = 'x'", "base"),
        ("[data]\nnew_file = 'weekly'", "data.new_file"),
        ("shoe = 5", "shoe"),
    ],
)
def test_a_fault_names_its_key(tmp_path: Path, more: str, key: str) -> None:
    text = f"{more}\n{GOOD}" if more.startswith("base") else f"{GOOD}\n{more}"
    if more.startswith("shoe"):
        text = 'site = "a"\ntable = "b"\nrulebook = "ez"\nshoe = 5'
    with pytest.raises(ConfigFaults) as caught:
        load_config(written(tmp_path, text))
    assert key in {fault.key for fault in caught.value.faults}
    assert "geheim" not in str(caught.value)


def test_a_credential_is_read_where_the_service_manager_laid_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broker").write_text("geheim\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    more = '[bus]\nusername = "b7"\npassword_file = "credential:broker"'
    config = load_config(written(tmp_path, f"{GOOD}\n{more}"))
    assert config.bus_settings("table").password == "geheim"  # noqa: S105 - nobody's


def test_show_prints_what_holds_as_toml_that_loads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{GOOD}\n[limits]\ndifferential = 7\n[limits.bets.tie]\nminimum = 5\nper = 'spot'"
    path = written(tmp_path, text)
    assert main(["config", "show", str(path)]) == 0
    shown = capsys.readouterr().out
    again = load_config(written(tmp_path, shown))
    assert again == load_config(written(tmp_path, text))
    assert main(["config", "show", "--json", str(path)]) == 0
    found = msgspec.convert(json.loads(capsys.readouterr().out), TableConfig)
    assert msgspec.structs.replace(found, base=again.base, file=again.file) == again
