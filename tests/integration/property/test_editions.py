"""Editions on their way from beside a table's log, by the hub, into the archive."""

import re
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from structlog.testing import capture_logs

from benchmarks.instruments.postgres import Postgres
from events.log.editions import PROFILES, RULEBOOKS, editions_folder, write_editions
from property.hub.connection import purge_table
from property.hub.subjects import EDITIONS, EVENTS, edition_subject
from property.uplink import hub_client, service
from shoe_driver.profiles.catalogue import profile_text
from tests.support.cage.books import source
from tests.support.machine.waiting import until
from tests.support.property.archive_site import ArchiveSite
from tests.support.property.feeds import TableLogs, feeding, keeper, until_held
from tests.support.property.nats_hub import HUB_ERRORS, Hub, made_streams, running_hub, signed_in

pytestmark = pytest.mark.timeout(180)

B7, B8 = "harbour/b7", "harbour/b8"
OWN = ("harbour", "b7")
# Of no build: as a site's own, or as one that ships no more.
BOOK = source("ez", "id=harbour").encode()
SECOND = BOOK + b"# the second\n"
_SAID, _ASKED = "harbour.b7.edition.", "STREAM.INFO.EDITIONS"
PROFILE = profile_text("enq-bcc") + b"# of an earlier build\n"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running_hub(tmp_path_factory.mktemp("hub"), [B7, B8], nodes=1) as running:
        yield running


@pytest.fixture
async def site(hub: Hub, postgres: Postgres, tmp_path: Path) -> AsyncIterator[ArchiveSite]:
    await made_streams(hub, anew=True)
    async with ArchiveSite(hub, postgres.database(), tmp_path) as made:
        yield made


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _keep(log: Path, kind: str, *sources: bytes) -> None:
    write_editions(editions_folder(log, kind), sources)


def _archived(site: ArchiveSite) -> dict[str, tuple[str, bytes]]:
    rows = site.ask("SELECT hash, kind, source FROM property.edition")
    return {row["hash"]: (row["kind"], bytes(row["source"])) for row in rows}


async def _on_hub(hub: Hub) -> set[str]:
    async with keeper(hub) as js:
        info = await js.stream_info(EDITIONS, subjects_filter=">")
    return set(info.state.subjects or ())


async def _until_on_hub(hub: Hub, wanted: set[str]) -> None:
    """Before the hourly round: what that one brings does not count."""

    async def there() -> bool:
        return await _on_hub(hub) == wanted

    # There may be no leader for a moment.
    await until(there, f"the hub has {wanted}", despite=HUB_ERRORS)


async def test_a_sites_own_editions_arrive_by_themselves_and_again_on_a_hub_that_was_emptied(
    site: ArchiveSite, hub: Hub, tmp_path: Path
) -> None:
    with TableLogs(tmp_path, [B7, B8]) as logs:
        for origin in (B7, B8):
            logs.grow(origin, 3)
            _keep(logs.paths[origin], RULEBOOKS, BOOK)
        _keep(logs.paths[B7], PROFILES, PROFILE)
        damaged = editions_folder(logs.paths[B7], RULEBOOKS) / f"{'0' * 64}.toml"
        damaged.write_bytes(BOOK)
        site.worker()
        wanted = {_digest(BOOK): ("rulebook", BOOK), _digest(PROFILE): ("profile", PROFILE)}
        async with feeding(logs, [hub.settings(B7), hub.settings(B8)]) as feeds:
            await site.until(lambda: _archived(site) == wanted, "both are archived")
            # A rulebook that the table is given while its uplink runs.
            _keep(logs.paths[B8], RULEBOOKS, SECOND)
            wanted[_digest(SECOND)] = ("rulebook", SECOND)
            await site.until(lambda: _archived(site) == wanted, "the later one is archived")
            said = {
                edition_subject(*OWN, "rulebook", _digest(BOOK)),
                edition_subject(*OWN, "profile", _digest(PROFILE)),
                edition_subject("harbour", "b8", "rulebook", _digest(BOOK)),
                edition_subject("harbour", "b8", "rulebook", _digest(SECOND)),
            }
            assert await _on_hub(hub) == said
            # The streams are gone, and no connection breaks.
            await made_streams(hub, anew=True)
            await _until_on_hub(hub, said)
            # The node and all that it had are gone.
            hub.kill(0)
            await site.until(lambda: not feeds[B7].state.up, "the line is lost")
            hub.wipe(0)
            hub.start(0)
            await made_streams(hub)
            await _until_on_hub(hub, said)
            for origin in (B7, B8):
                await until_held(hub, origin, logs.paths[origin])
        assert _archived(site) == wanted


