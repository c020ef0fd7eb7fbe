"""Who counts as present: sessions, late Wills, heartbeats and clocks, told as little histories."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.clock import rfc3339
from events.mqtt.messages import Message
from events.mqtt.presence import (
    STALE_SECONDS,
    Presence,
    PresencePublisher,
    Status,
    encode_status,
    read_status,
)
from events.mqtt.process import Now

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


# What was heard, a word each, at these seconds:
#   "0 online 1"           live, with a stamp of that second
#   "0 online 1 @-3600"    live, with a stamp of another second
#   "0 kept online 1 @-2"  kept by the broker, with its stamp
#   "0 gone"               the reader's connection to the broker was lost
# ... then the second of the question, and the answer: there, gone, or two at once.
HISTORIES = {
    "nothing was heard": ("", 0, "gone"),
    "a birth": ("0 online 1", 1, "there"),
    "a Will": ("0 online 1, 1 offline 1", 1, "gone"),
    "a Will alone": ("0 offline 7", 1, "gone"),
    "just fresh": ("0 online 1", STALE_SECONDS, "there"),
    "just stale": ("0 online 1", STALE_SECONDS + 0.001, "gone"),
    "heartbeats keep it fresh": ("0 online 1, 9 online 1, 18 online 1", 20, "there"),
    "its line was lost for a moment": ("0 online 3, 1 offline 3, 2 online 3", 3, "there"),
    # A late Will.
    "of the session before": ("0 online 1, 5 online 2, 6 offline 1", 7, "there"),
    "of a session that was never heard": ("5 online 2, 6 offline 1", 7, "there"),
    "of the session before, kept": ("0 kept offline 1 @-5, 1 online 2", 2, "there"),
    "kept, and handed over after what is live": ("0 online 2, 0 kept offline 2 @-1", 1, "there"),
    "of a higher number, whose disk is lost": ("0 online 7, 5 online 1, 6 offline 7", 7, "there"),
    "the same, kept": ("0 kept offline 7 @-1, 1 online 1", 2, "there"),
    "the same, kept and handed over late": ("0 online 1, 0 kept offline 7 @-1", 1, "there"),
    # The folder with the number is lost, a copy of an older one put back, a log begun anew.
    "it ended, and begins at 1": ("0 online 7, 1 offline 7, 20 online 1", 21, "there"),
    "it was killed, and begins at 1": ("0 online 7, 1 online 1", 2, "there"),
    "at 1 again": ("0 online 1, 1 offline 1, 3 online 1", 4, "there"),
    "and ends": ("0 online 7, 1 online 1, 2 offline 1", 3, "gone"),
    "and is silent": ("0 online 7, 1 online 1", 12, "gone"),
    "and the reader was away": ("0 online 7, 1 gone, 5 kept online 1 @4, 6 online 1", 7, "there"),
    "number after number": ("0 online 9, 1 online 4, 2 online 1", 3, "there"),
    # What the broker had kept.
    "service and broker died together": ("0 kept online 7 @-600", 0, "gone"),
    "its stamp counts": ("0 kept online 7 @-6", 4, "there"),
    "and grows old": ("0 kept online 7 @-6", 4.001, "gone"),
    "a stale one, then it begins at 1": ("0 kept online 7 @-600, 1 online 1", 2, "there"),
    "a higher one, handed over after what is live": ("0 online 1, 0 kept online 7 @0", 11, "gone"),
    "an older one than is known": (
        "0 online 8, 1 offline 8, 2 gone, 3 kept online 7 @3",
        4,
        "gone",
    ),
    "a newer one than is known": ("0 online 8, 1 gone, 20 kept online 9 @20", 21, "there"),
    "it ended while the reader was away": ("0 online 8, 1 gone, 2 kept offline 8 @1", 2, "gone"),
    # Clocks.
    "its clock is an hour behind": ("0 online 1 @-3600", 1, "there"),
    "its clock is an hour ahead": ("0 online 1 @3600", 1, "there"),
    "its clock went back": ("0 online 1 @3600, 1 online 1 @1", 2, "there"),
    "its clock went back, and it began anew": ("0 online 9 @3600, 1 online 1 @1", 2, "there"),
    "it is silent, with a stamp from the future": ("0 online 1 @3600", 11, "gone"),
    "kept, from the future": ("0 kept online 1 @3600", 1, "gone"),
    # Two at once.
    "a copy beside it": ("0 online 5, 0.5 online 9, 1 online 5", 2, "two"),
    "and on": ("0 online 9, 1 online 5, 2 online 9, 3 online 5, 4 online 9", 14, "two"),
    "until one is stopped": (
        "0 online 5, 1 online 9, 2 online 5, 3 online 9, 14 online 9",
        14,
        "there",
    ),
    "which throw each other out": (
        "0 online 5, 1 offline 5, 1 online 9, 2 offline 9, 2 online 5",
        3,
        "two",
    ),
    "one after another is none": ("0 online 5, 1 offline 5, 2 online 9", 3, "there"),
    "nor when the number comes again much later": (
        "0 online 1, 5 online 2, 11 online 1",
        12,
        "there",
    ),
}


def after(history: str) -> Presence:
    presence = Presence()
    for word in filter(None, history.split(", ")):
        second, *said = word.split()
        now = float(second)
        if said == ["gone"]:
            presence = presence.disconnected()
            continue
        retained = said[0] == "kept"
        state, session, *stamp = said[1:] if retained else said
        ts = float(stamp[0].removeprefix("@")) if stamp else now
        presence = presence.with_message(
            status(state, int(session), ts),
            retained=retained,
            utc_ns=at(now),
            mono_us=round(now * 1e6),
        )
    return presence


@pytest.mark.parametrize("name", HISTORIES)
def test_history(name: str) -> None:
    history, second, expected = HISTORIES[name]
    presence, now = after(history), round(second * 1e6)
    assert presence.online(now) is (expected != "gone")
    assert presence.doubled(now) is (expected == "two")


@pytest.mark.parametrize(
    ("ahead", "fault"),
    [
        (0, ""),
        (2, ""),
        (-2, ""),
        (10, "its clock is 10 s ahead of this machine's"),
        (-10, "its clock is 10 s behind this machine's"),
    ],
)
def test_live_heartbeats_tell_how_two_clocks_differ(ahead: int, fault: str) -> None:
    """The least delayed of five tells; neither what was retained nor a Will does."""
    late = (0.3, 4, 0, 2.5, 7)
    beats = [f"{n + by} online 5 @{n + ahead}" for n, by in enumerate(late)]
    presence = after(", ".join(beats))
    assert presence.clock_ahead_s() == ahead
    assert presence.clock_fault() == fault
    assert after("0 kept online 5 @-60, 1 offline 5 @-90").clock_ahead_s() is None
    assert after(f"{', '.join(beats)}, 12 online 9 @12").clock_ahead_s() == 0


@given(
    st.lists(
        st.tuples(st.sampled_from(["online", "offline"]), st.integers(1, 4), st.integers(0, 3)),
        min_size=1,
    )
)
def test_who_spoke_last_is_there_unless_its_own_end_was_heard_since(
    heard: list[tuple[str, int, int]],
) -> None:
    """Of what is live, by an oracle that looks at the whole of it backwards."""
    words, now = [], 0
    for state, session, pause in heard:
        now += pause
        words.append((now, state, session))
    births = [index for index, word in enumerate(words) if word[1] == "online"]
    expected = False
    if births:
        (second, _, session), since = words[births[-1]], words[births[-1] :]
        ended = any(word[1:] == ("offline", session) for word in since)
        expected = now - second <= STALE_SECONDS and not ended
    history = ", ".join(f"{second} {state} {session}" for second, state, session in words)
    assert after(history).online(round(now * 1e6)) is expected


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
    will = PresencePublisher("bac/v1/s/t/status/shoe", 12, 0).will
    assert (will.topic, will.retain) == ("bac/v1/s/t/status/shoe", True)
    assert json.loads(will.payload)["state"] == "offline"
    assert json.loads(will.payload)["session"] == 12


@pytest.mark.parametrize(
    ("state", "session", "contradicted"),
    [
        ("offline", 4, True),  # a late Will of the session before
        ("offline", 5, True),  # our own, of a connection that the broker gave up late
        ("offline", 7, True),  # of the session before, whose number is lost with its disk
        ("online", 5, False),
        ("online", 4, False),
    ],
)
def test_a_service_contradicts_its_own_obituary(
    state: str, session: int, contradicted: bool
) -> None:
    publisher = PresencePublisher("bac/v1/s/t/status/shoe", 5, 0)
    payload = encode_status(status(state, session, 0))
    steps = publisher.on_own_status(Message(publisher.topic, payload, retain=False))
    assert (next(steps, None) == Now()) is contradicted
    steps.close()


def test_junk_on_our_own_topic_contradicts_nothing() -> None:
    publisher = PresencePublisher("bac/v1/s/t/status/shoe", 5, 0)
    assert list(publisher.on_own_status(Message(publisher.topic, b"\xff", retain=False))) == []
