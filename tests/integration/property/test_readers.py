"""The logins of the property's own services, tried on whatever JetStream can be asked."""

import json
from collections.abc import Iterator
from typing import Final

import pytest
from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig

from property.archive.stream_reader import StreamReader
from property.hub.connection import connect
from property.hub.server_conf import KEEPER, ROLES
from property.hub.subjects import (
    API,
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
    held_event_subject,
    stored_subject,
)
from tests.support.property.feeds import hub_state, keeper, watching
from tests.support.property.nats_hub import Hub, made_streams

pytestmark = pytest.mark.timeout(120)

B7, B8 = "harbour/b7", "harbour/b8"
OWN, OTHER = ("harbour", "b7"), ("harbour", "b8")
SAID = event_subject(*OWN)
EDITION = ("rulebook", "0" * 64)
STREAMS = (EVENTS, CHECKPOINTS, COSIGNED, FEEDS, EDITIONS)
# The server answers there with its own rights, whoever had asked.
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
            client = await connect(fresh_hub.settings(who), 0)
            for reply in replies:
                for subject, body in _questions():
                    await client.publish(subject, body, reply=reply)
            await client.flush()
            await client.close()
            # What had begun to answer has ended: a question behind it, of each kind.
            await js.stream_info(EVENTS)
            other = await connect(fresh_hub.settings(B8), 0)
            await other.request(held_event_subject(*OTHER), b"", timeout=30)
            await other.close()
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
    client = await connect(fresh_hub.settings(who), 0)
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
    await client.close()
    assert await hub_state(fresh_hub) == before


async def test_what_junk_says_of_its_place_is_not_believed(fresh_hub: Hub) -> None:
    """A table's login may store anything under its own subject: headers of the server's as well."""
    await made_streams(fresh_hub, anew=True)
    table = await connect(fresh_hub.settings(B7), 0)
    lies = {
        "Nats-Subject": stored_subject(*OTHER),
        "Nats-Sequence": "999",
        "Nats-Last-Sequence": "998",
        "Nats-Num-Pending": "0",
        "Status": "204",
    }
    for headers in (lies, None, lies):
        await table.request(SAID, b"junk", headers=headers, timeout=30)
    await table.close()
    client = await connect(fresh_hub.settings("archive"), 0)
    reader = await StreamReader.table(client, B7)
    assert reader is not None
    async with reader:
        found = await reader.next()
        assert [(each.subject, each.sequence) for each in found] == [
            (stored_subject(*OWN), number) for number in (1, 2, 3)
        ]
    await client.close()
