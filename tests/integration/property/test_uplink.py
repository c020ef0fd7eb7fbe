"""Uplinks on a real hub of three nodes: what it holds is the logs, whatever else is tried on it."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs
from nats.js import JetStreamContext

from baccarat.site.pki import Pki
from events.clock import SystemClock
from events.proof.checkpoint import parse_checkpoint
from events.proof.note import SigningKey
from property.hub.connection import purge_table
from property.hub.replicated_event import (
    HASH,
    MESSAGE_ID,
    POSITION,
    HeadRelation,
    ReplicatedEvent,
    relation_to_head,
    replication_headers,
)
from property.hub.subjects import (
    CHECKPOINTS,
    FEEDS,
    checkpoint_subject,
    event_subject,
    feed_subject,
    split_origin,
)
from property.hub.uplink_status import UplinkStatus, parse_uplink_status
from property.uplink.replication import EXPECTED_SEQUENCE, PublishRefused, parse_publish_answer
from property.uplink.service import UplinkLog, feeds_of, run_uplink
from table_core.rulebooks.shipped import load_rulebook
from tests.support.log.closed_books import SITE_T1, chain
from tests.support.log.logs import pending
from tests.support.machine.tasks import serving
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.property.feeds import (
    TableLogs,
    fed,
    feeding,
    held_rows,
    keeper,
    log_rows,
    until_held,
    until_stopped,
)
from tests.support.property.nats_hub import HUB_ERRORS, Hub, signed_in

pytestmark = pytest.mark.timeout(180)

B7, B8 = "harbour/b7", "harbour/b8"
SAID_B7 = event_subject("harbour", "b7")


@pytest.fixture
def hub(fresh_hub: Hub) -> Hub:
    """One for all of this file: nothing here ends a node for longer than a restart."""
    return fresh_hub


async def test_the_hub_holds_each_log_byte_for_byte(hub: Hub, tmp_path: Path) -> None:
    # Every table's events have the same ids: they come of the same causes.
    with TableLogs(tmp_path, [B7, B8]) as logs:
        logs.grow(B7, 1203)
        async with feeding(logs, [hub.settings(B7), hub.settings(B8)]):
            await until_held(hub, B7, logs.paths[B7])
            for count in (1, 2, 700, 1):
                logs.grow(B7, count)
                logs.grow(B8, count)
            for origin in (B7, B8):
                await until_held(hub, origin, logs.paths[origin])
        # Another process goes on from where the hub is, and says nothing twice.
        logs.grow(B7, 3)
        async with feeding(logs, [hub.settings(B7)]) as feeds:
            await until_held(hub, B7, logs.paths[B7])
            assert feeds[B7].state.refilled == 0


async def test_large_events_go_over_in_batches_of_their_own(hub: Hub, tmp_path: Path) -> None:
    with TableLogs(tmp_path, [B7]) as logs:
        logs.grow(B7, 40, text="♠" * 100_000)
        await fed(hub, logs, B7)


async def test_a_log_that_goes_on_in_new_files_is_one_log(hub: Hub, tmp_path: Path) -> None:
    made = chain(tmp_path, load_rulebook("au-commission"), seed=3)
    assert made.files
    table = UplinkLog(path=made.path, hub=hub.settings(SITE_T1))
    async with serving(partial(run_uplink, feeds_of([table], SystemClock()))):
        await until_held(hub, SITE_T1, made.path)
    assert await held_rows(hub, SITE_T1) == list(made.rows)


async def test_checkpoints_follow_the_events_that_they_cover(hub: Hub, tmp_path: Path) -> None:
    key = SigningKey("harbour/b7", bytes(32))
    with TableLogs(tmp_path, [B7]) as logs:
        logs.grow(B7, 5)
        logs.sign(B7, key)
        async with feeding(logs, [hub.settings(B7)]):
            await until_held(hub, B7, logs.paths[B7])
            logs.grow(B7, 2)
            newest = logs.sign(B7, key)
            async with keeper(hub) as js:
                subject = checkpoint_subject("harbour", "b7")
                await _until_said(js, CHECKPOINTS, subject, lambda said: said == newest)
            assert parse_checkpoint(newest)[0].size == 7


async def test_a_hub_that_lost_a_table_is_filled_again_though_no_connection_broke(
    hub: Hub, tmp_path: Path
) -> None:
    with TableLogs(tmp_path, [B7]) as logs:
        logs.grow(B7, 600)
        async with feeding(logs, [hub.settings(B7)]) as feeds:
            await until_held(hub, B7, logs.paths[B7])
            async with keeper(hub) as js:
                await purge_table(js, B7)
            # Nothing is committed: the uplink notices by asking.
            await until_held(hub, B7, logs.paths[B7])
            assert feeds[B7].state.refilled == 1


async def _until_said(
    js: JetStreamContext, stream: str, subject: str, wanted: Callable[[bytes], bool]
) -> bytes:
    """The newest message of a subject, once it is the one that is wanted."""

    async def said() -> bytes | None:
        found = (await js.get_last_msg(stream, subject)).data or b""
        return found if wanted(found) else None

    # There may be none yet, or the stream has no leader for a moment.
    return await until(said, f"{subject} says what is wanted", every=0.01, despite=HUB_ERRORS)


async def _told(hub: Hub, origin: str, state: str) -> UplinkStatus:
    """What the hub has of a table's uplink, once it is that."""
    subject = feed_subject(*split_origin(origin))
    async with keeper(hub) as js:
        return parse_uplink_status(
            await _until_said(
                js, FEEDS, subject, lambda said: parse_uplink_status(said).state == state
            )
        )


