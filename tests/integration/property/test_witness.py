"""The witness on a real hub: what it cosigns, what it refuses by name, and what survives."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError

from events.clock import SystemClock
from events.errors import BusError, InputError, LogRefused
from events.log.store import EventLog
from events.proof.note import SigningKey, parse_note
from property.hub.connection import purge_table
from property.hub.replicated_event import ReplicatedEvent
from property.hub.subjects import COSIGNED, cosigned_subject, split_origin
from property.witness import store as witness_book
from property.witness.cosignature import cosigned_at, witness_key
from property.witness.observed_log import WitnessRefusal
from property.witness.service import WitnessSettings, run_witness
from property.witness.store import RecordedRefusal, WitnessBook, read_book
from tests.support.machine.tasks import serving
from tests.support.machine.waiting import until
from tests.support.property.nats_hub import Hub, made_streams, running_hub, signed_in
from tests.support.property.witnessed import SignedLog

KEY = SigningKey("harbour/witness", bytes(range(32)))
TABLE = SigningKey("harbour/b7", b"7" * 32)
_OFTEN_S = 0.02  # seconds


@pytest.fixture(scope="module")
def hub_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running_hub(tmp_path_factory.mktemp("hub"), nodes=1) as hub:
        asyncio.run(made_streams(hub))
        yield hub


@pytest.fixture
async def keeper(hub_node: Hub) -> AsyncIterator[Client]:
    async with signed_in(hub_node) as client:
        yield client


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "witness.sqlite"


@asynccontextmanager
async def witness(hub: Hub, book: Path, *logs: SignedLog) -> AsyncIterator[None]:
    """A witness that knows these logs' keys, while the block runs."""
    settings = WitnessSettings(key=KEY, given={log.origin: [log.key.verifier] for log in logs})
    with closing(WitnessBook.open(book)) as opened:
        run = partial(run_witness, settings, opened, hub.settings("witness"), SystemClock())
        async with serving(run) as running:
            yield
            assert not running.done()


async def cosigned(client: Client, log: SignedLog) -> tuple[bytes, int] | None:
    """The newest cosigned checkpoint on the hub, and when; None without one."""
    try:
        subject = cosigned_subject(*split_origin(log.origin))
        message = await client.jetstream().get_last_msg(COSIGNED, subject)
    except NatsError:  # nothing there, or no leader yet
        return None
    assert message.data is not None
    at_s = cosigned_at(parse_note(message.data), witness_key(KEY))
    assert at_s is not None
    return message.data, at_s


async def until_cosigned(client: Client, log: SignedLog, note: bytes) -> None:
    async def there() -> bool:
        found = await cosigned(client, log)
        return found is not None and found[0].startswith(note)

    await until(there, f"{log.origin} is cosigned", every=_OFTEN_S)


async def until_refused(
    book: Path, log: SignedLog, code: str, position: int | None = None
) -> RecordedRefusal:
    def there() -> list[RecordedRefusal]:
        return [
            each
            for each in read_book(book)[1]
            if (each.origin, each.code) == (log.origin, code) and position in {None, each.position}
        ]

    return (await until(there, f"{log.origin} is refused: {code}", every=_OFTEN_S))[0]


def log_named(request: pytest.FixtureRequest) -> SignedLog:
    """A log of a name that no other test uses: the hub is shared."""
    name = request.node.name.replace("test_", "")[:40]
    return SignedLog(f"harbour/{name}", SigningKey(f"harbour/{name}", TABLE.seed))


async def test_a_consistent_log_is_cosigned_again_and_again(
    request: pytest.FixtureRequest, hub_node: Hub, keeper: Client, book: Path
) -> None:
    log = log_named(request)
    log.grow(40)
    async with witness(hub_node, book, log):
        await log.sign(keeper)  # ahead of its events: it waits
        await log.say(keeper)
        await until_cosigned(keeper, log, log.checkpoint())
        log.grow(13)
        await log.say(keeper, log.events[40:])
        await log.sign(keeper)
        await until_cosigned(keeper, log, log.checkpoint())
    kept, refused = read_book(book)
    mine = next(each for each in kept if each.origin == log.origin)
    assert mine.position == 53
    assert mine.note is not None
    assert mine.note.startswith(log.checkpoint())
    assert not [each for each in refused if each.standing and each.origin == log.origin]


