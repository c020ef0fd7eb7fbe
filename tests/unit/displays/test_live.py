"""When a state may be shown as live, by a clock that is moved; and what the public never sees."""

import asyncio
import json

import pytest

from displays.http.stream import StateStream
from displays.http.words import choose_language
from displays.live import SILENCE_SECONDS, LiveState
from events.clock import rfc3339
from events.mqtt.presence import Status, encode_status
from tests.support.clock import FakeClock

SILENCE_US = round(SILENCE_SECONDS * 1_000_000)


def state(position: int, phase: str = "settled", coup: str = "s/1", **more: object) -> bytes:
    shown = {"id": coup, "phase": phase, "reason": "typed", "wagers": [{"patron": "p-77"}]}
    return json.dumps(
        {
            "position": position,
            "table": "t1",
            "rulebook": {"id": "ez"},
            "coup": shown,
            "totals": {"house": 4_242},
            **more,
        }
    ).encode()


class Told:
    """A live state and its clock."""

    def __init__(self, betting_s: int | None = None) -> None:
        self.clock = FakeClock()
        self.live = LiveState(self.clock, betting_s=betting_s)

    def beat(self, *, session: int = 1, retain: bool = False, ago_s: int = 0) -> None:
        ts = rfc3339(self.clock.utc_ns() - ago_s * 1_000_000_000)
        status = Status(state="online", session=session, ts=ts)
        self.live.on_status(encode_status(status), retain=retain)

    @property
    def reason(self) -> str:
        return self.live.health().reason


@pytest.fixture
def told() -> Told:
    made = Told(betting_s=20)
    made.live.connected()
    made.beat()
    made.live.on_state(state(5), retain=True)
    assert made.reason == ""
    return made


def test_it_is_live_while_broker_table_and_state_are_there(told: Told) -> None:
    told.clock.now_us += SILENCE_US
    assert told.reason == ""
    told.clock.now_us += 1
    assert told.reason == "table"
    told.beat()
    assert told.reason == ""
    told.live.disconnected()
    assert told.reason == "bus"


def test_a_connection_proves_nothing_of_what_the_broker_had_kept(told: Told) -> None:
    told.live.disconnected()
    told.live.connected()
    assert told.reason == "table"
    told.beat(retain=True, ago_s=3600)
    assert told.reason == "table"
    told.beat()
    assert told.reason == "state"
    told.live.on_state(state(5), retain=True)
    assert told.reason == ""


def test_another_machines_clock_may_be_wrong(told: Told) -> None:
    told.clock.now_us += SILENCE_US + 1
    told.beat(ago_s=86_400)
    assert told.reason == ""


def test_a_late_will_of_an_older_run_is_ignored(told: Told) -> None:
    told.beat(session=2)
    told.live.on_state(state(6), retain=False)
    will = Status(state="offline", session=1, ts=rfc3339(told.clock.utc_ns()))
    told.live.on_status(encode_status(will), retain=False)
    assert told.reason == ""
    newer = Status(state="offline", session=2, ts=rfc3339(told.clock.utc_ns()))
    told.live.on_status(encode_status(newer), retain=False)
    assert told.reason == "table"


def test_an_older_state_never_replaces_a_newer_one(told: Told) -> None:
    told.live.on_state(state(9), retain=False)
    for old, retain in ((state(8), False), (state(12), True), (b"junk", False), (b"", True)):
        told.live.on_state(old, retain=retain)
        assert told.live.document is not None
        assert told.live.document.position == 9
    told.beat(session=2)  # the table's log was restored from a backup
    told.live.on_state(state(3), retain=False)
    assert told.live.document is not None
    assert told.live.document.position == 3


def ended(told: Told, session: int) -> None:
    will = Status(state="offline", session=session, ts=rfc3339(told.clock.utc_ns()))
    told.live.on_status(encode_status(will), retain=False)


