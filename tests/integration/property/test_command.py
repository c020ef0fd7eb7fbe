"""`baccarat property` on a hub and a database: what is run and asked, and its board."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psycopg
import pytest
from psycopg import sql

from baccarat.cli.main import main
from baccarat.config.property import load_property
from baccarat.property.status import PropertyStatus, property_status
from benchmarks.instruments.postgres import Postgres
from events.clock import Clock, SystemClock
from events.errors import ArchiveError
from events.log.editions import RULEBOOKS, editions_folder, write_editions
from events.log.store import EventLog
from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.note import SigningKey, parse_note
from events.types import (
    AlarmRaised,
    BettingOpened,
    CheckpointKeyChanged,
    CoupSettled,
    RulebookAdopted,
)
from property.archive.client import ArchiveClient
from property.archive.database import connect_archive, migrate
from property.archive.store import Archive
from property.board.feed import BoardUpdater
from property.hub.replicated_event import Head, ReplicatedEvent
from property.hub.subjects import FEEDS, PARTITIONS, feed_subject, split_origin
from property.hub.uplink_status import UplinkStatus
from property.witness.cosignature import cosign, cosigned_at, witness_key
from property.witness.store import read_book
from shoe_driver.profiles.catalogue import shipped_texts
from table_core.rulebooks.shipped import load_rulebook, shipped_sources
from tests.support.cage.books import source
from tests.support.clock import FakeClock
from tests.support.machine.tasks import background
from tests.support.machine.waiting import PATIENCE_SECONDS, until, until_blocking
from tests.support.property.logs import (
    carried_in,
    dealt,
    entries_in,
    into_archive,
    played,
    well_for_an_hour,
    write_log,
)
from tests.support.property.nats_hub import Hub, made_streams, running_hub, signed_in
from tests.support.property.site import PropertySite, health

B7 = SigningKey("harbour/b7", b"7" * 32)
ORIGINS = ("harbour/b7", "harbour/b8")
_STOPS_S = 30.0  # it stops its services one after another
NOBODY = "postgresql://nobody@127.0.0.1:1/property"
_NOW = SystemClock()


def test_a_file_is_begun_judged_and_found_wanting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "property.toml")
    assert main(["property", "init", path]) == 0
    assert main(["property", "init", path]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["property", "check", path, "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert {each["key"] for each in told["errors"]} >= {"", "hub.ca"}
    assert main(["property", "run", path]) == 2


@pytest.fixture(scope="module")
def hub_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running_hub(tmp_path_factory.mktemp("hub"), ORIGINS, nodes=1) as hub:
        asyncio.run(made_streams(hub))
        yield hub


def settled(log: Path) -> dict[str, CoupSettled]:
    """Each coup of a log that was settled, and how."""
    events = (entry.data for entry in entries_in(log))
    return {each.coup: each for each in events if isinstance(each, CoupSettled)}


def until_well(site: PropertySite) -> dict[str, Any]:
    """The standing of a property once nothing stands and nothing is on its way."""

    def well() -> dict[str, Any]:
        code, told = site.status()
        arrived = [each["lag"] == 0 and each["position"] for each in told["tables"]]
        return told if code == 0 and len(arrived) == len(ORIGINS) and all(arrived) else {}

    return until_blocking(well, lambda: f"the property is well: {site.status()}")


def until_cosigned(site: PropertySite, origin: str) -> None:
    """The witness has cosigned what a table signs, which it reads beside the archive."""
    until_blocking(lambda: not site.ask("checkpoint", origin).code, "it is cosigned", every=0.05)


def until_archived(site: PropertySite, digest: str) -> list[dict[str, Any]]:
    """An edition that lies beside a log alone, once an uplink has carried it."""
    return until_blocking(lambda: site.rows("editions", "--hash", digest), "it is archived")


def test_logs_go_up_are_archived_cosigned_shown_and_asked(
    hub_node: Hub, postgres: Postgres, tmp_path: Path
) -> None:
    logs = {origin: tmp_path / f"{origin[-2:]}.sqlite" for origin in ORIGINS}
    for number, (origin, path) in enumerate(logs.items()):
        signed = [CheckpointKeyChanged(key=str(B7.verifier))]
        write_log(path, origin, [*signed, *dealt(number + 1, 12)])
    with EventLog.open(logs["harbour/b7"], "harbour/b7") as log:
        size = log.position
        log.store_checkpoint(signed_checkpoint(Checkpoint("harbour/b7", size, log.root), [B7]))
    archive, keys = postgres.database(), {"harbour/b7": [B7]}
    own = source("ez", "id=harbour").encode()
    (digest,) = write_editions(editions_folder(logs["harbour/b7"], RULEBOOKS), [own])
    site = PropertySite(tmp_path, archive, hub_node, logs, keys)
    with site.running() as child:
        told = until_well(site)
        assert (told["archive"], told["hub"], told["witness"]) == ("ok", "ok", "ok")
        positions = {each["table"]: each["position"] for each in told["tables"]}
        assert positions == {origin: len(entries_in(path)) for origin, path in logs.items()}
        assert health(site.page_port) == {
            "live": True,
            "well": True,
            "reason": "",
            "screens": 0,
        }
        card = str(next(iter(settled(logs["harbour/b8"]).values())).settlement.player[0])
        found = {(each["table"], each["coup"]) for each in site.rows("coups", "--card", card)}
        assert found == {
            (origin[-2:], coup)
            for origin, path in logs.items()
            for coup, each in settled(path).items()
            if card in map(str, (*each.settlement.player, *each.settlement.banker))
        }
        until_cosigned(site, "harbour/b7")
        (found_here,) = until_archived(site, digest)
        assert found_here["text"] == own.decode()
        assert child.stop(_STOPS_S) == 0
    assert uplinks(site) == dict.fromkeys(ORIGINS, ("ended", 0))
    # The worker has brought what ships with its build, the uplink what lies beside the log.
    shipped = {sha256(each).hexdigest() for each in (*shipped_sources(), *shipped_texts())}
    assert {each["hash"] for each in site.rows("editions")} == shipped | {digest}
    shown = site.ask("checkpoint", "harbour/b7")
    assert (shown.code, site.ask("checkpoint", "harbour/b8").code) == (0, 1)
    kept = {each.origin: each for each in read_book(tmp_path / "witness.sqlite")[0]}
    assert kept["harbour/b8"].note is None  # nobody has signed it
    note = kept["harbour/b7"].note
    assert note is not None
    assert (kept["harbour/b7"].size, shown.out) == (size, note.decode())
    assert cosigned_at(parse_note(note), witness_key(site.witness)) is not None


def test_the_archive_is_given_the_editions_beside_a_log(postgres: Postgres, tmp_path: Path) -> None:
    archive = postgres.database()
    site = PropertySite(tmp_path, archive)
    log = tmp_path / "log" / "table.sqlite"
    log.parent.mkdir()
    write_log(log, "harbour/b7", dealt(1, 1))
    own = source("ez", "id=harbour").encode()
    (digest,) = write_editions(log.parent / RULEBOOKS, [own])
    assert site.ask("editions", str(tmp_path / "none.sqlite")).code == 2
    for _ in range(2):  # to say it again changes nothing
        assert site.ask("editions", str(log)).code == 0
    (found,) = site.rows("editions", "--hash", digest)
    assert (found["kind"], found["name"], found["text"]) == ("rulebook", "harbour", own.decode())
    assert len(site.rows("editions")) == len(shipped_sources()) + len(shipped_texts()) + 1
    with psycopg.connect(archive) as db, pytest.raises(psycopg.Error, match="never edited"):
        db.execute("UPDATE property.edition SET name = 'other'")
    (log.parent / RULEBOOKS / f"{digest}.toml").write_bytes(own + b"#")
    damaged = site.ask("editions", str(log))
    assert damaged.code == 1
    assert digest in damaged.err


def test_two_pay_scales_at_one_site_are_an_alarm_at_each_of_its_tables(
    postgres: Postgres, tmp_path: Path
) -> None:
    archive = postgres.database()
    site = PropertySite(tmp_path, archive)
    tables = {"harbour/b7": "nz-scale-one", "harbour/b8": "nz-scale-two", "harbour/b9": "ez"}
    tables["river/b1"] = "nz-scale-two"
    for at, (origin, name) in enumerate(tables.items()):
        rules = load_rulebook(name)
        begun = BettingOpened(coup="20261127-01/1", rulebook=name, rulebook_hash=rules.hash)
        events = [
            RulebookAdopted(rulebook=name, rulebook_hash=rules.hash, currency=rules.currency),
            begun,
        ]
        write_log(tmp_path / f"{at}.sqlite", origin, events)
        into_archive(archive, tmp_path / f"{at}.sqlite")
    assert site.ask("editions", str(tmp_path / "0.sqlite")).code == 0
    found = {each.table: each for each in _status(site).tables}
    assert {name: (each.pay_scale, each.standing) for name, each in found.items()} == {
        "harbour/b7": ("one", ("pay scale one, and two at another table (11A.8)",)),
        "harbour/b8": ("two", ("pay scale two, and one at another table (11A.8)",)),
        "harbour/b9": (None, ()),
        "river/b1": ("two", ()),
    }
    assert site.status()[0] == 1


def _status(site: PropertySite, clock: Clock = _NOW) -> PropertyStatus:
    return asyncio.run(property_status(load_property(site.config), clock))


def uplinks(site: PropertySite, clock: Clock = _NOW) -> dict[str, tuple[str | None, int]]:
    """Each table's uplink as its property stands, and how much stands against the table."""
    found = _status(site, clock)
    return {each.table: (each.uplink, len(each.standing)) for each in found.tables}


