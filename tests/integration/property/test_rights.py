"""A table's credential tried on every other subject, judged by what the hub sees and holds."""

import asyncio
import gc
import re
from pathlib import Path
from typing import Final

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from events.errors import BusError
from property.hub.connection import HubSettings, connect
from property.hub.server_conf import inbox_of
from property.hub.subjects import (
    CHECKPOINTS,
    COSIGNED,
    EDITIONS,
    EVENTS,
    FEEDS,
    checkpoint_subject,
    cosigned_subject,
    edition_subject,
    event_subject,
    feed_subject,
    held_checkpoint_subject,
    held_event_subject,
    stored_subject,
)
from tests.support.machine.waiting import until
from tests.support.property.feeds import (
    TableLogs,
    fed,
    held_rows,
    hub_state,
    log_rows,
    watching,
)
from tests.support.property.nats_hub import (
    HUB_ERRORS,
    Hub,
    Leaf,
    made_streams,
    running_hub,
    signed_in,
)

pytestmark = pytest.mark.timeout(120)

B7, B8 = "harbour/b7", "harbour/b8"
OWN, OTHER = ("harbour", "b7"), ("harbour", "b8")
SAID = event_subject(*OWN)
EDITION = ("rulebook", "0" * 64)

FOREIGN: Final = (
    event_subject(*OTHER),
    checkpoint_subject(*OTHER),
    feed_subject(*OTHER),
    edition_subject(*OTHER, *EDITION),
    edition_subject(*OWN, *EDITION) + ".more",
    held_event_subject(*OTHER),
    held_checkpoint_subject(*OTHER),
    cosigned_subject(*OWN),
    cosigned_subject(*OTHER),
    stored_subject(*OWN),
    stored_subject(*OTHER),
    "property.v1.harbour.event",
    "property.v1.new.table.event",
    "property.v1.harbour.b7.event.more",
    "bac.v1.harbour.b7.request.dealer.close_betting",
    "bac.v1.harbour.b8.event",
    inbox_of(B8) + ".x",
    inbox_of("archive") + ".x",
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.CREATE.EVIL",
    *(
        f"$JS.API.{what}.{stream}"
        for stream in (EVENTS, CHECKPOINTS, COSIGNED, FEEDS, EDITIONS)
        for what in (
            "STREAM.INFO",
            "STREAM.UPDATE",
            "STREAM.PURGE",
            "STREAM.DELETE",
            "STREAM.MSG.GET",
            "STREAM.MSG.DELETE",
            "STREAM.SNAPSHOT",
            "STREAM.RESTORE",
            "STREAM.LEADER.STEPDOWN",
            "STREAM.PEER.REMOVE",
            "CONSUMER.CREATE",
            "CONSUMER.NAMES",
            "DIRECT.GET",
        )
    ),
    f"$JS.API.CONSUMER.CREATE.{EVENTS}.spy",
    f"$JS.API.CONSUMER.DURABLE.CREATE.{EVENTS}.spy",
    f"$JS.API.CONSUMER.MSG.NEXT.{EVENTS}.archive-2",
    f"$JS.API.CONSUMER.DELETE.{EVENTS}.archive-2",
    f"$JS.API.DIRECT.GET.{EVENTS}.{stored_subject(*OTHER)}",
    f"$JS.API.DIRECT.GET.{EVENTS}.{stored_subject(*OWN)}",
    f"$JS.API.DIRECT.GET.{CHECKPOINTS}.{checkpoint_subject(*OTHER)}",
    f"$JS.API.DIRECT.GET.{FEEDS}.{feed_subject(*OWN)}",
    f"$JS.API.DIRECT.GET.{EDITIONS}.{edition_subject(*OWN, *EDITION)}",
    f"$JS.ACK.{EVENTS}.archive-2.1.1.1.1.0",
    "$JS.API.META.LEADER.STEPDOWN",
    "$JS.API.ACCOUNT.PURGE.PROPERTY",
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.ACCOUNT.PROPERTY.CONNZ",
    "$SYS.REQ.SERVER.RELOAD",
)
# A publisher names the subject to be answered at, and the server answers with its own rights.
REPLIES: Final = (
    event_subject(*OTHER),
    checkpoint_subject(*OTHER),
    feed_subject(*OTHER),
    edition_subject(*OTHER, *EDITION),
    cosigned_subject(*OTHER),
    stored_subject(*OTHER),
    f"$JS.API.STREAM.PURGE.{EVENTS}",
    f"$JS.API.STREAM.DELETE.{EVENTS}",
)
_OWN: Final = (
    SAID,
    checkpoint_subject(*OWN),
    feed_subject(*OWN),
    edition_subject(*OWN, *EDITION),
)
LISTENED: Final = (
    ">",
    "property.>",
    event_subject(*OTHER),
    event_subject(*OWN),
    stored_subject(*OTHER),
    "_INBOX.>",
    inbox_of(B8) + ".>",
    "$JS.>",
    "$SYS.>",
)


