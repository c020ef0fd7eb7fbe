"""Who may do what: a change of the users file or the keys counts from the next look on."""

from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.config.table import load_config
from baccarat.services.access import SiteAccess
from displays.auth.accounts import UserAccount, save_accounts
from events.errors import ConfigError
from events.proof.key_file import KeyFile
from events.proof.message_keys import load_message_keys

CONFIG = """\
site = "harbour"
table = "b7"
rulebook = "ez"
[shoe]
url = "tcp://127.0.0.1:1"
message_key = "secrets/b7-shoe.messagekey"
[message_keys]
file = "secrets/b7-core.messagekeys"
without = ["wagers"]
[displays]
users = "people.toml"
"""


@pytest.fixture
def config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Keys are made first, and then named."""
    path = tmp_path / "b7.toml"
    path.write_text(CONFIG.partition("message_key")[0])
    people(tmp_path, "supervisor")
    assert main(["keys", "messages", str(path)]) == 0
    made = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    owners = ("shoe", "dealer", "supervisor", "wagers", "cage", "console")
    assert made == {"b7-core.messagekeys", *(f"b7-{each}.messagekey" for each in owners)}
    assert {each.stat().st_mode & 0o777 for each in (tmp_path / "secrets").iterdir()} == {0o600}
    path.write_text(CONFIG)
    return path


def people(folder: Path, role: str, *others: str) -> None:
    account = UserAccount(password="x", roles=(role,))  # noqa: S106 - nobody's
    save_accounts(folder / "people.toml", dict.fromkeys(("mary", *others), account))


def test_a_demotion_counts_at_once_and_a_file_that_cannot_be_read_gives_nothing(
    config: Path,
) -> None:
    access = SiteAccess(load_config(config))
    first = access()
    assert access() is first
    assert first.roles["mary"] == {"supervisor"}
    people(config.parent, "technician")
    assert access().roles["mary"] == {"technician"}
    (config.parent / "people.toml").write_text("nonsense")
    assert "mary" not in access().roles
    assert access().roles["dealer"] == {"dealer"}


def test_a_demoted_person_keeps_nothing_by_a_login_of_the_same_name(config: Path) -> None:
    people(config.parent, "supervisor", "supervisor")
    access = SiteAccess(load_config(config))
    assert access().roles["supervisor"] == {"supervisor"}
    people(config.parent, "technician", "supervisor")
    assert access().roles["supervisor"] == frozenset()
    assert access().roles["mary"] == {"technician"}  # others have what they have
    with pytest.raises(ConfigError, match=r"user supervisor: .* choose another name"):
        load_config(config)


def test_a_user_of_the_configuration_counts_at_once(config: Path) -> None:
    access, text = SiteAccess(load_config(config)), config.read_text()
    assert "bank" not in access().roles
    config.write_text(f'{text}[users]\nbank = ["cage"]\n'.replace('["wagers"]', '["bank"]'))
    assert access().roles["bank"] == {"cage"}
    assert access().bus.without == {"bank"}
    config.write_text("nonsense")
    assert access().roles["bank"] == {"cage"}
    config.write_text(text)
    assert "bank" not in access().roles


def test_a_peer_takes_its_newest_key_and_keeps_the_one_before_while_it_is_damaged(
    config: Path,
) -> None:
    own = config.parent / "secrets/b7-shoe.messagekey"
    read = KeyFile(own, "harbour/b7")
    (old,) = read()
    assert main(["keys", "messages", str(config), "shoe"]) == 0
    newest, before = read()
    assert (before.secret, newest.secret != old.secret) == (old.secret, True)
    own.write_text("nonsense")
    assert read() == (newest, before)


def test_a_new_key_counts_at_once_and_the_old_one_until_its_end(config: Path) -> None:
    access, ring = SiteAccess(load_config(config)), config.parent / "secrets/b7-core.messagekeys"
    policy = access().bus
    assert (policy.mode, policy.without) == ("required", frozenset({"wagers"}))
    (old,) = policy.keys["shoe"]
    assert main(["keys", "messages", str(config), "shoe"]) == 0
    new, before = access().bus.keys["shoe"]
    assert (before.secret, new.until_ms) == (old.secret, None)
    assert before.until_ms is not None
    own = load_message_keys(config.parent / "secrets/b7-shoe.messagekey", "harbour/b7")
    assert own == (new, before)
    assert access().bus.keys["dealer"] == policy.keys["dealer"]
    assert main(["keys", "messages", str(config), "shoe", "--overlap", "0"]) == 0
    newest, *others = access().bus.keys["shoe"]
    assert not any(each.is_valid(each.until_ms or 0) for each in others)
    ring.write_text("nonsense")
    assert access().bus.keys["shoe"][0] == newest
    assert access().bus.fault.endswith("the keys before it still count")


def test_a_table_without_a_section_says_so(tmp_path: Path) -> None:
    path = tmp_path / "b7.toml"
    path.write_text(CONFIG.partition("message_key")[0])
    assert SiteAccess(load_config(path))().bus.mode == "off"


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("[message_keys]\n", "message_keys.file: is missing"),
        ('[message_keys]\nmode = "trust-broker"\nwithout = ["nobody"]\n', "no such user nobody"),
        ('[message_keys]\nmode = "off"\n', "message_keys.mode"),
    ],
)
def test_a_section_that_cannot_be_meant_is_refused(
    tmp_path: Path, section: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b7.toml"
    path.write_text(CONFIG.partition("message_key")[0] + section)
    assert main(["config", "check", str(path)]) != 0
    assert says in "".join(capsys.readouterr())
