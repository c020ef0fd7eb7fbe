"""A whole table over TLS, its services as processes, each by a login of its own."""

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from baccarat.processes.children import Child
from events.proof.message_keys import make_message_key
from tests.support.brokers.tls_broker import CONFIG, Login, SecuredBroker
from tests.support.machine.waiting import until_blocking
from tests.support.service.live_table import service_process
from tests.support.shoe.shoe_bytes import frames
from tests.support.shoe.shoe_line import ShoePort

ROOT: Final = "bac/v1/harbour/b7"
_ASK_AGAIN_S: Final = 2.0
_WHOLE: Final = """\
{table}
[limits]
table_maximum = 20000
[bus]
port = {port}
ca = "pki/ca.pem"
cert = "pki/b7-core.pem"
key = "{key}"
username = "b7-core"
password_file = "broker/secrets/b7-core"
[message_keys]
file = "b7-core.messagekeys"
without = ["dealer", "supervisor", "wagers"]
{more}
"""
_SHOE: Final = """\
url = "{url}"
username = "b7-shoe"
password_file = "broker/secrets/b7-shoe"
message_key = "b7-shoe.messagekey"
"""


class SecuredTable:
    """The table under attack, and those who use it."""

    def __init__(
        self, broker: SecuredBroker, port: ShoePort, folder: Path, key: str, more: str
    ) -> None:
        self.broker, self.shoe, self.folder = broker, port, folder
        table = CONFIG.format(table="b7")
        whole = _WHOLE.format(table=table, port=broker.port, key=key, more=more)
        self.config = folder / "b7-whole.toml"
        self.config.write_text(whole.replace('url = "pty:/run/shoe"\n', _SHOE.format(url=port.url)))
        keys = [make_message_key("harbour/b7", owner) for owner in ("shoe", "cage", "console")]
        for name, held in {"core": keys, **{key.owner: [key] for key in keys}}.items():
            path = folder / f"b7-{name}.messagekey{'s' * (name == 'core')}"
            path.touch(0o600)
            path.write_text("".join(key.line for key in held))
        self.people: dict[str, Login] = {}
        self.services: dict[str, Child] = {}
        self._sent = 0

    def ask(self, user: str, command: str, **fields: Any) -> dict[str, Any]:
        """A command, and the table's answer; not answered by the table, `{}`."""
        self._sent += 1
        transaction = fields.pop("transaction", f"t{self._sent}")
        return self.tell(user, command, {"transaction": transaction, **fields})

    def tell(self, user: str, command: str, body: dict[str, Any]) -> dict[str, Any]:
        """The same with a body as it is; said again, as a client would, until it is answered.

        The table may not be subscribed yet, and a broker keeps no request for it.
        """
        login, before = self.people[user], len(self.people[user].heard)
        said_at = -_ASK_AGAIN_S

        def answer() -> dict[str, Any] | None:
            nonlocal said_at
            if time.monotonic() - said_at >= _ASK_AGAIN_S:
                said_at = time.monotonic()
                login.say(f"{ROOT}/request/{user}/{command}", json.dumps(body).encode())
            answers = (json.loads(p) for t, p in login.heard[before:] if t.endswith(f"/{user}"))
            return next((a for a in answers if a["transaction"] == body["transaction"]), None)

        return until_blocking(answer, f"the table answers {user}'s {command}")

    def events(self) -> list[str]:
        """Types in the log."""
        with closing(sqlite3.connect(self.folder / "table.sqlite")) as log:
            return [row[0] for row in log.execute("SELECT type FROM event ORDER BY position")]

    def play(self, reports: str, until: str) -> None:
        """The shoe says; the log then holds one more `until`."""
        before = self.events().count(until)
        self.shoe.say(b"".join(frame * 3 for frame in frames(reports)))
        until_blocking(lambda: self.events().count(until) > before, until)

    def first_wager(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """A shoe is loaded, betting is open, a wager stands; the wager, and the answer to it."""
        until_blocking(
            lambda: self.ask("supervisor", "load_shoe", shoe="20261128-01")["result"] != "refused",
            "the shoe is loaded",
        )
        self.play("S, D first 2C:1, D burn JD:1, D burn 2C:0", "burn_recorded")
        until_blocking(
            lambda: self.ask("dealer", "open_betting")["result"] == "accepted", "betting opens"
        )
        wager = {"seat": 1, "bet": "banker", "stake": 10_000}
        placed = self.ask("wagers", "place_wager", transaction="w1", wagers=[wager])
        assert placed["result"] == "accepted"
        return wager, placed


@contextmanager
def secured_table(
    broker: SecuredBroker,
    folder: Path,
    *,
    services: Sequence[str] = ("shoe", "table"),
    key: str = "pki/b7-core.key",
    more: str = "",
) -> Iterator[SecuredTable]:
    """Its services, as processes, at the broker; each says what it does in `<service>.log`.

    Args:
        broker: running.
        folder: of the site.
        services: which are started.
        key: `bus.key` of the configuration.
        more: more of it.
    """
    _retain(broker)
    port = ShoePort(folder / "shoe")
    found = SecuredTable(broker, port, folder, key, more)
    with ExitStack() as stack:
        for service in services:
            child = service_process(found.config, service)
            found.services[service] = stack.enter_context(child)
        for user in ("dealer", "supervisor", "wagers", "display"):
            login = stack.enter_context(Login(broker, f"b7-{user}"))
            login.hear(f"{ROOT}/response/{user}")
            found.people[user] = login
        witness = stack.enter_context(Login(broker, "b7-witness"))
        witness.hear(f"{ROOT}/#")
        found.people["witness"] = witness
        found.people["stranger"] = stack.enter_context(Login(broker, "b8-supervisor"))
        until_blocking(lambda: "up" in _states(witness) or "open" in _states(witness), "the shoe")
        # It says its state when it hears requests: who asks only once is answered from here on.
        until_blocking(lambda: any(t == f"{ROOT}/state" for t, _ in witness.heard), "the table")
        yield found
    port.unplug()


def _states(witness: Login) -> set[str]:
    found = (json.loads(p) for t, p in witness.heard if t == f"{ROOT}/link/shoe")
    return {each["state"] for each in found}


def _retain(broker: SecuredBroker) -> None:
    """What lies at a broker when the table comes is no request of anybody's."""
    body = {"transaction": "kept", "shoe": "20261128-77"}
    with Login(broker, "b7-supervisor") as login:
        topic = f"{ROOT}/request/supervisor/load_shoe"
        login.say(topic, json.dumps(body).encode(), retain=True)
        until_blocking(lambda: login.said, "it is retained")