@pytest.fixture
def hub(fresh_hub: Hub) -> Hub:
    """One for all of this file: nothing here ends a node for longer than a restart."""
    return fresh_hub


async def _tried(client: Client) -> list[str]:
    """Try everything; returns what was answered."""

    async def asked(subject: str) -> bool:
        try:
            await client.request(subject, b"", timeout=0.5)
        except (NatsError, TimeoutError):
            return False
        return True

    for subject in FOREIGN:
        for body in (b"", b"{}", b'{"seq":1}'):
            await client.publish(subject, body)
    told = await asyncio.gather(*map(asked, FOREIGN))
    for reply in REPLIES:
        for subject in _OWN:
            headers = {"Nats-Expected-Last-Subject-Sequence": "999999"}
            await client.publish(subject, b"junk", reply=reply, headers=headers)
        for subject in (held_event_subject(*OWN), held_checkpoint_subject(*OWN)):
            await client.publish(subject, b"", reply=reply)
    await client.flush()
    return [subject for subject, answered in zip(FOREIGN, told, strict=True) if answered]


async def _through(hub: Hub, client: Client) -> None:
    """What must hold after everything was tried with that client."""
    before = await hub_state(hub)
    async with watching(hub) as seen:
        heard: list[Msg] = []

        async def note(message: Msg) -> None:
            heard.append(message)

        for subject in LISTENED:
            await client.subscribe(subject, cb=note)
        answered = await _tried(client)
        # The last that is said, by the other table: what was said before it has arrived.
        async with signed_in(hub, B8) as other:
            marker = await other.request(checkpoint_subject(*OTHER), b"marker", timeout=30)
            assert b'"seq"' in marker.data
        await until(lambda: any(each.data == b"marker" for each in seen), "the marker is seen")
        await client.request(held_event_subject(*OWN), b"", timeout=30)
    assert answered == []
    allowed = set(_OWN)
    asked = {
        f"$JS.API.DIRECT.GET.{EVENTS}.{stored_subject(*OWN)}",
        f"$JS.API.DIRECT.GET.{CHECKPOINTS}.{checkpoint_subject(*OWN)}",
    }
    strange = {
        each.subject
        for each in seen
        if each.data != b"marker" and not each.subject.startswith(("_INBOX.", "_R_.", "$JS.ACK."))
    }
    assert strange <= allowed | asked
    # ... and the judge sees what there is to see.
    assert strange >= allowed
    after = await hub_state(hub)
    assert after.pop(CHECKPOINTS)[0] == before.pop(CHECKPOINTS)[0] + 1
    assert after == before
    assert [each.subject for each in heard if each.data == b"marker"] == []