def test_an_uplink_that_has_stopped_or_is_silent_is_not_well(
    hub_node: Hub, postgres: Postgres, tmp_path: Path
) -> None:
    archive = postgres.database()
    migrate(archive)
    site = PropertySite(tmp_path, archive, hub_node)
    say(hub_node, "harbour/b7", UplinkStatus(state="running", position=3))
    say(hub_node, "harbour/b8", UplinkStatus(state="ended", position=3))
    assert uplinks(site) == {"harbour/b7": ("running", 0), "harbour/b8": ("ended", 0)}
    assert uplinks(site, FakeClock(_NOW.utc_ns() + 100 * 10**9)) == {
        "harbour/b7": ("silent", 1),
        "harbour/b8": ("ended", 0),
    }
    stopped = UplinkStatus(state="stopped", position=3, code="fork", reason="another event")
    say(hub_node, "harbour/b8", stopped)
    assert uplinks(site) == {"harbour/b7": ("running", 0), "harbour/b8": ("stopped", 1)}
    shown = site.ask("status")
    assert shown.code == 1
    assert "harbour/b8: its uplink has stopped: fork: another event" in shown.out
    keeper = tmp_path / "secret.keeper"
    assert site.ask("retire", "harbour/b8", "--by", " ", "--password-file", str(keeper)).code == 2
    assert site.ask("retire", "harbour/b8", "--by", "ann", "--password-file", str(keeper)).code == 0
    assert uplinks(site) == {"harbour/b7": ("running", 0), "harbour/b8": ("ended", 0)}
    # Whatever a login puts into its own place, it hides no other table.
    say(hub_node, "harbour/b8", None, Status="404")
    say(hub_node, "harbour/b8", None, Status="503")
    assert uplinks(site) == {"harbour/b7": ("running", 0), "harbour/b8": ("silent", 1)}
    site.config.write_text(site.config.read_text().replace(archive, NOBODY))
    (b7, _) = site.status()[1]["tables"]
    assert (b7["position"], b7["lag"], b7["uplink"]) == (None, None, "running")


