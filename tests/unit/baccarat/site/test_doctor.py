"""What the doctor says of a log, without a broker."""

from pathlib import Path

from baccarat.config.table import load_config
from baccarat.site.doctor import examine
from events.proof.keys import make_signing_key
from tests.support.table.evidence import KEY, OTHER_KEY, played, signed_table

CONFIG = """
site = "site"
table = "t1"
rulebook = "au-commission"

[shoe]
url = "pty:/run/shoe"
"""


def test_a_key_that_hands_over_is_a_warning_with_both_keys(tmp_path: Path) -> None:
    file = tmp_path / "t1.toml"
    keys = [make_signing_key(tmp_path / name, "site/t1").verifier for name in ("old", "new")]

    def said(more: str) -> list[tuple[str, str]]:
        file.write_text(f'{CONFIG}\n[checkpoints]\nkey = "new"\n{more}')
        found = examine(load_config(file), tmp_path / "no copies")
        return [(each.verdict, each.says) for each in found if each.check == "signing key"]

    usable = ("ok", f"{tmp_path / 'new'} can be used")
    assert said("") == [usable]
    told = f"checkpoints.retiring hands the log over from {keys[0]} to {keys[1]}"
    assert said('retiring = "old"\n') == [("warn", told), usable]


def test_each_change_of_the_key_that_signs_is_named(tmp_path: Path) -> None:
    file = tmp_path / "t1.toml"
    file.write_text(CONFIG)
    config = load_config(file)
    config.log_path.parent.mkdir(parents=True, exist_ok=True)
    played(config.log_path)

    def said() -> str:
        found = examine(config, tmp_path / "no copies")
        return next(each.says for each in found if each.check == "log")

    assert "handed over" not in said()
    with signed_table(config.log_path, key=OTHER_KEY, retiring=KEY) as table:
        position = table.log.position
    told = f"at {position} the key {KEY.verifier} handed over to {OTHER_KEY.verifier}"
    assert told in said()
