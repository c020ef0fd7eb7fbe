"""The JavaScript examples pass the kits over TLS on both brokers; planted mistakes are named."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from events.clock import SystemClock
from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics
from events.proof.message_keys import make_message_key
from simulators.conformance.feeds import DisplayFeed, WagerFeed
from simulators.conformance.log import make_steps
from simulators.conformance.screens import read_screen
from simulators.conformance.wagers import FAULTS, read_placed
from table_core.rulebooks.shipped import load_rulebook
from tests.house.sources import ROOT
from tests.support.brokers.brokers import Broker
from tests.support.brokers.tls_broker import SecuredBroker, secured_broker
from tests.support.cage.consumers import process
from tests.support.machine.commands import Done, run

EXAMPLES: Final = ROOT / "examples"
STEPS: Final = 18  # a coup, and the beginning of the next one
RULES: Final = load_rulebook("nz-scale-one")

# A program -> its table, its user, and the kit with the option that names the program's file.
PROGRAMS: Final = {
    "cage_book": ("b7", "cage", ("cage-feed", "--settlements", "20", "--book")),
    "wager_source": ("b8", "wagers", ("wagers-feed", "--placed")),
    "display": ("b9", "display", ("display-feed", "--shown")),
}


@pytest.fixture(scope="module", params=["mosquitto", "nats"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredBroker]:
    run("--version")  # the process that forks commands is there before three threads want it
    with secured_broker(tmp_path_factory.mktemp("site"), request.param, ("b7", "b8", "b9")) as it:
        yield it


def started(program: str, site: SecuredBroker, path: Path) -> ExitStack:
    """The example, as a site's login with a message key if its user has one."""
    table, user, _ = PROGRAMS[program]
    pki, login = site.folder / "pki", f"{table}-{user}"
    key = path.with_suffix(".messagekey")
    key.write_text(make_message_key(f"harbour/{table}", user).line)
    key.chmod(0o600)
    named = {
        "BUS_LOGIN": login,
        "BUS_PASSWORD_FILE": site.folder / "broker/secrets" / login,
        "BUS_CA": pki / "ca.pem",
        "BUS_CERT": pki / f"{login}.pem",
        "BUS_KEY": pki / f"{login}.key",
        "BUS_MESSAGE_KEY": key,
    }
    words = ["env", *(f"{name}={value}" for name, value in named.items())]
    there = ("127.0.0.1", str(site.port), f"bac/v1/harbour/{table}")
    stack = ExitStack()
    stack.enter_context(process(*words, "node", EXAMPLES / f"{program}.mjs", path, *there))
    return stack


def printed(program: str, path: Path) -> None:
    """Write the book that the cage's example prints next to its file, whole."""
    done = subprocess.run(
        ["node", EXAMPLES / f"{program}.mjs", path], check=True, capture_output=True
    )
    new = path.with_suffix(".new")
    new.write_bytes(done.stdout)
    new.rename(path.with_suffix(".book"))


async def judged(program: str, site: SecuredBroker, folder: Path) -> Done:
    """What the kit says of a program, by the command."""
    table, user, (kit, *options) = PROGRAMS[program]
    path = folder / f"{program}.json"
    core, pki = f"{table}-core", site.folder / "pki"
    command: list[Any] = ["--bus", f"127.0.0.1:{site.port}", "--site", "harbour", "--table", table]
    command += ["--login", core, "--password-file", site.folder / "broker/secrets" / core]
    command += ["--ca", pki / "ca.pem", "--cert", pki / f"{core}.pem", "--key", pki / f"{core}.key"]
    command += [*options, path.with_suffix(".book") if user == "cage" else path]
    command += ["--message-key", path.with_suffix(".messagekey")] if user != "display" else []
    with started(program, site, path):
        running = asyncio.create_task(asyncio.to_thread(run, "sim", kit, *command, "--json"))
        while not running.done():
            if user == "cage" and path.exists():
                await asyncio.to_thread(printed, program, path)
            await asyncio.wait({running}, timeout=0.2)
        return running.result()


async def test_the_examples_pass_over_tls_with_login_and_message_key(
    site: SecuredBroker, tmp_path: Path
) -> None:
    found = await asyncio.gather(*(judged(each, site, tmp_path) for each in PROGRAMS))
    wrong = [f"{each.code}: {each.out}{each.err}" for each in found if each.code]
    assert not wrong, "\n".join(wrong)


