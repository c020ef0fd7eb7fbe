"""A property's configuration: the template is in order, and everything wrong is said at once."""

from pathlib import Path

import pytest

from baccarat.config.errors import ConfigFaults
from baccarat.config.property import load_property
from baccarat.config.property_form import PROPERTY
from baccarat.property.services import present_services
from events.errors import ConfigError
from events.proof.keys import make_signing_key

WHOLE = """
[hub]
servers = ["nats://127.0.0.1:4222"]

[uplink.tables]
"harbour/b7" = { log = "b7.sqlite", password_file = "secrets/b7" }

[archive]
database = "postgresql://baccarat@db/property"
workers = 2
password_file = "secrets/archive"

[witness]
key = "witness.key"
password_file = "secrets/witness"
[witness.keys]
"harbour/b7" = ["%s"]

[page]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secrets").mkdir()
    for name in ("b7", "archive", "witness"):
        (tmp_path / "secrets" / name).write_text(f"the password of {name}\n")
    make_signing_key(tmp_path / "witness.key", "harbour/witness")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "property.toml"
    path.write_text(text, encoding="utf-8")
    return path


def whole(folder: Path) -> str:
    return WHOLE % str(make_signing_key(folder / "b7.key", "harbour/b7").verifier)


def faults(folder: Path, text: str) -> dict[str, str]:
    with pytest.raises(ConfigFaults) as caught:
        load_property(written(folder, text))
    return {fault.key: fault.reason for fault in caught.value.faults}


def test_a_whole_one_is_read_and_its_secrets_are_those_of_the_files(folder: Path) -> None:
    config = load_property(written(folder, whole(folder)))
    assert config.hub_settings("archive", "secrets/archive").password == "the password of archive"  # noqa: S105 - a test's
    assert config.witness_settings().given["harbour/b7"][0].name == "harbour/b7"
    assert present_services(config) == {
        "uplink": "uplink",
        "witness": "witness",
        "page": "page",
        "archive-1": "archive",
        "archive-2": "archive",
    }


def test_the_template_is_toml_and_says_what_is_missing_alone(tmp_path: Path) -> None:
    found = faults(tmp_path, PROPERTY.template())
    assert set(found) == {"", "hub.ca", "hub.cert", "hub.key"}
    assert "nothing is to run here" in found[""]


def test_the_template_with_every_line_is_of_the_form(tmp_path: Path) -> None:
    text = PROPERTY.template().replace("\n# [", "\n[").replace("\n# ", "\n#").splitlines()
    keys = [line.removeprefix("#") if " = " in line else line for line in text]
    found = faults(tmp_path, "\n".join(keys))
    assert not [reason for reason in found.values() if "no such key" in reason]
    assert {"witness.key", "archive.password_file", "hub.ca"} <= set(found)


def test_everything_wrong_is_said_in_one_run(folder: Path) -> None:
    text = (
        whole(folder)
        .replace("nats://127.0.0.1:4222", "nats://hub1.example:4222")
        .replace('"harbour/b7" = { log', '"b7" = { log')
        .replace('database = "postgresql://baccarat@db/property"', 'database = "sqlite:///a"')
        .replace("workers = 2", "workers = 99")
        .replace("secrets/witness", "secrets/nobody")
        .replace("[page]", '[page]\nhost = "0.0.0.0"\ncolour = "green"')
    )
    found = faults(folder, text)
    assert "beyond loopback" in found["hub.servers[0]"]
    assert "<site>/<table>" in found["uplink.tables.b7"]
    assert "99" in found["archive.workers"] or "16" in found["archive.workers"]
    assert "no such key" in found["page.colour"]
    assert "cannot be read" in found["witness.password_file"]
    assert "archive" not in found  # it is there, and merely wrong


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ("postgresql://baccarat@db", "postgresql://baccarat:s3cret@db", "archive.database", "PGPA"),
        ('password_file = "secrets/archive"', "", "archive.password_file", "is missing"),
        ("[page]", '[page]\nhost = "192.0.2.7"', "page.host", "asks for no login"),
        ("[page]", '[page]\nhost = "192.0.2.7"\nusers = "b7.key"', "page.host", "has no TLS"),
        ("nats://127.0.0.1:4222", "tls://hub1.example:4222", "hub.ca", "without it"),
        ("nats://127.0.0.1:4222", "nats://me:pw@127.0.0.1:1", "hub.servers[0]", "never stands"),
        ("nats://127.0.0.1:4222", "http://127.0.0.1:4222", "hub.servers[0]", "tls://host:port"),
        ('key = "witness.key"', 'key = "nothing.key"', "witness.key", "nothing.key"),
    ],
)
def test_each_mistake_is_named(folder: Path, old: str, new: str, key: str, says: str) -> None:
    text = whole(folder)
    assert old in text
    assert says in faults(folder, text.replace(old, new))[key]


def test_a_public_key_that_is_none_is_named_with_its_table(folder: Path) -> None:
    found = faults(folder, WHOLE % "harbour/b7+00000000+AAAA")
    assert set(found) == {"witness.keys.harbour/b7"}


def test_a_page_without_an_archive_shows_nothing(tmp_path: Path) -> None:
    assert "what is in the archive" in faults(tmp_path, "[page]\n")["archive"]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"give the property's TOML file"):
        load_property(tmp_path / "nothing.toml")


def test_examples_are_lines_of_toml() -> None:
    assert PROPERTY.example_of("page.port") == "port = 8090"
    assert PROPERTY.example_of("uplink.tables.harbour/b7").startswith("tables = {")
    assert PROPERTY.example_of("nothing") == ""
