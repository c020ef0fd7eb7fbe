"""The bus guard: every kind of message, in every mode, good and altered in every way."""

from collections.abc import Callable
from typing import Final

import msgspec
import pytest

from events.commands import Answer, LoadShoe
from events.mqtt.messages import Message
from events.mqtt.process import Instant, LogLine, Now, Post
from events.mqtt.process_shell import perform_at_once
from events.mqtt.topics import Topics
from events.proof.message_mac import MessageKey, add_mac, split_mac
from table_core.trust.access import SHOE, Access, BusMode, BusPolicy, ReadAccess
from table_core.trust.bus_guard import FORGERY_SHOWN_S, FRESH_S, BusGuard

TOPICS = Topics("s", "t")
ORIGIN = "s/t"
NOW_NS = 1_764_453_600_000_000_000
S = 1_000_000_000


def key(owner: str, secret: bytes = b"1", until_ms: int | None = None) -> MessageKey:
    return MessageKey(origin=ORIGIN, owner=owner, secret=secret * 32, until_ms=until_ms)


KEYS: Final = {owner: (key(owner),) for owner in ("dealer", SHOE)}
TOPIC_OF: Final = {
    "request": (TOPICS.request("dealer", "load_shoe"), "dealer"),
    "event": (TOPICS.shoe_event, SHOE),
    "link": (TOPICS.link_shoe, SHOE),
}
BODY: Final = msgspec.json.encode(LoadShoe(transaction="t-1", shoe="20261127-01"))


class Door:
    """A guard that began to listen a minute ago, and what came of each message."""

    def __init__(self, mode: BusMode = "required", **others: object) -> None:
        policy = {"mode": mode, "keys": KEYS, **others}
        self.access = Access(roles={"dealer": frozenset({"dealer"})}, bus=BusPolicy(**policy))  # type: ignore[arg-type] # by name
        self.roles: list[object] = []
        self.posted: list[Post] = []
        self.lines: list[LogLine] = []
        self.now = Instant(NOW_NS - 60 * S, 0)
        self.starts()
        self.now = Instant(NOW_NS, 0)

    def starts(self) -> None:
        """Begin to listen in a new process, with no memory of the one before."""
        self.guard = BusGuard(TOPICS, self.roles.append, watched=True)
        perform_at_once(self.guard.start(), self._performers)

    @property
    def _performers(self) -> dict[type, Callable[..., object]]:
        return {
            Now: lambda _: self.now,
            Post: self._post,
            LogLine: self.lines.append,
            ReadAccess: lambda _: self.access,
        }

    def comes(self, kind: str, payload: bytes, topic: str = "", *, retain: bool = False) -> bytes:
        """What the table gets to read of a message; nothing where it is not let in."""
        judge = {"request": self.guard.request, "event": self.guard.shoe_event,
                 "link": self.guard.link}[kind]  # fmt: skip
        message = Message(topic or TOPIC_OF[kind][0], payload, retain=retain)
        found = perform_at_once(judge(message), self._performers)
        return b"" if found is None else found.payload

    def _post(self, post: Post) -> bool:
        self.posted.append(post)
        return True

    @property
    def alarms(self) -> dict[str, str]:
        return {each.name: each.text for each in self.guard.alarms(self.now)}

    @property
    def refusals(self) -> list[str | None]:
        return [msgspec.json.decode(each.payload, type=Answer).code for each in self.posted]


def sent(kind: str, at_ns: int = NOW_NS, secret: bytes = b"1", topic: str = "") -> bytes:
    there, owner = TOPIC_OF[kind]
    return add_mac(key(owner, secret), topic or there, BODY, at_ns)


GOOD, LATE = sent("request"), sent("request", NOW_NS - (FRESH_S + 1) * S)
FORGED: Final = "forged_message"

