"""What the doctor says of a log, without a broker."""

from pathlib import Path

from baccarat.config.table import load_config
from baccarat.site.doctor import examine
from tests.support.table.evidence import KEY, OTHER_KEY, played, signed_table

CONFIG = """
site = "site"
table = "t1"
rulebook = "au-commission"

[shoe]
url = "pty:/run/shoe"
"""


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