@pytest.mark.parametrize("leaf_without_rules", [False, True])
async def test_a_tables_login_reaches_no_other_subject_nor_by_a_leaf_without_its_rules(
    hub: Hub, tmp_path: Path, *, leaf_without_rules: bool
) -> None:
    with TableLogs(tmp_path, [B7, B8]) as logs:
        for origin in (B7, B8):
            logs.grow(origin, 5)
        await fed(hub, logs, B7, B8)
        client = await (
            _at_leaf(hub.leaf([B7], edit=_without_rules))
            if leaf_without_rules
            else connect(hub.settings(B7), 0)
        )
        await _through(hub, client)
        await client.close()
        assert await held_rows(hub, B8) == log_rows(logs.paths[B8])


async def test_why_each_table_has_an_account(tmp_path: Path) -> None:
    """In one account for all, with a list for each login, a reply writes in another's name."""
    with running_hub(tmp_path, [B7, B8], nodes=1) as hub:
        path = tmp_path / "hub1/accounts.conf"
        text = path.read_text("utf-8")
        hub.stop(0)
        path.write_text(_in_one_account(text), "utf-8")
        hub.start(0)
        await made_streams(hub)
        async with signed_in(hub, B7) as client:
            with pytest.raises((NatsError, TimeoutError)):
                await client.request(event_subject(*OTHER), b"junk", timeout=0.3)
            assert await held_rows(hub, B8) == []
            await client.publish(SAID, b"junk", reply=event_subject(*OTHER))
            await client.flush()
            found = await until(lambda: held_rows(hub, B8), "it is in the other's name", every=0.01)
        assert [b'"stream":"EVENTS"' in stored for _, stored, _ in found] == [True]


def _in_one_account(text: str) -> str:
    (user,) = re.findall(r'\{ user: "harbour\.b7".*\} \}$', text, re.MULTILINE)
    edited, times = re.subn(r'\n  "harbour/b7" \{.*?\n  \}(?=\n)', "", text, flags=re.DOTALL)
    assert times == 1
    return edited.replace(
        "jetstream: enabled\n    users: [", f"jetstream: enabled\n    users: [{user}", 1
    )


def _without_rules(text: str) -> str:
    edited = re.sub(r", permissions: \{ publish.*? \} \} \}", " }", text)
    assert edited != text
    return edited


async def _at_leaf(leaf: Leaf) -> Client:
    """A client at the leaf, once that has come through to the hub."""

    async def through() -> Client:
        client = await connect(leaf.settings(B7), 0)
        try:
            await client.request(held_event_subject(*OWN), b"", timeout=1)
        except HUB_ERRORS:
            await client.close()
            raise
        return client

    return await until(through, "the leaf comes through", every=0.05, despite=HUB_ERRORS)


async def test_without_its_password_or_a_certificate_nobody_comes_in(hub: Hub) -> None:
    good = hub.settings(B7)
    for bad in (
        _changed(good, password=hub.passwords[B8]),
        _changed(good, password=""),
        _changed(good, who="harbour/b9"),
    ):
        with pytest.raises(BusError, match=r"(?i)authorization"):
            await connect(bad, 0)
    with pytest.raises(BusError):
        await connect(_changed(good, certificate=False), 0)


async def test_an_attempt_that_failed_leaves_no_socket_open(hub: Hub) -> None:
    good = hub.settings(B7)
    for bad in (_changed(good, password=""), _changed(good, certificate=False)):
        gc.collect()
        gc.disable()  # it would close what was forgotten
        try:
            before = _sockets()
            with pytest.raises(BusError):
                await connect(bad, 0)
            assert _sockets() == before
        finally:
            gc.enable()


def _sockets() -> int:
    links = (str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return sum(link.startswith("socket:") for link in links)


def _changed(
    settings: HubSettings, *, password: str | None = None, who: str = B7, certificate: bool = True
) -> HubSettings:
    return HubSettings(
        servers=settings.servers,
        who=who,
        password=settings.password if password is None else password,
        ca=settings.ca,
        cert=settings.cert if certificate else None,
        key=settings.key if certificate else None,
    )