async def test_a_log_rewritten_and_signed_by_its_own_key_is_refused_whatever_is_wiped(
    request: pytest.FixtureRequest, hub_node: Hub, keeper: Client, book: Path
) -> None:
    log = log_named(request)
    log.grow(20)
    forged = log.rewritten(at=15, text="another card")
    async with witness(hub_node, book, log):
        await log.say(keeper)
        await log.sign(keeper, log.checkpoint(10))
        await until_cosigned(keeper, log, log.checkpoint(10))
        # The events' feed is taken off the hub and filled by the forger, from the beginning.
        await purge_table(keeper.jetstream(), log.origin)
        await forged.say(keeper)
        await forged.sign(keeper)
        await until_refused(book, log, "fork", 15)
        await until_refused(book, log, "rewritten", 20)
        found = await cosigned(keeper, log)
        assert found is not None
        assert found[0].startswith(log.checkpoint(10))
    # ... and by a witness that is started anew, and reads everything from the beginning.
    async with witness(hub_node, book, log):
        await log.sign(keeper, forged.checkpoint(18))
        await until_refused(book, log, "rewritten", 18)
        await log.sign(keeper)
        await until_cosigned(keeper, log, log.checkpoint())


async def test_what_is_forged_replayed_or_out_of_order_is_named_and_harms_no_other(
    request: pytest.FixtureRequest, hub_node: Hub, keeper: Client, book: Path
) -> None:
    log = log_named(request)
    other = SignedLog("harbour/beside", SigningKey("harbour/beside", b"8" * 32))
    log.grow(9)
    other.grow(9)
    forged = log.rewritten(at=4, text="forged").events[3]._replace(hash=log.events[3].hash)
    async with witness(hub_node, book, log, other):
        await log.say(keeper, [*log.events[:3], forged])
        await log.say(keeper, [log.events[0], log.events[2]])  # replayed: nothing is said to it
        await log.say(keeper, log.events[6:])
        assert (await until_refused(book, log, "forged")).standing
        assert (await until_refused(book, log, "gap")).standing
        await other.say(keeper)
        await other.sign(keeper)
        await until_cosigned(keeper, other, other.checkpoint())
        await purge_table(keeper.jetstream(), log.origin)
        await log.say(keeper)
        await log.sign(keeper)
        await until_cosigned(keeper, log, log.checkpoint())
    standing = [each for each in read_book(book)[1] if each.standing]
    assert [each.code for each in standing if each.origin == log.origin] == []


async def test_a_strangers_key_is_refused_by_name(
    request: pytest.FixtureRequest, hub_node: Hub, keeper: Client, book: Path
) -> None:
    log = log_named(request)
    log.grow(3)
    stranger = SigningKey(log.origin, b"s" * 32)
    async with witness(hub_node, book, log):
        await log.say(keeper)
        await log.sign(keeper, log.checkpoint(3, stranger))
        found = await until_refused(book, log, "unknown_key")
        assert "no known key of this log" in found.text
        assert await cosigned(keeper, log) is None


async def test_what_was_heard_is_not_heard_again_after_a_start(
    request: pytest.FixtureRequest, hub_node: Hub, keeper: Client, book: Path
) -> None:
    log = log_named(request)
    log.grow(30)
    async with witness(hub_node, book, log):
        await log.say(keeper)
        whole = (log.origin, 30)
        await until(lambda: whole in [each[:2] for each in read_book(book)[0]], "it is heard")
    with closing(WitnessBook.open(book)) as opened:
        made, cursor = opened.cursor()
    info = await keeper.jetstream().stream_info("EVENTS")
    assert (made, cursor) == (str(info.created), info.state.last_seq)
    async with witness(hub_node, book, log):
        await log.sign(keeper)
        await until_cosigned(keeper, log, log.checkpoint())


