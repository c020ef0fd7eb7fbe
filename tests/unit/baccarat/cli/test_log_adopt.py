"""`baccarat log adopt`: a named person answers for a log that no signatures prove."""

import json
from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.config.table import load_config
from baccarat.services.table import adopt_log, log_keys
from events.errors import ConfigError, LogRefused
from events.log.store import EventLog
from events.log.verify import verify
from events.log.vouching import LogKeys, head_of
from events.proof.keys import load_signing_key, make_signing_key
from events.types import LogAdopted
from table_core.process.checkpoints import CheckpointKeys
from tests.support.log.logs import events_in, forging, json_bytes, rehash
from tests.support.table.evidence import KEY, ORIGIN, played, signed_table

CONFIG = """
site = "site"
table = "t1"
rulebook = "au-commission"

[shoe]
url = "pty:/run/shoe"

[checkpoints]
key = "table.key"
"""


def test_it_is_recorded_signed_and_opens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "b7.toml"
    config.write_text(CONFIG)
    key = make_signing_key(tmp_path / "table.key", ORIGIN)
    path = load_config(config).log_path
    path.parent.mkdir(parents=True, exist_ok=True)
    played(path)  # signed by another key of that name
    said = ["log", "adopt", str(config), "--by", "Jo Ng", "--reason", "the backup of Monday"]
    assert main(said) == 0
    assert "adopted by Jo Ng" in capsys.readouterr().out
    (adopted,) = [each for each in events_in(path) if isinstance(each, LogAdopted)]
    assert (adopted.by, adopted.reason) == ("Jo Ng", "the backup of Monday")
    own = frozenset({key.verifier})
    EventLog.open(path, ORIGIN, LogKeys(own, head_of(path))).close()
    told = verify(path)
    assert (told.ok, told.signed_to) == (True, told.events)
    for option in (["--by", " "], ["--reason", "a\nb"]):
        assert main([*said, *option]) == 2
    with EventLog.open(path, ORIGIN):
        assert main(said) == 1
    assert adopt_log(load_config(config), "Jo Ng", "again") > told.events


def test_a_false_payment_is_neither_adopted_nor_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "b7.toml"
    config.write_text(CONFIG)
    make_signing_key(tmp_path / "table.key", ORIGIN)
    path = load_config(config).log_path
    path.parent.mkdir(parents=True, exist_ok=True)
    played(path)
    with forging(path) as db:
        newest = "SELECT position, bytes FROM event WHERE type = 'coup_settled' ORDER BY 1 DESC"
        position, stored = db.execute(newest).fetchone()
        told = json.loads(stored)
        told["data"]["settlement"]["lines"][0]["paid"] += 100
        told["data"]["settlement"]["paid"] += 100
        row = (json_bytes(told), position)
        db.execute("UPDATE event SET bytes = ? WHERE position = ?", row)
        rehash(db, ORIGIN)
        db.execute("DELETE FROM checkpoint")
    capsys.readouterr()
    assert main(["log", "verify", "--json", str(path)]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["first_bad"] == position
    before, copy = path.read_bytes(), tmp_path / "copy.sqlite"
    for command in (
        ["adopt", config, "--by", "Jo Ng", "--reason", "the backup of Monday"],
        ["backup", path, copy],
        ["restore", path, copy],
    ):
        assert main(["log", *map(str, command)]) == 1
        told = capsys.readouterr().err
        assert f"position {position}: {verdict['reason']}" in told
    assert (path.read_bytes(), copy.exists()) == (before, False)


def test_no_configuration_lets_another_key_vouch_for_the_past(tmp_path: Path) -> None:
    config = tmp_path / "b7.toml"
    make_signing_key(tmp_path / "table.key", ORIGIN)
    own = load_signing_key(tmp_path / "table.key")
    config.write_text(CONFIG)
    path = load_config(config).log_path
    path.parent.mkdir(parents=True, exist_ok=True)
    with signed_table(path, head=head_of(path)) as table:  # signed by another key of that name
        table.coup()
    config.write_text(f'{CONFIG}retired = ["{KEY.verifier}"]\n')
    with pytest.raises(ConfigError, match="retired"):
        load_config(config)
    config.write_text(CONFIG)
    trust = log_keys(load_config(config), CheckpointKeys(own, None, 300))
    with pytest.raises(LogRefused, match="baccarat log adopt CONFIG"):
        EventLog.open(path, ORIGIN, trust)
    trust = log_keys(load_config(config), CheckpointKeys(own, KEY, 300))
    EventLog.open(path, ORIGIN, trust).close()
