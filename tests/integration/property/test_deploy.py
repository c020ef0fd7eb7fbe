"""What a property installs: the hub's files as the command writes them, its units, its streams."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Final

import pytest

from baccarat.cli.main import main
from baccarat.site.hub_plan import load_hub_plan
from property.hub.server_conf import HubNode, LeafNode, LeafTable, leaf_conf
from property.hub.subjects import CHECKPOINTS, COSIGNED, EDITIONS, EVENTS, FEEDS
from tests.support.machine.units import assert_tight
from tests.support.property.feeds import TableLogs, feeding, keeper, until_held
from tests.support.property.nats_hub import Hub, running_hub

_DEPLOY: Final = Path("deploy/property").absolute()
_UNITS: Final = ("baccarat-hub@", "baccarat-leaf", "baccarat-property@", "baccarat-uplink@")
B7 = "harbour/b7"


@pytest.mark.parametrize("unit", _UNITS)
def test_a_units_sandbox_is_tight(unit: str) -> None:
    assert_tight(_DEPLOY / f"{unit}.service")


def test_the_leaf_that_is_shown_is_the_one_that_is_written() -> None:
    plan = load_hub_plan(_DEPLOY / "hub.toml")
    nodes = [HubNode(name=name, host=form.host) for name, form in plan.nodes.items()]
    place = LeafNode(
        name="b7",
        pki="/etc/baccarat-leaf/pki",
        cert="/etc/baccarat-leaf/pki/leaf.pem",
        key="/etc/baccarat-leaf/pki/leaf.key",
    )
    written = leaf_conf(place, nodes, [LeafTable(B7, "PASSWORD-OF-THE-LOGIN")])
    shown = (_DEPLOY / "nats-leaf.conf").read_text("utf-8")
    assert shown.partition("server_name")[2] == written.partition("server_name")[2]


def test_the_files_of_a_hub_are_written_and_passwords_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["property", "hub", str(_DEPLOY / "hub.toml"), "-o", str(tmp_path / "hub")]
    assert main(command) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    names = sorted(str(each.relative_to(tmp_path / "hub")) for each in written)
    nodes = [f"hub{n}/{name}" for n in (1, 2, 3) for name in ("accounts.conf", "nats-server.conf")]
    assert names == sorted([*nodes, "b7/nats-server.conf"])
    passwords = tmp_path / "hub/passwords"
    before = {each.name: each.read_text("utf-8") for each in passwords.iterdir()}
    assert {"keeper", "archive", "witness", "system", "harbour.b7", "harbour.b8"} == set(before)
    for each in (*written, *passwords.iterdir()):
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    (passwords / "harbour.b8").unlink()
    assert main(command) == 0
    after = {each.name: each.read_text("utf-8") for each in passwords.iterdir()}
    assert after.pop("harbour.b8") != before.pop("harbour.b8")
    assert after == before


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("", ["tables: is missing; for example", "nodes: is missing; for example"]),
        (
            """
            tables = ["harbour", "a/b", "a/b"]
            nodes = { Hub1 = { host = "h" }, hub2 = { host = "h" } }
            leaves = { hub2 = { tables = ["a/c"] } }
            """,
            [
                "nodes: 2 of them",
                "Hub1: a name is of lower-case",
                "leaves.hub2: a node has this name",
                "tables: origin 'harbour'",
                "tables: a/b is there twice",
                "leaves.hub2.tables: a/c is none",
            ],
        ),
        (
            'tables = ["a/b"]\n[nodes.passwords]\nhost = "h"\ncluster = 4222\n',
            ["passwords: the folder", "nodes.passwords.cluster: h:4222 is nodes.passwords.clients"],
        ),
        (
            'tables = ["a/b"]\n[nodes.hub1]\nhost = "x y"\nport = 1\nstore_most = "much"\n',
            ["nodes.hub1.host", "nodes.hub1.port: no such key", "nodes.hub1.store_most"],
        ),
    ],
)
def test_every_fault_of_a_hubs_file_is_said_at_once(
    text: str, complaints: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hub.toml"
    path.write_text(text, "utf-8")
    assert main(["property", "hub", str(path), "-o", str(tmp_path / "hub")]) == 2
    said = capsys.readouterr().err
    assert [each for each in complaints if each not in said] == []
    assert not (tmp_path / "hub").exists()


def test_an_emptied_password_is_no_login(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    emptied = tmp_path / "hub/passwords/harbour.b8"
    emptied.parent.mkdir(parents=True)
    emptied.touch()
    assert main(["property", "hub", str(_DEPLOY / "hub.toml"), "-o", str(tmp_path / "hub")]) == 2
    assert f"{emptied}: not a password" in capsys.readouterr().err
    assert not (tmp_path / "hub/hub1").exists()


def test_the_keeper_makes_the_streams_and_has_a_table_filled_in_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_hub(tmp_path / "hub", [B7]) as hub:
        config, password = _config(tmp_path, hub)
        command = ["property", "streams", config, "--password-file", password, "--gigabytes", "1"]
        assert main(command) == 0
        assert main([*command, "--days", "3"]) == 0
        asyncio.run(_found(hub))
        with TableLogs(tmp_path, [B7]) as logs:
            logs.grow(B7, 10)
            asyncio.run(_filled(hub, logs))
            assert main(["property", "refill", config, B7, "--password-file", password]) == 0
            asyncio.run(_filled(hub, logs, empty=True))
            other = "harbour/b8"
            assert main(["property", "refill", config, other, "--password-file", password]) == 1
            said = capsys.readouterr()
            assert "harbour/b8: the hub has nothing of it" in said.err
            assert "eof_received" not in said.err
        wrong = tmp_path / "wrong"
        wrong.write_text("no password\n")
        capsys.readouterr()
        assert main(["property", "streams", config, "--password-file", str(wrong)]) == 2
        assert "uthorization" in capsys.readouterr().err


def _config(folder: Path, hub: Hub) -> tuple[str, str]:
    settings = hub.settings("keeper")
    config, password = folder / "property.toml", folder / "keeper"
    config.write_text(
        f"[hub]\nservers = {json.dumps(settings.servers)}\nca = {json.dumps(str(settings.ca))}\n"
        f"cert = {json.dumps(str(settings.cert))}\nkey = {json.dumps(str(settings.key))}\n",
        "utf-8",
    )
    password.write_text(f"{settings.password}\n", "utf-8")
    return str(config), str(password)


async def _found(hub: Hub) -> None:
    async with keeper(hub) as js:
        found = {each.config.name: each.config for each in await js.streams_info()}
    assert set(found) == {EVENTS, CHECKPOINTS, COSIGNED, FEEDS, EDITIONS}
    events = found[EVENTS]
    assert (events.num_replicas, events.max_age, events.max_bytes) == (3, 3 * 86_400, 1024**3)
    assert {each.num_replicas for each in found.values()} == {3}


async def _filled(hub: Hub, logs: TableLogs, *, empty: bool = False) -> None:
    if empty:
        async with keeper(hub) as js:
            assert (await js.stream_info(EVENTS)).state.messages == 0
    async with feeding(logs, [hub.settings(B7)]):
        await until_held(hub, B7, logs.paths[B7])