async def test_a_hub_that_is_wiped_and_filled_again_is_heard_again_from_its_beginning(
    tmp_path: Path, book: Path
) -> None:
    log = SignedLog("harbour/b7", TABLE)
    log.grow(25)
    with running_hub(tmp_path / "hub", nodes=1) as hub:
        await made_streams(hub)
        async with witness(hub, book, log):
            async with signed_in(hub) as client:
                await log.say(client)
                await log.sign(client)
                await until_cosigned(client, log, log.checkpoint())
            hub.kill(0)
            hub.wipe(0)
            hub.start(0)
            await made_streams(hub)
            log.grow(15)
            async with signed_in(hub) as client:
                await log.say(client)
                await log.sign(client)
                await until_cosigned(client, log, log.checkpoint())
    assert [each for each in read_book(book)[1] if each.standing] == []


@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_whichever_node_dies_the_witness_hears_on_and_cosigns(
    tmp_path: Path, book: Path
) -> None:
    log = SignedLog("harbour/b7", TABLE)
    with running_hub(tmp_path / "hub", nodes=3) as hub:
        await made_streams(hub)
        async with witness(hub, book, log):
            for number in range(3):
                hub.kill(number)
                log.grow(20)
                await until(partial(said, hub, log, log.events[-20:]), "it is said", every=_OFTEN_S)
                async with signed_in(hub, node=hub.alive()[0]) as client:
                    await until_cosigned(client, log, log.checkpoint())
                hub.start(number)
    assert [each for each in read_book(book)[1] if each.standing] == []


async def said(hub: Hub, log: SignedLog, events: Sequence[ReplicatedEvent]) -> bool:
    """Say it to whoever is left; said twice, it is one that was heard before."""
    try:
        async with signed_in(hub, node=hub.alive()[0]) as client:
            await log.say(client, events)
            await log.sign(client)
    except (BusError, NatsError):
        return False
    return True


def test_a_file_that_is_no_witnesss_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "table.sqlite"
    EventLog.open(other, "harbour/b7").close()
    before = other.read_bytes()
    with pytest.raises(LogRefused, match="not a witness's file"):
        WitnessBook.open(other)
    with pytest.raises(LogRefused, match="not a witness's file"):
        read_book(other)
    assert other.read_bytes() == before
    with pytest.raises(InputError, match="cannot be read"):
        read_book(tmp_path / "nothing.sqlite")


def test_a_witness_has_its_file_to_itself(tmp_path: Path) -> None:
    path = tmp_path / "witness.sqlite"
    opened = WitnessBook.open(path)
    with pytest.raises(LogRefused, match="another witness keeps this file"):
        WitnessBook.open(path)
    opened.close()
    WitnessBook.open(path).close()


def test_refusals_are_kept_word_by_word_up_to_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness_book, "_REFUSED_MOST", 3)
    opened = WitnessBook.open(tmp_path / "witness.sqlite")
    for size in range(1, 7):
        opened.refuse(
            "harbour/b7", WitnessRefusal("rewritten", "another root", size), b"note", 100 + size
        )
    opened.refuse("harbour/b8", WitnessRefusal("older", "it is", 1), b"note", 200)
    opened.close()
    kept = {(each.origin[-2:], each.code, each.position, each.times): each.standing for each in
            read_book(tmp_path / "witness.sqlite")[1]}  # fmt: skip
    assert kept == {
        ("b7", "rewritten", 1, 1): 1,
        ("b7", "rewritten", 2, 1): 1,
        ("b7", "rewritten", 3, 1): 1,
        ("b7", "more", 0, 3): 1,
        ("b8", "older", 1, 1): 0,
    }
