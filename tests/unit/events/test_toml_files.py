"""Every TOML file that a person edits: what an editor made of it is named."""

import codecs
from collections.abc import Callable
from pathlib import Path

import pytest

from baccarat.config.table import load_config
from baccarat.rulebooks.library import named_rulebook
from displays.auth.accounts import load_accounts
from events.errors import InputError
from shoe_driver.profiles.catalogue import load_profile

GOOD = b'id = "harbour"\n'
DAMAGE = {
    codecs.BOM_UTF8 + GOOD: "it begins with a byte order mark; save it as UTF-8 without one",
    GOOD + 'title = "Caf\u00e9"\n'.encode("latin-1"): "line 2 is no UTF-8; save the file as UTF-8",
    GOOD + b"x = " + b"[" * 100_000: "too many lists or tables within one another",
    GOOD + b"title: Cafe\n": "(at line 2, column 6)",
}
READERS: dict[str, Callable[[Path], object]] = {
    "configuration": load_config,
    "rulebook": lambda path: named_rulebook(str(path)),
    "profile": lambda path: load_profile(str(path)),
    "users": load_accounts,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("source", DAMAGE, ids=["byte order mark", "latin-1", "nested", "yaml"])
def test_what_an_editor_made_of_a_file_is_named(reader: str, source: bytes, tmp_path: Path) -> None:
    file = tmp_path / "edited.toml"
    file.write_bytes(source)
    with pytest.raises(InputError) as told:
        READERS[reader](file)
    said = str(told.value)
    assert said.removeprefix("profile ").startswith(f"{file}: ")
    assert said.endswith(DAMAGE[source])
    assert "\n" not in said
