"""A table of processes with a simulated shoe on a pseudo-terminal, and a croupier who plays at it.

What happens to the processes meanwhile is the test's affair.
"""

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from baccarat.config.table import load_config
from baccarat.processes.children import Child
from baccarat.services.registry import service_command
from events.mqtt.request_client import USUAL_RETRY, Retry
from simulators.device.pty_port import INSTANT, PtyPort
from simulators.people.dealer_and_patrons import Croupier, Game, PlayedCoup
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator
from tests.support.machine.processes import ROOT, environment
from tests.support.machine.tasks import background

FIRST_SHOE: Final = "20261127-01"
ORIGIN: Final = "site/t1"
_CONFIG: Final = """\
site = "site"
table = "t1"
rulebook = "{rulebook}"
[shoe]
url = "pty:{link}*"
profile = "{profile}"
[bus]
port = {port}
{more}
"""


def service_process(config: Path, name: str, command: list[str] | None = None) -> Child:
    """A service of a table as its supervisor starts it; what it says is in a log beside."""
    return Child.start(
        command or service_command(config, name),
        name=name,
        output=config.with_name(f"{name}.log"),
        env=environment(),
        cwd=ROOT,
    )


class LiveTable:
    """See the module.

    Args:
        folder: with everything that it keeps.
        broker: its port.
        seed: of cards and wagers.
        more: more of the configuration.
        dealing: the shoe, where it is not the usual one.
        port: the shoe's line, where it is not one without delays.
        game: how it is played, and by which rulebook.
        retry: when the croupier asks the table again.
    """

    def __init__(
        self,
        folder: Path,
        broker: int,
        *,
        seed: int,
        more: str = "",
        dealing: DealingShoe | None = None,
        port: PtyPort | None = None,
        game: Game | None = None,
        retry: Retry = USUAL_RETRY,
    ) -> None:
        self.port = port or PtyPort(folder / "line" / "shoe", pace=INSTANT)
        self.path = folder / "table.toml"
        game, dealing = game or Game(), dealing or DealingShoe(seed=seed)
        self.path.write_text(
            _CONFIG.format(
                rulebook=game.rulebook.id,
                link=self.port.link,
                profile=dealing.profile.id,
                port=broker,
                more=more,
            )
        )
        self.config = load_config(self.path)
        self.log = self.config.log_path
        self.children: dict[str, Child] = {}
        self.commands: dict[str, list[str]] = {}  # of processes that are no service of the table
        self.played: list[PlayedCoup] = []
        self.shoe = ShoeSimulator(self.port, dealing, first_shoe=FIRST_SHOE, speed=0)
        self.croupier = Croupier(
            self.config.bus_settings("croupier"),
            self.config.topics,
            self.shoe,
            seed=seed,
            game=game,
            speed=0,
            on_coup=self.played.append,
            retry=retry,
        )

    def start(self, *names: str) -> None:
        """These processes; one that is there is killed before."""
        for name in names:
            if name in self.children:
                self.children[name].kill()
            self.children[name] = service_process(self.path, name, self.commands.get(name))

    def stop(self) -> None:
        for child in self.children.values():
            child.stop()

    @asynccontextmanager
    async def at_play(
        self, *names: str, beside: tuple[Coroutine[object, object, object], ...] = ()
    ) -> AsyncIterator[Croupier]:
        """These processes run, and the croupier is at the table, while the block does."""
        self.port.plug_in()
        try:
            self.start(*names)
            async with background(self.croupier.run(), *beside):
                yield self.croupier
        finally:
            self.stop()
            self.port.unplug()