def say(hub: Hub, origin: str, word: UplinkStatus | None, **headers: str) -> None:
    """In that table's place, with its login: how its uplink stands, or nothing."""

    async def said() -> None:
        async with signed_in(hub, origin) as client:
            body = msgspec.json.encode(word) if word else b""
            subject = feed_subject(*split_origin(origin))
            await client.request(subject, body, headers=headers, timeout=PATIENCE_SECONDS)

    asyncio.run(said())


def test_a_hub_of_an_older_version_tells_the_rest(postgres: Postgres, tmp_path: Path) -> None:
    archive = postgres.database()
    migrate(archive)
    with running_hub(tmp_path / "hub", ORIGINS, nodes=1) as hub:
        asyncio.run(without_feeds(hub))
        path = tmp_path / "b7.sqlite"
        write_log(path, "harbour/b7", played(3, 2))
        site = PropertySite(tmp_path, archive, hub, {"harbour/b7": path})
        with site.running("uplink") as child:
            until_blocking(lambda: site.status()[1]["tables"], "the table is told")
            told = site.status()[1]
            child.stop(_STOPS_S)
    (b7,) = told["tables"]
    assert (b7["hub"] > 0, b7["uplink"]) == (True, None)
    assert "does not tell how uplinks stand, stream FEEDS" in told["hub"]