# A program with one mistake: its text and what stands in its place -> what the kit says.
WAGERS: Final = {
    "asks again with a new transaction": (
        "[...waiting.values()].forEach(send)",
        "[...waiting.values()].forEach((body) => place(body.coup, body.wagers))",
        "they can count twice",
    ),
    "never asks again": ("setInterval(() => [...", "void (() => [...", "did not ask again"),
    "takes a refusal for an acceptance": (
        'result === "accepted" ||',
        'result !== "exists" ||',
        "the table refused it: catching_up",
    ),
    "does not ask again after catching_up": (
        'code === "catching_up"',
        "false",
        "nothing was placed in coup",
    ),
    "repeats what was refused": (
        "setTimeout(() => place(body.coup, body.wagers), 500)",
        "setTimeout(() => send(body), 500)",
        "was refused with catching_up, and came again",
    ),
    "names no coup": ("randomUUID(), coup, wagers", "randomUUID(), wagers", "without `coup`"),
    "bets while betting is closed": (
        'coup?.phase !== "betting" || refusals.place_wager || coup.id === last',
        "!coup",
        "wagers came while betting was closed",
    ),
    "shows what has no answer": (
        "  send(body);\n};",
        "  send(body);\n  placed.add(`${user}/${body.transaction}/0`);\n};",
        "is shown as placed, and the table refused it",
    ),
    "counts a stake in units": ("Math.ceil(minimum / step) * step", "0.5", "was refused"),
}
DISPLAYS: Final = {
    "never looks at the heartbeat": ("!table.online || Date.now() > table.until", "false", "live"),
    "believes no age": ("|| Date.now() > table.until", "", "ten seconds after the last heartbeat"),
    "believes a late Will": (
        "else if (session === table.session)",
        "else",
        "after the late Will of an earlier session",
    ),
    "refuses a lower session": (
        'else if (state === "online")',
        'else if (state === "online" && session >= table.session)',
        "with another session",
    ),
    "leaves out hidden cards": (
        ".map((each) => each.card);",
        ".map((each) => each.card).filter(Boolean);",
        "it shows player [], right is [None]",
    ),
    "keeps the cards of the last coup": (
        "else document = said;",
        "else document = said.coup?.cards.length || !document ? said : document;",
        "it shows the older document of position",
    ),
    "forgets that the table catches up": (
        "    catching_up,\n",
        "    catching_up: false,\n",
        "while the table catches up: it shows catching_up False",
    ),
    "leaves out the sign": ("rulebook.says.map((line) => line.key)", "[]", "it shows sign []"),
}


def broken(folder: Path, program: str, old: str, new: str) -> Path:
    """A copy of the program with one mistake, next to what it imports."""
    folder.mkdir()
    for each in ("mqtt.mjs", "message_key.mjs"):
        (folder / each).symlink_to(EXAMPLES / each)
    text = (EXAMPLES / f"{program}.mjs").read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    script = folder / f"{program}.mjs"
    script.write_text(text.replace(old, new), encoding="utf-8")
    return script


async def said_of(port: int, topics: Topics, script: Path) -> str | None:
    """What the kit says of a program on a table of its own."""
    path = script.with_suffix(".json")
    settings = BusSettings("127.0.0.1", port, f"kit-{topics.table}-{os.getpid()}")

    async def content() -> bytes:
        return path.read_bytes() if path.exists() else b"{}"

    async def placed() -> Any:
        said = json.loads(await content())
        return read_placed(json.dumps(said).encode()) if said else None

    async def shown() -> Any:
        said = await content()
        return None if said == b"{}" else read_screen(said)

    kit: WagerFeed | DisplayFeed
    if script.stem == "display":
        kit = DisplayFeed(
            settings,
            topics,
            "display",
            make_steps(2, topics, RULES),
            clock=SystemClock(),
            look=shown,
        )
    else:
        steps = make_steps(len(FAULTS), topics, RULES)
        kit = WagerFeed(settings, topics, "wagers", steps, clock=SystemClock(), look=placed)
    with process("node", script, path, "127.0.0.1", str(port), topics.root):
        return (await kit.run(wait_s=15, patience_s=5)).first_difference


async def test_each_planted_mistake_is_named(nats: Broker, tmp_path: Path) -> None:
    """Each on a table of its own, all at once: the kits wait most of the time."""
    planted = [("wager_source", name, each) for name, each in WAGERS.items()]
    planted += [("display", name, each) for name, each in DISPLAYS.items()]
    runs = [
        said_of(nats.port, Topics("lab", f"t{at}"), broken(tmp_path / str(at), program, old, new))
        for at, (program, _, (old, new, _)) in enumerate(planted)
    ]
    found = await asyncio.gather(*runs)
    wrong = {
        name: said
        for (_, name, (_, _, says)), said in zip(planted, found, strict=True)
        if said is None or says not in said
    }
    assert wrong == {}