@pytest.mark.parametrize("before", [7, 1])
@pytest.mark.parametrize("will", [True, False])
def test_a_table_on_a_fresh_log_is_live_with_its_own_first_state(
    *, before: int, will: bool
) -> None:
    """Its log counts sessions and positions from 1 again."""
    told = Told()
    told.live.connected()
    told.beat(session=before)
    told.live.on_state(state(500), retain=True)
    if will or before == 1:
        ended(told, before)
    told.beat(session=1)
    assert told.reason == "state", "what the old log said is not the table as it is now"
    told.live.on_state(state(3), retain=False)
    assert told.reason == ""
    assert told.live.document is not None
    assert told.live.document.position == 3
    if before != 1:
        ended(told, before)  # late
        assert told.reason == ""


def test_a_table_that_was_off_when_we_came_may_begin_another_log(told: Told) -> None:
    told.live.connected()
    told.live.on_status(
        encode_status(Status(state="offline", session=7, ts=rfc3339(told.clock.utc_ns()))),
        retain=True,
    )
    told.live.on_state(state(500), retain=True)
    told.beat(session=1)
    told.live.on_state(state(3), retain=False)
    assert told.live.document is not None
    assert (told.live.document.position, told.reason) == (3, "")


def test_two_tables_at_once_are_none(told: Told) -> None:
    for session in (2, 1, 2, 1):
        told.clock.now_us += 500_000
        told.beat(session=session)
        told.live.on_state(state(6), retain=False)
    assert told.reason == "table"
    for _ in range(11):
        told.clock.now_us += 1_000_000
        told.beat(session=1)
    assert told.reason == "", "the other has been stopped"


def test_the_countdown_starts_with_what_was_seen_to_open(told: Told) -> None:
    told.live.on_state(state(6, "betting", "s/2"), retain=False)
    told.clock.now_us += 1_500_000
    told.live.on_state(state(7, "betting", "s/2"), retain=False)
    assert told.live.health().betting_ms == 18_500
    told.live.on_state(state(8, "closed", "s/2"), retain=False)
    assert told.live.health().betting_ms is None


def test_no_countdown_is_made_up_for_betting_that_was_open_already() -> None:
    told = Told(betting_s=20)
    told.live.connected()
    told.live.on_state(state(6, "betting"), retain=True)
    assert told.live.health().betting_ms is None


def test_the_public_never_sees_wagers_takings_or_typed_reasons(told: Told) -> None:
    document = told.live.document
    assert document is not None
    for secret in (b"p-77", b"4242", b"typed"):
        assert secret in document.full
        assert secret not in document.public


async def test_a_screen_that_has_the_newest_state_is_not_sent_it_again(told: Told) -> None:
    async def sent(known: str) -> bytes:
        said: list[bytes] = []
        welcome = iter((True, False))

        async def send(message: dict[str, object]) -> None:
            body = message.get("body", b"")
            assert isinstance(body, bytes)
            said.append(body)

        async def receive() -> dict[str, object]:
            return await asyncio.Future()

        stream = StateStream(
            told.live,
            form="public",
            known=known,
            epoch="e",
            build="b",
            still_welcome=lambda: next(welcome),
        )
        told.live.subscribe(lambda: None)
        await stream({"method": "GET"}, receive, send)  # type: ignore[arg-type]  # the shapes that it uses
        return b"".join(said)

    first = await sent("")
    assert b"event: state\nid: 5-1-e\n" in first
    again = await sent("5-1-e")
    assert b"event: state" not in again
    assert b'event: beat\ndata: {"live":true' in again
    assert again.endswith(b"event: bye\ndata: {}\n\n")


@pytest.mark.parametrize(
    ("asked", "accepted", "chosen"),
    [
        ("zh-Hant", "en", "zh-Hant"),
        ("fr", "", "en"),
        (None, "fr, zh-TW;q=0.8", "zh-Hant"),
        (None, "zh-CN,zh;q=0.9", "zh-Hans"),
        (None, "en-AU,zh", "en"),
        ("../../secrets", "", "en"),
    ],
)
def test_the_language_is_the_one_asked_for_or_liked(
    asked: str | None, accepted: str, chosen: str
) -> None:
    assert choose_language(asked, accepted) == chosen
