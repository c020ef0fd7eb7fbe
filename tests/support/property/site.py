"""A property of one file: a hub, an archive and logs in TOML, run and asked as a person would."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from baccarat.processes.children import Child
from events.proof.note import SigningKey
from tests.support.machine.commands import Done, documents, here
from tests.support.machine.ports import free_port
from tests.support.machine.processes import ROOT, environment
from tests.support.machine.waiting import until_blocking
from tests.support.property.nats_hub import Hub

_COMMAND: Final = (sys.executable, "-m", "baccarat", "property")


class PropertySite:
    """A folder with a property's file and all that it names.

    Args:
        folder: for it.
        archive: URL of a database.
        hub: where everything goes through; None where there is none.
        logs: `<site>/<table>` to its log's file.
        keys: `<site>/<table>` to the keys that may sign it.
        metrics: whether they are served.
    """

    def __init__(
        self,
        folder: Path,
        archive: str,
        hub: Hub | None = None,
        logs: Mapping[str, Path] | None = None,
        keys: Mapping[str, Sequence[SigningKey]] | None = None,
        *,
        metrics: bool = False,
    ) -> None:
        self.folder, self.archive = folder, archive
        self.page_port, self.metrics_port = free_port(), free_port()
        self.witness = SigningKey("harbour/witness", bytes(range(32)))
        self.config = folder / "property.toml"
        text = f'[archive]\ndatabase = "{archive}"\nworkers = {int(hub is not None)}\n'
        text += f"[metrics]\nport = {self.metrics_port}\n" if metrics else ""
        text += f"[page]\nport = {self.page_port}\n"
        if hub is not None:
            text = text.replace("workers = 1\n", 'workers = 1\npassword_file = "secret.archive"\n')
            text += self._behind(hub, logs or {}, keys or {})
        self.config.write_text(text, "utf-8")

    def _behind(
        self, hub: Hub, logs: Mapping[str, Path], keys: Mapping[str, Sequence[SigningKey]]
    ) -> str:
        for who, password in hub.passwords.items():
            self._secret(f"secret.{who.replace('/', '.')}", password)
        self._secret("witness.key", self.witness.secret)
        settings = hub.settings("archive")
        servers = json.dumps(list(settings.servers))
        lines = ["[hub]", f"servers = {servers}", f'ca = "{settings.ca}"']
        lines += [f'cert = "{settings.cert}"', f'key = "{settings.key}"']
        lines += ["[witness]", 'key = "witness.key"', 'password_file = "secret.witness"']
        lines += ["[witness.keys]"]
        for origin, signers in keys.items():
            lines.append(f'"{origin}" = {json.dumps([str(key.verifier) for key in signers])}')
        lines += ["[uplink.tables]"] if logs else []
        for origin, log in logs.items():
            secret = f"secret.{origin.replace('/', '.')}"
            lines.append(f'"{origin}" = {{ log = "{log}", password_file = "{secret}" }}')
        return "\n".join(lines) + "\n"

    def _secret(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text, "utf-8")
        path.chmod(0o600)

    @contextmanager
    def running(self, *only: str, config: Path | None = None) -> Iterator[Child]:
        """`property run`, of everything or of one service, while the block runs."""
        command: list[str | Path] = [*_COMMAND, "run", config or self.config]
        command += ["--only", *only] if only else []
        name = "-".join(("property", *only))
        log = self.folder / f"{name}.log"
        with Child.start(command, name=name, output=log, env=environment(), cwd=ROOT) as child:
            yield child

    def ask(self, *words: str) -> Done:
        """Another of its commands: `status`, or `query` and its words."""
        return here("property", words[0], self.config, *words[1:])

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """What a query answers."""
        done = self.ask("query", *words, "--json")
        assert done.code == 0, done.err
        return documents(done)

    def status(self) -> tuple[int, dict[str, Any]]:
        """The exit code and the document of `status --json`."""
        done = self.ask("status", "--json")
        assert done.code in {0, 1}, done.err
        return done.code, json.loads(done.out)


def health(port: int) -> dict[str, Any]:
    """What a page says of itself, once it is live."""

    def live() -> dict[str, Any] | None:
        told: dict[str, Any] = httpx.get(f"http://127.0.0.1:{port}/health", timeout=5).json()
        return told if told["live"] else None

    return until_blocking(live, "the page is live", every=0.05, despite=(httpx.TransportError,))