async def test_how_a_feed_stands_is_told_on_the_hub(hub: Hub, tmp_path: Path) -> None:
    with TableLogs(tmp_path, [B8]) as logs:
        logs.grow(B8, 4)
        async with feeding(logs, [hub.settings(B8)]):
            await until_held(hub, B8, logs.paths[B8])
            await _told(hub, B8, "running")
        assert await _told(hub, B8, "ended") == UplinkStatus(state="ended", position=4)


async def test_a_log_brought_back_from_an_old_copy_stops_its_feed_alone(
    hub: Hub, tmp_path: Path
) -> None:
    with TableLogs(tmp_path, [B7, B8]) as logs:
        logs.grow(B7, 10)
        async with feeding(logs, [hub.settings(B7), hub.settings(B8)]):
            await until_held(hub, B7, logs.paths[B7])
        logs.reopen(B7, lambda path: shutil.copyfile(path, path.with_suffix(".old")))
        logs.grow(B7, 10)
        await fed(hub, logs, B7)
        logs.reopen(B7, lambda path: path.with_suffix(".old").replace(path))
        before = await held_rows(hub, B7)
        async with feeding(logs, [hub.settings(B7), hub.settings(B8)]) as feeds:
            stopped = await until_stopped(feeds[B7])
            assert (stopped.code, stopped.position) == ("fork", 20)
            told = await _told(hub, B7, "stopped")
            assert (told.code, told.position, told.reason) == stopped
            logs.grow(B8, 3)
            await until_held(hub, B8, logs.paths[B8])
        assert await held_rows(hub, B7) == before
        assert await _told(hub, B7, "stopped") == told  # who ends it has not looked


