"""A broker by its URL and files: what is taken, and what is refused with the right form."""

from pathlib import Path

import pytest

from baccarat.services.broker_at import LoginFiles, broker_at, broker_url
from baccarat.services.cage_ledger import ledger_settings_at
from events.errors import InputError

FORM = "mqtts://host/site/table"
CA = LoginFiles(ca=Path("ca.pem"))


@pytest.mark.parametrize(
    ("url", "files", "host", "port", "login", "password"),
    [
        ("mqtt://lan/a/b", LoginFiles(), "lan", 1883, None, None),
        ("mqtt://u:p%40@lan:99/a/b", LoginFiles(), "lan", 99, "u", "p@"),
        ("mqtts://b7-cage@lan/a/b", CA, "lan", 8883, "b7-cage", None),
        ("mqtts://[::1]:9/a/b", CA, "::1", 9, None, None),
    ],
)
def test_a_url_names_broker_and_login(
    url: str, files: LoginFiles, host: str, port: int, login: str | None, password: str | None
) -> None:
    found = broker_at(broker_url(url, FORM), "id", files)
    assert (found.host, found.port, found.username, found.password) == (host, port, login, password)
    assert found.ca == files.ca


@pytest.mark.parametrize(
    ("url", "files", "says"),
    [
        ("lan", LoginFiles(), FORM),
        ("http://lan/a/b", LoginFiles(), FORM),
        ("mqtt:///a/b", LoginFiles(), FORM),
        ("mqtt://lan:x/a/b", LoginFiles(), FORM),
        ("mqtts://lan/a/b", LoginFiles(), "--ca ca.pem"),
        ("mqtt://lan/a/b", CA, "write mqtts://"),
        (
            "mqtt://lan/a/b",
            LoginFiles(password_file=Path("gone")),
            "gone: cannot be read: No such file",
        ),
    ],
)
def test_what_does_not_fit_is_named(url: str, files: LoginFiles, says: str) -> None:
    with pytest.raises(InputError, match=says):
        broker_at(broker_url(url, FORM), "id", files)


def test_a_cage_elsewhere_needs_no_configuration(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("guessed\n", "utf-8")
    files = LoginFiles(ca=Path("ca.pem"), password_file=secret)
    found = ledger_settings_at("mqtts://b7-cage@lan/harbour/b7", "book.sqlite", files)
    assert (found.topics.site, found.topics.table, found.user) == ("harbour", "b7", "cage")
    assert (found.bus.password, found.bus.port, found.bus.ca) == ("guessed", 8883, files.ca)
    with pytest.raises(InputError, match="<site>/<table>"):
        ledger_settings_at("mqtts://lan/harbour", "book.sqlite", files)
