"""Who counts as present: sessions, late Wills, heartbeats and clocks, told as little histories."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.clock import rfc3339
from events.mqtt.presence import STALE_SECONDS, Herald, Presence, Status, encode_status, read_status

SECOND = 1_000_000_000
NOON = 1_796_040_000 * SECOND


def at(seconds: float) -> int:
    return NOON + round(seconds * SECOND)


def status(state: str, session: int, seconds: float) -> Status:
    found = read_status(
        json.dumps({"state": state, "session": session, "ts": rfc3339(at(seconds))}).encode()
    )
    assert found is not None
    return found


def after(*heard: Status) -> Presence:
    presence = Presence()
    for each in heard:
        presence = presence.heard(each)
    return presence


class StoppedClock:
    def utc_ns(self) -> int:
        return NOON

    def mono_us(self) -> int:
        return 0


def test_nobody_is_there_before_the_first_word() -> None:
    assert not Presence().online(NOON)


# Each: what was heard (state, session, second), the second of the question, the answer.
HISTORIES = {
    "a birth": ([("online", 1, 0)], 1, True),
    "a Will": ([("online", 1, 0), ("offline", 1, 0)], 1, False),
    "a Will of the session before, after the new birth": (
        [("online", 1, 0), ("online", 2, 5), ("offline", 1, 0)],
        6,
        True,
    ),
    "a heartbeat of the session before, after the new session has gone": (
        [("online", 2, 5), ("offline", 2, 5), ("online", 1, 6)],
        6,
        False,
    ),
    "a Will, then the same session says that it lives": (
        [("online", 3, 0), ("offline", 3, 0), ("online", 3, 2)],
        3,
        True,
    ),
    "service and broker died together, the retained word remains": ([("online", 7, 0)], 600, False),
    "just fresh": ([("online", 1, 0)], STALE_SECONDS - 0.001, True),
    "just stale": ([("online", 1, 0)], STALE_SECONDS, False),
    "heartbeats keep it fresh": ([("online", 1, s) for s in (0, 3, 6, 9, 12)], 15, True),
    "the clock was set back an hour, the old heartbeat is from the future": (
        [("online", 1, 3600)],
        0,
        False,
    ),
    "a Will needs no fresh stamp": ([("online", 1, 100), ("offline", 1, 0)], 101, False),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history(name: str) -> None:
    heard, now, expected = HISTORIES[name]
    assert after(*(status(*each) for each in heard)).online(at(now)) is expected


@given(
    st.lists(
        st.tuples(st.sampled_from(["online", "offline"]), st.integers(1, 4), st.integers(0, 20))
    )
)
def test_only_the_last_word_of_the_newest_session_counts(
    heard: list[tuple[str, int, int]],
) -> None:
    newest = max((session for _, session, _ in heard), default=0)
    last = next((each for each in reversed(heard) if each[1] == newest), None)
    expected = last is not None and last[0] == "online" and abs(20 - last[2]) < STALE_SECONDS
    assert after(*(status(*each) for each in heard)).online(at(20)) is expected


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"null",
        b"online",
        b"\xff\xfe",
        b"[" * 5000,
        b'{"state":"online","session":1}',
        b'{"state":"away","session":1,"ts":"2026-11-27T20:00:00.000000000Z"}',
        b'{"state":"online","session":0,"ts":"2026-11-27T20:00:00.000000000Z"}',
        b'{"state":"online","session":9007199254740992,"ts":"2026-11-27T20:00:00.000000000Z"}',
        b'{"state":"online","session":1,"ts":"yesterday"}',
        b'{"state":"online","session":1,"ts":"2026-13-27T20:00:00.000000000Z"}',
        b'{"state":"online","session":1,"ts":"2026-11-27T20:00:00Z"}',
        b'{"state":"online","session":1,"ts":"2026-11-27T20:00:00.000000000Z","more":1}',
    ],
)
def test_junk_is_no_status(junk: bytes) -> None:
    assert read_status(junk) is None


def test_the_wire_form_is_the_documented_one() -> None:
    sent = encode_status(status("online", 12, 0.5))
    ts = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=1_796_040_000)).strftime("%FT%T")
    assert json.loads(sent) == {"state": "online", "session": 12, "ts": f"{ts}.500000000Z"}


def test_the_will_is_retained_and_takes_back_this_session() -> None:
    will = Herald("bac/v1/s/t/status/shoe", 12, StoppedClock()).will
    assert (will.topic, will.retain) == ("bac/v1/s/t/status/shoe", True)
    assert json.loads(will.payload)["state"] == "offline"
    assert json.loads(will.payload)["session"] == 12


@pytest.mark.parametrize(
    ("state", "session", "contradicted"),
    [
        ("offline", 4, True),  # a late Will of the session before
        ("offline", 5, True),  # our own, of a connection that the broker gave up late
        ("offline", 6, False),  # of somebody newer: it is not ours to contradict
        ("online", 5, False),
        ("online", 4, False),
    ],
)
def test_a_service_contradicts_its_own_obituary(
    state: str, session: int, contradicted: bool
) -> None:
    herald = Herald("bac/v1/s/t/status/shoe", 5, StoppedClock())
    assert herald.contradicted_by(encode_status(status(state, session, 0))) is contradicted


def test_junk_on_our_own_topic_contradicts_nothing() -> None:
    assert not Herald("bac/v1/s/t/status/shoe", 5, StoppedClock()).contradicted_by(b"\xff")