# Kind, mode, what comes, and the code of the refusal; empty where it is let in.
ROWS: Final = [
    ("request", "required", GOOD, ""),
    ("request", "required", BODY, "not_authenticated"),
    ("request", "required", GOOD.replace(b"-01", b"-02"), FORGED),
    ("request", "required", sent("request", topic=TOPICS.request("dealer", "burn")), FORGED),
    ("request", "required", sent("request", secret=b"2"), FORGED),
    ("request", "required", LATE, "stale_message"),
    ("request", "required", sent("request", NOW_NS + (FRESH_S + 1) * S), "stale_message"),
    ("request", "required", sent("request", NOW_NS - FRESH_S * S), ""),
    ("request", "enrolling", GOOD, ""),
    ("request", "enrolling", BODY, ""),
    ("request", "enrolling", GOOD.replace(b"-01", b"-02"), FORGED),
    ("request", "off", BODY, ""),
    ("request", "off", GOOD, ""),
    ("request", "trust-broker", GOOD.replace(b"-01", b"-02"), ""),
    ("event", "required", sent("event"), ""),
    ("event", "required", sent("event", NOW_NS - 86_400 * S), ""),  # resent from the journal
    ("event", "required", BODY, "not_authenticated"),
    ("event", "required", sent("link"), FORGED),
    ("event", "enrolling", BODY, ""),
    ("link", "required", sent("link"), ""),
    ("link", "required", BODY, "not_authenticated"),
    ("link", "required", sent("link", NOW_NS - (FRESH_S + 1) * S), "stale_message"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "mode", "payload", "code"), ROWS)
def test_what_is_let_in(kind: str, mode: BusMode, payload: bytes, code: str) -> None:
    door = Door(mode)
    let_in = door.comes(kind, payload)
    assert let_in == (b"" if code else split_mac(payload).body)
    assert door.refusals == [code] * (kind == "request" and bool(code))
    assert door.guard.refused == bool(code)
    topic = TOPIC_OF[kind][0].removeprefix(f"{TOPICS.root}/")
    alarms = door.alarms
    forged = alarms.pop("message_forged", "")
    assert forged.startswith(f"{topic}: ") is bool(code)
    assert set(alarms) == ({"bus_not_authenticated"} if mode in {"off", "enrolling"} else set())


def test_a_refusal_is_no_answer_to_an_enrolled_client() -> None:
    door = Door()
    door.comes("request", BODY)
    assert split_mac(door.posted[0].payload).mac is None