async def test_another_past_stops_its_feed(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with TableLogs(tmp_path, [B7]) as logs, TableLogs(tmp_path / "other", [B7]) as others:
        logs.grow(B7, 10)
        others.grow(B7, 4)
        others.grow(B7, 20)
        await fed(hub, logs, B7)
        async with feeding(others, [hub.settings(B7)]) as feeds:
            stopped = await until_stopped(feeds[B7])
            assert (stopped.code, stopped.position) == ("fork", 10)
        assert await held_rows(hub, B7) == log_rows(logs.paths[B7])


async def test_a_log_whose_chain_breaks_stops_its_feed_before_the_break(
    hub: Hub, tmp_path: Path
) -> None:
    with TableLogs(tmp_path, [B7, B8]) as logs:
        logs.grow(B7, 10)
        logs.reopen(B7, lambda path: _damage(path, position=7), again=False)
        logs.grow(B8, 3)
        async with feeding(logs, [hub.settings(B7), hub.settings(B8)]) as feeds:
            stopped = await until_stopped(feeds[B7])
            assert (stopped.code, stopped.position) == ("gap", 7)
            assert (await _told(hub, B7, "stopped")).code == "gap"
            await until_held(hub, B8, logs.paths[B8])


def _damage(path: Path, position: int) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER event_never_changes")
        db.execute("UPDATE event SET bytes = ? WHERE position = ?", (b"{}", position))
        db.commit()


async def test_a_forged_event_stops_the_feed_and_is_named_behind_the_hub(
    hub: Hub, tmp_path: Path
) -> None:
    with TableLogs(tmp_path, [B7, B8]) as logs:
        logs.grow(B7, 10)
        async with feeding(logs, [hub.settings(B7), hub.settings(B8)]) as feeds:
            await until_held(hub, B7, logs.paths[B7])
            # Whoever has the table's login can say what he likes in its name, and no more.
            stored = pending(11, cause="theft/1", stream=B7).stored
            forged = ReplicatedEvent(B7, 11, stored, bytes(32))
            async with signed_in(hub, B7) as thief:
                answer = await thief.request(
                    SAID_B7, stored, headers=replication_headers(forged), timeout=PATIENCE_SECONDS
                )
            assert not isinstance(parse_publish_answer(answer.data), PublishRefused)
            logs.grow(B7, 1)
            stopped = await until_stopped(feeds[B7])
            assert (stopped.code, stopped.position) == ("fork", 11)
            logs.grow(B8, 3)
            await until_held(hub, B8, logs.paths[B8])
        *honest, last = (ReplicatedEvent(B7, *row) for row in await held_rows(hub, B7))
        assert last == forged
        assert relation_to_head(honest[-1].head, last) is HeadRelation.FORGED
        # Once it has been looked at, the feed is cleared and filled anew.
        async with keeper(hub) as js:
            await purge_table(js, B7)
        await fed(hub, logs, B7)


async def test_junk_in_a_tables_name_stops_its_feed(hub: Hub, tmp_path: Path) -> None:
    with TableLogs(tmp_path, [B7]) as logs:
        logs.grow(B7, 2)
        async with signed_in(hub, B7) as thief:
            await thief.request(
                SAID_B7, b"\xff\x00 junk", headers={POSITION: "0", HASH: "f"}, timeout=5
            )
        async with feeding(logs, [hub.settings(B7)]) as feeds:
            stopped = await until_stopped(feeds[B7])
            assert stopped.code == "forged"


async def test_replayed_and_reordered_events_are_refused_by_what_they_expect(
    hub: Hub, tmp_path: Path
) -> None:
    with TableLogs(tmp_path, [B7]) as logs:
        logs.grow(B7, 10)
        await fed(hub, logs, B7)
        rows = [ReplicatedEvent(B7, *row) for row in log_rows(logs.paths[B7])]
        async with signed_in(hub, B7, node=1) as thief:
            for number in (9, 3, 0, 5):
                headers = replication_headers(rows[number]) | {EXPECTED_SEQUENCE: str(number)}
                del headers[MESSAGE_ID]
                answer = await thief.request(
                    SAID_B7, rows[number].stored, headers=headers, timeout=PATIENCE_SECONDS
                )
                refused = parse_publish_answer(answer.data)
                assert isinstance(refused, PublishRefused)
                assert "wrong last sequence" in refused.text
            # Without saying what it expects, it is stored; whoever reads it tells it from the next.
            headers = replication_headers(rows[4])
            del headers[MESSAGE_ID]
            await thief.request(SAID_B7, rows[4].stored, headers=headers, timeout=PATIENCE_SECONDS)
        *_, last = (ReplicatedEvent(B7, *row) for row in await held_rows(hub, B7))
        assert relation_to_head(rows[-1].head, last) is HeadRelation.DUPLICATE


async def test_an_id_that_another_table_has_used_up_holds_nothing_back(
    hub: Hub, tmp_path: Path
) -> None:
    with TableLogs(tmp_path, [B7, B8]) as logs:
        logs.grow(B7, 1)
        logs.grow(B7, 3)
        # The ids of the next events can be guessed; message ids are the whole stream's.
        rows = [ReplicatedEvent(B7, *row) for row in log_rows(logs.paths[B7])]
        async with signed_in(hub, B8) as thief:
            for row in rows:
                headers = {MESSAGE_ID: replication_headers(row)[MESSAGE_ID]}
                said = event_subject("harbour", "b8")
                answer = await thief.request(
                    said, b"junk", headers=headers, timeout=PATIENCE_SECONDS
                )
                assert not isinstance(parse_publish_answer(answer.data), PublishRefused)
        await fed(hub, logs, B7)


async def test_a_renewed_certificate_beside_the_old_key_does_not_end_a_feed(
    hub: Hub, tmp_path: Path
) -> None:
    pki = tmp_path / "pki"
    shutil.copytree(hub.folder / "pki", pki)
    settings = structs.replace(
        hub.settings(B7, 0), cert=pki / "client.pem", key=tmp_path / "credential"
    )
    shutil.copy(pki / "client.key", tmp_path / "credential")
    with TableLogs(tmp_path, [B7]) as logs:
        async with feeding(logs, [settings]) as feeds:
            await until(lambda: feeds[B7].state.up, "it is connected")
            Pki(pki, datetime.now(UTC)).renew("client")
            hub.stop(0)
            await until(lambda: not feeds[B7].state.up, "the line is lost")
            hub.start(0)
            logs.grow(B7, 2)
            await until(lambda: feeds[B7].state.up, "it is connected again")
            await until_held(hub, B7, logs.paths[B7])
