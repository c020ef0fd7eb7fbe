"""A user is put into a configuration, changed and taken out; nothing else in the file changes."""

from pathlib import Path

import pytest

from baccarat.config.table import load_config
from baccarat.site.broker_files import read_record
from baccarat.site.changes import set_user
from events.errors import InputError
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