def test_each_code_counts_once_and_a_client_that_sends_again_makes_a_new_one() -> None:
    door = Door()
    assert door.comes("request", GOOD) == BODY
    assert door.comes("request", GOOD) == b""
    assert door.comes("request", GOOD, retain=True) == b""
    assert (door.posted, door.alarms) == ([], {})
    assert door.comes("request", sent("request", NOW_NS + S // 1000)) == BODY


def test_a_held_back_code_does_not_count_again_after_many_others() -> None:
    door = Door()
    first = [sent("request", NOW_NS + n * S // 1000) for n in range(5_000)]
    assert all(door.comes("request", each) == BODY for each in first)
    assert [door.comes("request", each) for each in first] == [b""] * 5_000


def test_a_link_status_never_goes_back_and_a_kept_one_raises_no_alarm() -> None:
    door = Door()
    newer, older = sent("link", NOW_NS), sent("link", NOW_NS - S)
    assert door.comes("link", newer) == BODY
    assert door.comes("link", newer) == b""
    assert door.comes("link", older) == b""
    assert door.comes("link", sent("link", NOW_NS - 60 * S), retain=True) == b""
    assert door.alarms == {}


def test_a_user_without_a_program_that_can_is_named_by_the_site() -> None:
    door = Door(without=frozenset({"wagers"}))
    topic = TOPICS.request("wagers", "place_wager")
    assert door.comes("request", BODY, topic) == BODY
    assert door.comes("request", BODY, TOPICS.request("cage", "ack")) == b""
    assert door.refusals == ["not_authenticated"]
    stranger = add_mac(key("cage"), TOPICS.request("cage", "ack"), BODY, NOW_NS)
    assert door.comes("request", stranger, TOPICS.request("cage", "ack")) == b""
    assert door.refusals[-1] == "unknown_key"


def test_a_new_key_and_the_one_before_it_count_for_a_time() -> None:
    end_ms = NOW_NS // 1_000_000 + 1_000
    door = Door(keys={"dealer": (key("dealer", b"2"), key("dealer", until_ms=end_ms))})
    assert door.comes("request", GOOD) == BODY
    assert door.comes("request", sent("request", secret=b"2")) == BODY
    door.now = Instant(NOW_NS + S, 0)
    assert door.comes("request", sent("request", NOW_NS + S)) == b""
    assert door.comes("request", sent("request", NOW_NS + S, b"2")) == BODY


def test_an_answer_is_proved_by_the_key_that_its_client_has() -> None:
    door = Door(keys={"dealer": (key("dealer", b"2"), key("dealer"))})

    def answer(owner: str = "dealer") -> str | None:
        steps = door.guard.authenticated(owner, TOPICS.response(owner), BODY)
        mac = split_mac(perform_at_once(steps, {Now: lambda _: door.now})).mac
        return mac.key if mac else None

    door.comes("request", GOOD)
    assert answer() == key("dealer").id
    door.comes("request", sent("request", secret=b"2"))
    assert answer() == key("dealer", b"2").id
    assert answer("nobody") is None


def test_while_keys_are_handed_out_the_alarm_names_who_sends_without() -> None:
    door = Door("enrolling")
    door.comes("event", BODY)
    door.comes("request", BODY)
    assert door.alarms["bus_not_authenticated"].endswith("without: dealer, shoe")
    door.comes("event", sent("event"))
    assert door.alarms["bus_not_authenticated"].endswith("without: dealer")


def test_a_file_that_cannot_be_read_stands_in_the_alarm() -> None:
    door = Door(fault="b7.messagekeys: no message key")
    door.comes("request", GOOD)
    assert door.alarms == {"bus_not_authenticated": "b7.messagekeys: no message key"}


def test_the_alarm_of_a_forgery_ends() -> None:
    door = Door()
    door.comes("event", BODY)
    door.now = Instant(NOW_NS, FORGERY_SHOWN_S * 1_000_000 - 1)
    assert "message_forged" in door.alarms
    door.now = Instant(NOW_NS, FORGERY_SHOWN_S * 1_000_000)
    assert door.alarms == {}


def test_forgeries_are_logged_ever_more_rarely() -> None:
    door = Door()
    for _ in range(100):
        door.comes("event", BODY)
    assert [line.fields["count"] for line in door.lines] == [1, 2, 4, 8, 16, 32, 64]


def test_roles_change_with_the_next_request() -> None:
    door = Door()
    door.comes("request", GOOD)
    door.access = Access(roles={}, bus=door.access.bus)
    door.comes("request", sent("request", NOW_NS + S))
    assert door.roles == [{"dealer": frozenset({"dealer"})}, {}]


def test_each_change_of_the_access_is_told_once_and_shows_no_secret() -> None:
    door = Door()
    policy = door.access.bus
    changed = BusPolicy(
        mode="enrolling",
        without=frozenset({"wagers", "cage"}),
        keys={"dealer": (key("dealer", b"2"), *policy.keys["dealer"])},
    )
    door.access = Access(roles={"dealer": frozenset({"supervisor", "dealer"})}, bus=changed)
    door.comes("request", GOOD)
    ids = [key(SHOE).id, *sorted((key("dealer", b"2").id, key("dealer").id))]
    assert door.guard.take_changes() == [
        "mode: required became enrolling",
        "without: none became cage, wagers",
        f"keys of dealer: {key('dealer').id} became {ids[1]}, {ids[2]}",
        f"keys of shoe: {ids[0]} became none",
        "roles of dealer: dealer became dealer, supervisor",
    ]
    assert door.guard.take_changes() == []


def test_the_end_of_a_key_that_is_set_back_is_told() -> None:
    ends = NOW_NS // 1_000_000 - 1000
    door = Door(keys={"dealer": (key("dealer", until_ms=ends),)})
    door.access = Access(roles=door.access.roles, bus=BusPolicy(mode="required", keys=KEYS))
    door.comes("request", GOOD)
    name, end = key("dealer").id, "2025-11-29T21:59:59.000000000Z"
    told = door.guard.take_changes()
    assert f"keys of dealer: {name} until {end} became {name}" in told


def test_a_code_that_was_heard_while_nothing_was_proved_does_not_count_again() -> None:
    door = Door("trust-broker")
    assert door.comes("request", GOOD) == BODY
    door.access = Access(roles={}, bus=BusPolicy(mode="required", keys=KEYS))
    assert door.comes("request", GOOD) == b""
    door.now = Instant(NOW_NS + 3 * S, 0)
    assert door.comes("request", sent("request", NOW_NS + 3 * S)) == BODY


@pytest.mark.parametrize("mode", ["required", "enrolling"])
def test_a_code_that_its_user_sent_before_it_had_a_key_does_not_count_again(mode: BusMode) -> None:
    door = Door(mode, keys={}, without=frozenset({"dealer"}))
    assert door.comes("request", GOOD) == BODY
    door.access = Access(roles={}, bus=BusPolicy(mode=mode, keys=KEYS))
    assert door.comes("request", GOOD) == b""
    door.now = Instant(NOW_NS + 3 * S, 0)
    assert door.comes("request", sent("request", NOW_NS + 3 * S)) == BODY


def test_a_code_from_before_the_start_never_counts_and_raises_no_alarm() -> None:
    door = Door()
    door.now = Instant(NOW_NS + 3 * S, 0)
    door.starts()
    ahead = sent("request", NOW_NS + 5 * S)  # by a clock that is two seconds ahead
    assert door.comes("request", GOOD) == door.comes("request", ahead) == b""
    assert door.comes("link", sent("link")) == b""
    assert door.comes("event", sent("event")) == BODY
    assert (door.refusals, door.alarms) == ([], {})
    assert door.comes("request", sent("request", NOW_NS + 5 * S + 1_000_000)) == BODY
    assert door.comes("link", sent("link", NOW_NS + 4 * S)) == BODY


def test_a_clock_that_is_set_back_makes_no_code_count_again() -> None:
    door, hour = Door(), 3_600
    assert door.comes("request", GOOD) == BODY
    held_back = sent("request", NOW_NS + 5 * S)
    for at_s in range(60, hour, 60):
        door.now = Instant(NOW_NS + at_s * S, at_s)
        assert door.comes("request", sent("request", door.now.utc_ns)) == BODY
    door.now = Instant(NOW_NS + 5 * S, hour)
    assert door.comes("request", GOOD) == door.comes("request", held_back) == b""
    assert door.comes("link", sent("link", NOW_NS + 5 * S)) == b""
    assert door.refusals == ["stale_message"] * 2
    assert "the table's clock was set back by 3535 s" in door.alarms["message_forged"]
    assert door.comes("event", sent("event", NOW_NS + 5 * S)) == BODY  # no card is lost
    door.now = Instant(NOW_NS + hour * S, 2 * hour)
    assert door.comes("request", sent("request", door.now.utc_ns)) == BODY


def test_a_small_step_back_of_the_clock_keeps_nobody_out() -> None:
    door = Door()
    for at_s in (0, 20, 15):
        door.now = Instant(NOW_NS + at_s * S, 0)
        for after_s in range(3):
            assert door.comes("request", sent("request", NOW_NS + (at_s + after_s) * S)) == BODY
    assert door.alarms == {}