async def without_feeds(hub: Hub) -> None:
    """The streams as they were before uplinks said how they stand."""
    await made_streams(hub)
    async with signed_in(hub) as client:
        await client.jetstream().delete_stream(FEEDS)


def test_a_hub_that_takes_nothing_is_not_well(postgres: Postgres, tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub", ORIGINS) as hub:
        asyncio.run(made_streams(hub))
        site = PropertySite(tmp_path, postgres.database(), hub)
        assert site.status()[1]["hub"] == "ok"
        one, two, _ = hub.alive()
        hub.kill(one)
        hub.kill(two)
        until_blocking(
            lambda: site.status()[1]["hub"].startswith("takes nothing"), "it takes nothing"
        )


@pytest.fixture
def archived(postgres: Postgres, tmp_path: Path) -> PropertySite:
    """A property whose archive is filled, and read alone."""
    path, archive = tmp_path / "b7.sqlite", postgres.database()
    write_log(path, "harbour/b7", played(3, 15))
    into_archive(archive, path)
    return PropertySite(tmp_path, archive)


def test_an_alarm_that_stands_is_told_and_a_feed_that_was_not_stopped_cannot_be_released(
    archived: PropertySite,
) -> None:
    (url,) = (line for line in archived.config.read_text().splitlines() if "database" in line)
    with psycopg.connect(url.split('"')[1]) as db:
        db.execute(
            "UPDATE property.head SET state = 'stopped'; "
            'INSERT INTO property.feed_alarm (site, "table", kind, position, reason) '
            "VALUES ('harbour', 'b7', 'fork', 9, 'another past')"
        )
    code, told = archived.status()
    assert code == 1
    assert told["tables"][0]["feed_alarms"] == ["fork"]
    assert told["tables"][0]["feed"] == "stopped"
    alarms = archived.rows("alarms")
    assert ("feed", "fork", 9) in {(each["of"], each["alarm"], each["position"]) for each in alarms}
    assert archived.ask("release", "harbour/b7", "--by", " ").code == 2
    assert archived.ask("release", "harbour/b7", "--by", "mary").code == 0
    assert "fork" not in {each["alarm"] for each in archived.rows("alarms")}
    assert archived.ask("release", "harbour/b7", "--by", "mary").code == 1
    assert archived.ask("release", "b7", "--by", "mary").code == 2


def test_who_is_away_is_said_in_one_line(tmp_path: Path) -> None:
    site = PropertySite(tmp_path, NOBODY)
    code, told = site.status()
    assert (code, told["well"], told["tables"]) == (1, False, [])
    assert "127.0.0.1:1" in told["archive"]
    asked = site.ask("query", "win")
    assert asked.code == 2
    assert len(asked.err.splitlines()) == 1


def test_the_page_answers_its_own_alone_and_refuses_nonsense_in_words(
    archived: PropertySite,
) -> None:
    with archived.running("page"):
        assert health(archived.page_port)
        with httpx.Client(base_url=f"http://127.0.0.1:{archived.page_port}") as client:
            page = client.get("/")
            assert "default-src 'none'" in page.headers["content-security-policy"]
            answer = client.get("/ask/win").json()
            assert answer["columns"][:3] == ["site", "table", "day"]
            assert [tuple(row[:2]) for row in answer["rows"]] == [("harbour", "b7")]
            wrong = client.get("/ask/coups", params={"card": "1X"})
            assert (wrong.status_code, "not a card" in wrong.text) == (400, True)
            assert client.get("/ask/everything").status_code == 400
            assert client.get("/ask/win", params={"drop": "table"}).status_code == 400
            elsewhere = {"sec-fetch-site": "cross-site"}
            assert client.get("/ask/win", headers=elsewhere).status_code == 403
            assert client.get("/events", headers=elsewhere).status_code == 403
            assert client.get("/", headers={"host": "evil.example"}).status_code == 421
            assert client.post("/ask/win").status_code == 405


def test_a_log_is_held_against_what_the_witness_has_cosigned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, cosigned, key = tmp_path / "b7.sqlite", tmp_path / "note", tmp_path / "witness.pub"
    write_log(log, "harbour/b7", [AlarmRaised(alarm="lid", text="the lid is open")])
    with EventLog.open(log, "harbour/b7") as opened:
        size = opened.position
        note = signed_checkpoint(Checkpoint("harbour/b7", size, opened.root), [B7])
    witness = SigningKey("harbour/witness", b"w" * 32)
    key.write_text(f"{witness_key(witness)}\n")
    cosigned.write_bytes(cosign(note, parse_note(note).text, witness, 1_780_000_000))
    told = ["log", "verify", str(log), "--key", str(B7.verifier), "--checkpoint", str(cosigned)]
    assert main([*told, "--witness", str(key)]) == 0
    cosigned.write_bytes(note)
    assert main(told) == 0
    capsys.readouterr()
    assert main([*told, "--witness", str(key)]) == 1
    assert "is not cosigned by harbour/witness" in capsys.readouterr().out
    assert main([*told[:5], "--witness", str(key)]) == 2
    assert main([*told, "--witness", str(B7.verifier)]) == 2
    assert "no witness's key" in capsys.readouterr().err


ORIGIN = "harbour/b7"


async def store(url: str, *events: ReplicatedEvent) -> None:
    """Put events into the archive as a worker would, from the first or behind what is there."""
    connection = await connect_archive(url)
    try:
        archive = Archive(url, connection)
        found: dict[str, Head] = {}
        for number in range(PARTITIONS):
            found |= {origin: each.head for origin, each in (await archive.heads(number)).items()}
        intake, _ = await archive.keep(found, events, ())
        assert not intake.faults
    finally:
        await connection.close()
    well_for_an_hour(url)


@contextmanager
def away(url: str) -> Iterator[None]:
    """The database takes nobody in while the block runs, and has thrown out who was there."""
    name = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(url.replace(f"/{name}?", "/postgres?"), autocommit=True) as db:
        of = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        db.execute(of.format(sql.Identifier(name), sql.SQL("false")))
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        try:
            yield
        finally:
            db.execute(of.format(sql.Identifier(name), sql.SQL("true")))


def shown(feed: BoardUpdater) -> dict[str, Any]:
    tables: dict[str, dict[str, Any]] = json.loads(feed.board.news(0))["tables"]
    return tables[ORIGIN]


async def test_a_table_is_followed_event_by_event_and_its_roads_coup_by_coup(
    postgres: Postgres, tmp_path: Path
) -> None:
    url, log = postgres.database(), tmp_path / "b7.sqlite"
    migrate(url)
    write_log(log, ORIGIN, dealt(9, 6))
    events = carried_in(log)
    ends = [entry.position for entry in entries_in(log) if isinstance(entry.data, CoupSettled)]
    feed = BoardUpdater(url, SystemClock())
    woken: list[int] = []
    feed.subscribe(lambda: woken.append(feed.board.change))
    await store(url, *events[: ends[1]])
    async with background(feed.run()):
        await until(lambda: feed.live and feed.board.position(ORIGIN) == ends[1], "two coups")
        await until(lambda: len(shown(feed).get("bead_plate", [])) == 2, "two beads")
        await store(url, *events[ends[1] : ends[1] + 1])
        await until(lambda: feed.board.position(ORIGIN) == ends[1] + 1, "one event more")
        await store(url, *events[ends[1] + 1 :])
        await until(lambda: len(shown(feed)["bead_plate"]) == len(ends), "all coups")
    assert sum(map(len, shown(feed)["big_road"])) == len(
        [bead for bead in shown(feed)["bead_plate"] if bead[0] != "T"]
    )
    assert woken == sorted(woken)
    assert shown(feed)["feed"] == "running"


async def test_a_board_whose_archive_goes_says_so_keeps_what_it_had_and_comes_back(
    postgres: Postgres, tmp_path: Path
) -> None:
    url, log = postgres.database(), tmp_path / "b7.sqlite"
    migrate(url)
    write_log(log, ORIGIN, played(4, 6))
    events = carried_in(log)
    feed = BoardUpdater(url, SystemClock())
    await store(url, *events[:50])
    async with background(feed.run()):
        await until(lambda: feed.live and feed.board.position(ORIGIN) == 50, "it is there")
        with away(url):
            await until(lambda: not feed.live, "it is not live")
            assert feed.board.position(ORIGIN) == 50
        await store(url, *events[50:])
        await until(lambda: feed.live and feed.board.position(ORIGIN) == len(events), "it goes on")


async def test_an_asker_can_change_nothing(postgres: Postgres) -> None:
    url = postgres.database()
    migrate(url)
    async with await ArchiveClient.open(url) as asker:
        for statement in ("DELETE FROM property.head", "CREATE TABLE a (b int)"):
            with pytest.raises(ArchiveError, match="read-only"):
                await asker.rows(statement)