async def _say(client: Client, kind: str, digest: str, data: bytes) -> None:
    answer = await client.request(edition_subject(*OWN, kind, digest), data, timeout=30)
    assert b'"seq"' in answer.data


async def test_what_is_no_edition_of_that_hash_is_refused_and_hides_no_other_tables(
    site: ArchiveSite, hub: Hub, tmp_path: Path
) -> None:
    site.worker()
    async with signed_in(hub, B7) as thief:
        junk = b"\xff no rulebook"
        await _say(thief, "rulebook", _digest(BOOK), SECOND)  # forged, under another's hash
        await _say(thief, "rulebook", _digest(junk), junk)
        await _say(thief, "profile", _digest(SECOND), SECOND)  # a rulebook, and no profile
        await _say(thief, "rulebook", "F" * 64, BOOK)
        deep = b"a" + b".a" * 30_000 + b" = 1\n"
        await _say(thief, "rulebook", _digest(deep), deep)
        await _say(thief, "rulebook", _digest(SECOND), SECOND)  # in order, and the last
    await site.until(lambda: _archived(site) == {_digest(SECOND): ("rulebook", SECOND)}, "taken")
    assert site.said().count("edition_refused") == 5
    with TableLogs(tmp_path, [B7, B8]) as logs:
        for origin in (B7, B8):
            logs.grow(origin, 1)
        _keep(logs.paths[B8], RULEBOOKS, BOOK)
        _keep(logs.paths[B7], PROFILES, PROFILE)
        async with feeding(logs, [hub.settings(B7), hub.settings(B8)]):
            wanted = {_digest(SECOND), _digest(BOOK), _digest(PROFILE)}
            await site.until(lambda: set(_archived(site)) == wanted, "true ones are archived")
            # What the thief has left in the table's name goes when the table is filled in anew.
            await until_held(hub, B7, logs.paths[B7])
            async with keeper(hub) as js:
                assert await purge_table(js, B7)
            await _until_on_hub(
                hub,
                {
                    edition_subject(*OWN, "profile", _digest(PROFILE)),
                    edition_subject("harbour", "b8", "rulebook", _digest(BOOK)),
                },
            )


async def test_a_hub_of_an_earlier_build_is_told_of_once_and_carries_events_as_before(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_client, "_ANSWER_S", 1.0)
    monkeypatch.setattr(service, "_EDITIONS_S", 0.1)
    with running_hub(tmp_path / "hub", [B7], nodes=1) as hub, capture_logs() as said:
        _as_before(hub)
        await made_streams(hub)
        async with keeper(hub) as js:
            await js.delete_stream(EDITIONS)
            assert {each.config.name for each in await js.streams_info()} > {EVENTS}
        async with ArchiveSite(hub, postgres.database(), tmp_path) as site:
            site.worker()
            with TableLogs(tmp_path, [B7]) as logs:
                _keep(logs.paths[B7], RULEBOOKS, BOOK)
                logs.grow(B7, 3)
                async with feeding(logs, [hub.settings(B7)]) as feeds:
                    await site.until(lambda: _refused(hub, _SAID) > 3, "it was tried again")
                    logs.grow(B7, 3)
                    await until_held(hub, B7, logs.paths[B7])
                    await site.until(lambda: site.count() == 6, "the events are archived")
                    assert feeds[B7].state.up
            await site.until(lambda: _refused(hub, _ASKED) > 1, "it was asked again")
            assert site.said().count("editions_unheard") == 1
            assert _archived(site) == {}
    assert len(_told(said, "editions_unpublished")) == 1
    assert _told(said, "feed_down") == _told(said, "feed_untold") == []


def _as_before(hub: Hub) -> None:
    """The accounts as they were written before there were editions on the hub."""
    path = hub.folder / "hub1/accounts.conf"
    text = path.read_text("utf-8")
    for each in (
        r"\n[^\n]*service:[^\n]*(\.edition\.|EDITIONS)[^\n]*",
        r', "[^"]*(\.edition\.|EDITIONS)[^"]*"',
    ):
        text, times = re.subn(each, "", text)
        assert times
    assert "edition" not in text.lower()
    hub.stop(0)
    path.write_text(text, "utf-8")
    hub.start(0)


def _refused(hub: Hub, subject: str) -> int:
    text = (hub.folder / "hub1/log").read_text("utf-8")
    return len(re.findall(f"Publish Violation.*{re.escape(subject)}", text))


def _told(said: list[Any], event: str) -> list[Any]:
    return [each for each in said if each["event"] == event]
