"""The hub's files: what stands in them, and that the server itself takes them."""

import re
import subprocess
from pathlib import Path

import pytest

from baccarat.local_brokers.nats import find_nats_server
from events.errors import InputError
from property.hub.server_conf import (
    KEEPER,
    ROLES,
    SYSTEM,
    HubLogin,
    HubNode,
    LeafNode,
    LeafTable,
    accounts_conf,
    hub_conf,
    leaf_conf,
)
from property.hub.subjects import NOTICES

TABLES = ("harbour/b7", "harbour/b8", "har-bour/b7")
LOGINS = [HubLogin(who, "$2b$04$" + "x" * 53) for who in (*ROLES, SYSTEM, *TABLES)]
NODES = [HubNode(name=f"hub{n}", host=f"10.0.0.{n}", pki="/nowhere") for n in (1, 2, 3)]


def _accepted(folder: Path, conf: str) -> str:
    path = folder / "nats-server.conf"
    path.write_text(conf, "utf-8")
    told = subprocess.run(
        [find_nats_server(), "-t", "-c", path], capture_output=True, text=True, check=False
    )
    return told.stderr + told.stdout


@pytest.mark.process
def test_the_server_takes_the_accounts(tmp_path: Path) -> None:
    assert "is valid" in _accepted(tmp_path, accounts_conf(LOGINS))


def test_a_node_syncs_every_write_and_lets_nobody_in_without_a_certificate() -> None:
    conf = hub_conf(NODES[0], NODES)
    assert "sync_interval: always" in conf
    # Clients, other nodes and leaves.
    assert conf.count("verify: true") == 3
    assert 'routes: ["tls://10.0.0.2:6222", "tls://10.0.0.3:6222"]' in conf
    assert "cluster {" not in hub_conf(NODES[0], NODES[:1])


def test_a_node_and_a_leaf_speak_no_protocol_but_nats() -> None:
    """So a rule that is tried by NATS is tried by every protocol that there is."""
    place = LeafNode(name="b7", pki="/nowhere", cert="/nowhere/b7.pem", key="/nowhere/b7.key")
    leaf = leaf_conf(place, NODES, [LeafTable(each, "p" * 24) for each in TABLES[:2]])
    for conf in (hub_conf(NODES[0], NODES), leaf):
        assert set(re.findall(r"(?m)^(\w+) ?[{:]", conf)) & {"websocket", "mqtt"} == set()
        assert "port" in conf or "listen" in conf


def test_each_table_has_an_account_and_takes_its_own_subjects_alone() -> None:
    conf = accounts_conf(LOGINS)
    for origin in TABLES:
        site, table = origin.split("/")
        _, _, rest = conf.partition(f'  "{origin}" {{\n')
        account = rest.partition("\n  }\n")[0]
        taken = [line for line in account.splitlines() if "service:" in line]
        assert len(taken) == 6
        assert all(f".{site}.{table}." in line for line in taken)
        others = {each for each in TABLES if each != origin}
        assert not [each for each in others if f".{each.replace('/', '.')}." in account]


def test_no_reader_stands_beside_the_streams_or_may_have_anything_made_there() -> None:
    conf = accounts_conf(LOGINS)
    _, _, rest = conf.partition("  PROPERTY {\n")
    account = rest.partition("\n  }\n")[0]
    assert re.findall(r'user: "([^"]+)"', account) == [KEEPER]
    streams = "EVENTS|CHECKPOINTS|FEEDS|EDITIONS"
    assert conf.count(NOTICES) == 3  # offered to all, heard by the archive alone
    offered = re.findall(rf'service: "\$JS\.API\.([A-Z.]+)\.(?:{streams})', account)
    assert set(offered) == {"STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET"}
    assert conf.count("{ user:") == conf.count("allowed_connection_types: [")


def test_a_login_twice_or_of_nobody_is_refused() -> None:
    with pytest.raises(InputError, match="has a login already"):
        accounts_conf([*LOGINS, LOGINS[0]])
    with pytest.raises(InputError, match="write <site>/<table>"):
        accounts_conf([HubLogin("harbour", "x")])


@pytest.mark.process
def test_the_server_takes_a_leafs_file_but_for_its_certificates(tmp_path: Path) -> None:
    place = LeafNode(name="b7", pki="/nowhere", cert="/nowhere/b7.pem", key="/nowhere/b7.key")
    tables = [LeafTable(each, "p" * 24) for each in TABLES[:2]]
    assert "/nowhere" in _accepted(tmp_path, leaf_conf(place, NODES, tables))


@pytest.mark.parametrize("password", ["", "short", "p" * 20 + "@", "p" * 20 + "/"])
def test_a_password_that_a_url_cannot_hold_is_refused(password: str) -> None:
    place = LeafNode(name="b7", pki="/nowhere", cert="/nowhere/b7.pem", key="/nowhere/b7.key")
    with pytest.raises(InputError, match="its password is not one of"):
        leaf_conf(place, NODES, [LeafTable("harbour/b7", password)])
