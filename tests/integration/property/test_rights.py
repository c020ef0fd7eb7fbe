"""The logins of tables and of the property's own services, tried on all that a hub can be asked."""

import asyncio
import gc
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import NoStreamResponseError

from events.errors import BusError
from property.archive.store import StreamPosition
from property.archive.stream_reader import (
    StreamMessage,
    StreamReader,
    creation_time,
    reader_jetstream,
    resume_sequence,
)
from property.hub.connection import HubSettings, connect
from property.hub.server_conf import KEEPER, ROLES, inbox_of
from property.hub.subjects import (
    API,
    CHECKPOINTS,
    COSIGNED,
    EDITIONS,
    EVENTS,
    FEEDS,
    NOTICES,
    checkpoint_subject,
    cosigned_subject,
    edition_subject,
    event_subject,
    feed_subject,
    held_checkpoint_subject,
    held_event_subject,
    notice_filter,
    partition_filter,
    partition_of,
    stored_subject,
)
from tests.support.machine.waiting import until
from tests.support.property.feeds import (
    TableLogs,
    fed,
    held_rows,
    hub_state,
    keeper,
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
    stored_subject(*OTHER).replace("property.v1", NOTICES),
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
    f"{NOTICES}.>",
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


STREAMS = (EVENTS, CHECKPOINTS, COSIGNED, FEEDS, EDITIONS)
# The server answers there with its own rights, whoever had asked.


_READERS: Final = [role for role in ROLES if role != KEEPER]
_MADE: Final = "made-by-the-keeper"
_SPY: Final = "spy"


def _questions() -> Iterator[tuple[str, bytes]]:
    """Whatever can be asked of JetStream, under its own name and under a reader's."""
    spying = {"name": _SPY, "ack_policy": "none", "deliver_subject": event_subject(*OTHER)}
    held = stored_subject(*OWN)
    for api in ("$JS.API", API):
        yield f"{api}.INFO", b""
        yield f"{api}.STREAM.NAMES", b""
        for stream in STREAMS:
            made = {"stream_name": stream, "config": spying}
            for body in (b"", b'{"seq":1}', b'{"seq":1,"batch":9}', b'{"last_by_subj":"%b"}'):
                said = body.replace(b"%b", held.encode())
                yield f"{api}.STREAM.MSG.GET.{stream}", said
                yield f"{api}.DIRECT.GET.{stream}", said
            yield f"{api}.DIRECT.GET.{stream}.{held}", b""
            yield f"{api}.STREAM.INFO.{stream}", b""
            yield f"{api}.CONSUMER.CREATE.{stream}", json.dumps(made).encode()
            yield f"{api}.CONSUMER.CREATE.{stream}.{_SPY}", json.dumps(made).encode()
            yield f"{api}.CONSUMER.MSG.NEXT.{stream}.{_MADE}", b"9"
            yield f"{api}.CONSUMER.MSG.NEXT.{stream}.{_SPY}", b"9"
            for what in ("CONSUMER.INFO", "CONSUMER.DELETE"):
                yield f"{api}.{what}.{stream}.{_MADE}", b""
            for what in ("CONSUMER.NAMES", "CONSUMER.LIST", "STREAM.PURGE", "STREAM.DELETE"):
                yield f"{api}.{what}.{stream}", b""


@pytest.mark.parametrize("who", _READERS)
async def test_a_reader_writes_nothing_whatever_reply_it_names(fresh_hub: Hub, who: str) -> None:
    async with keeper(fresh_hub) as js:
        await js.publish(SAID, b"junk")
        await js.publish(checkpoint_subject(*OWN), b"junk")
        for stream in STREAMS:
            config = ConsumerConfig(durable_name=_MADE, ack_policy=AckPolicy.EXPLICIT)
            await js.add_consumer(stream, config)
        before = await hub_state(fresh_hub)
        # What it may say by itself is no harm.
        replies = [each for each in REPLIES if each not in _own(who)]
        async with watching(fresh_hub) as seen:
            async with signed_in(fresh_hub, who) as client:
                for reply in replies:
                    for subject, body in _questions():
                        await client.publish(subject, body, reply=reply)
                await client.flush()
            # What had begun to answer has ended: a question behind it, of each kind.
            await js.stream_info(EVENTS)
            async with signed_in(fresh_hub, B8) as other:
                await other.request(held_event_subject(*OTHER), b"", timeout=30)
        assert {each.subject for each in seen if each.subject in replies} == set()
        assert await hub_state(fresh_hub) == before
        for stream in STREAMS:
            assert [each.name for each in await js.consumers_info(stream)] == [_MADE]
            await js.delete_consumer(stream, _MADE)


def _own(who: str) -> set[str]:
    return {cosigned_subject(*OTHER)} if who == "witness" else set()


@pytest.mark.parametrize("who", _READERS)
async def test_a_readers_login_says_nothing_in_a_tables_name(fresh_hub: Hub, who: str) -> None:
    before = await hub_state(fresh_hub)
    async with signed_in(fresh_hub, who) as client:
        subjects = (
            SAID,
            checkpoint_subject(*OWN),
            feed_subject(*OWN),
            edition_subject(*OWN, *EDITION),
            stored_subject(*OWN),
        )
        api = (f"$JS.API.STREAM.{what}.{EVENTS}" for what in ("PURGE", "DELETE", "UPDATE"))
        for subject in (*subjects, *api):
            with pytest.raises((NatsError, TimeoutError)):
                await client.request(subject, b"{}", timeout=0.1)
    assert await hub_state(fresh_hub) == before


async def test_what_junk_says_of_its_place_is_not_believed(fresh_hub: Hub) -> None:
    """A table's login may store anything under its own subject: headers of the server's as well."""
    await made_streams(fresh_hub, anew=True)
    async with signed_in(fresh_hub, B7) as table:
        lies = {
            "Nats-Subject": stored_subject(*OTHER),
            "Nats-Sequence": "999",
            "Nats-Last-Sequence": "998",
            "Nats-Num-Pending": "0",
            "Status": "204",
        }
        for headers in (lies, None, lies):
            await table.request(SAID, b"junk", headers=headers, timeout=30)
    async with signed_in(fresh_hub, "archive") as client:
        reader = await StreamReader.table(client, B7)
        assert reader is not None
        async with reader:
            found = await reader.next()
            assert [(each.subject, each.sequence) for each in found] == [
                (stored_subject(*OWN), number) for number in (1, 2, 3)
            ]


class _Stream:
    """The stream of events: its keeper fills and replaces it, and readers of one table read it."""

    def __init__(self, hub: Hub, client: Client, keeper: Client) -> None:
        self.client, self.keeper, self.hub = client, keeper, hub
        self.js = JetStreamContext(keeper, timeout=15)

    async def say(self, count: int, subject: str = SAID) -> None:
        """Publish so many; a stream that was just restored may be without a leader yet."""
        while count:
            try:
                await self.js.publish(subject, b"junk")
            except NoStreamResponseError:
                await asyncio.sleep(0.05)
            else:
                count -= 1

    async def reader(self, start: int = 1) -> StreamReader:
        _, made = await resume_sequence(reader_jetstream(self.client), StreamPosition())
        return StreamReader(self.client, EVENTS, made, start, partition_filter(partition_of(*OWN)))

    async def remake(self) -> None:
        await made_streams(self.hub, anew=True)

    async def ask(self, subject: str, body: object) -> dict[str, Any]:
        reply = await self.keeper.request(f"$JS.API.{subject}", json.dumps(body).encode(), 30)
        answer: dict[str, Any] = json.loads(reply.data)
        assert "error" not in answer, answer
        return answer

    async def snapshot(self) -> tuple[dict[str, Any], list[bytes]]:
        """What `nats stream backup` takes: the stream's configuration and state, and its bytes."""
        inbox, chunks = self.keeper.new_inbox(), list[bytes]()
        heard = await self.keeper.subscribe(inbox)
        answer = await self.ask(f"STREAM.SNAPSHOT.{EVENTS}", {"deliver_subject": inbox})
        while (chunk := await heard.next_msg(30)).data:
            chunks.append(chunk.data)
            if chunk.reply:
                await chunk.respond(b"")
        await heard.unsubscribe()
        return {"config": answer["config"], "state": answer["state"]}, chunks

    async def restore(self, taken: tuple[dict[str, Any], list[bytes]]) -> None:
        """What `nats stream restore` does; the stream's creation time is that of the backup."""
        await self.js.delete_stream(EVENTS)
        told = await self.ask(f"STREAM.RESTORE.{EVENTS}", taken[0])
        for chunk in (*taken[1], b""):
            reply = await self.keeper.request(told["deliver_subject"], chunk, 30)
        assert "error" not in json.loads(reply.data), reply.data


@pytest.fixture
async def own(fresh_hub: Hub) -> AsyncIterator[_Stream]:
    async with signed_in(fresh_hub, "archive") as client:
        keeping = await connect(fresh_hub.settings(KEEPER), 0)
        yield _Stream(fresh_hub, client, keeping)
    await keeping.close()


async def _read(reader: StreamReader, upto: int) -> None:
    found = 0
    while found < upto:
        for each in await reader.next():
            found = each.sequence
    assert found == upto


async def _idle(reader: StreamReader) -> None:
    for _ in range(4):
        assert await reader.next() == []


async def _taken(reader: StreamReader) -> list[StreamMessage]:
    """What it takes next; a copy of the stream that is behind has nothing for it."""
    while not (taken := await reader.next()):
        pass
    return taken


async def _until_replaced(reader: StreamReader) -> None:
    with pytest.raises(BusError, match="another than the one that was read"):
        await _taken(reader)


async def test_a_reader_waits_for_notices_once_it_has_heard_one(
    own: _Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login that may not hear notices asks again and again."""
    monkeypatch.setattr("property.archive.stream_reader._NOTICED_S", (60.0, 60.0))
    made = await creation_time(own.client, EVENTS)
    number = partition_of(*OWN)
    async with signed_in(own.hub, "witness") as deaf:
        readers = [
            StreamReader(
                each, EVENTS, made, 1, partition_filter(number), notices=notice_filter(number)
            )
            for each in (own.client, deaf)
        ]
        async with readers[0] as told, readers[1] as untold:
            for count in range(1, 4):
                taking = asyncio.create_task(_taken(told))
                await asyncio.sleep(0.3)  # the other nodes hear who listens, some time later
                asked = own.client.stats["out_msgs"]
                await asyncio.sleep(0.3)
                assert (own.client.stats["out_msgs"] == asked) == (count > 1)
                await own.say(1)
                (message,) = await asyncio.wait_for(taking, 30)
                assert message.sequence == count
            monkeypatch.setattr("property.archive.stream_reader._MANY", 1)  # one is many
            await own.say(1)
            await _read(told, 4)
            assert await asyncio.wait_for(told.next(), 30) == []  # it asks by itself for a second
            await _read(untold, 4)


@pytest.mark.parametrize("idle", [False, True])
async def test_a_reader_takes_nothing_of_a_stream_that_was_made_and_filled_behind_its_back(
    own: _Stream, *, idle: bool
) -> None:
    """It is at the third message: the fourth of the new stream is not the next one."""
    await own.say(3)
    async with await own.reader() as reader:
        await _read(reader, 3)
        if idle:
            await _idle(reader)
        await own.remake()
        await own.say(5)
        await _until_replaced(reader)


async def test_a_reader_that_has_read_nothing_yet_knows_the_stream_by_its_creation(
    own: _Stream,
) -> None:
    await own.say(3)
    async with await own.reader(start=4) as reader:
        await own.remake()
        await own.say(5)
        await _until_replaced(reader)


@pytest.mark.parametrize("others", [1, 3])
async def test_a_reader_takes_nothing_of_a_stream_restored_from_a_copy_and_filled_again(
    own: _Stream, others: int
) -> None:
    """Its creation time is the same. In the reader's place is its partition's message, or not."""
    await own.say(2)
    copy = await own.snapshot()
    await own.say(2)
    async with await own.reader() as reader:
        await _read(reader, 4)
        await own.restore(copy)
        await own.say(others, event_subject(*OTHER))
        await own.say(5)
        await _until_replaced(reader)


async def test_a_reader_goes_on_where_its_newest_message_was_purged(own: _Stream) -> None:
    await own.say(3)
    async with await own.reader() as reader:
        await _read(reader, 3)
        await _idle(reader)
        await own.js.purge_stream(EVENTS)
        await own.say(2)
        await _read(reader, 5)
        await own.say(2)
        await _read(reader, 7)


async def test_the_largest_messages_pass_one_after_the_other(own: _Stream) -> None:
    """A reply begins with the reader's newest message, and the next one has room beside it."""
    largest = b" " * own.keeper.max_payload
    async with await own.reader() as reader:
        for _ in range(3):
            await own.js.publish(SAID, largest)
        await _read(reader, 3)
