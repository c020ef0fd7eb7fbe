"""Every message of a real run, on every topic, is what the schemas say: drift is caught here."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from baccarat.contract.channels import CHANNELS, ROOT
from baccarat.contract.schemas import bundle
from events.cards import Card, Hand
from events.commands.cards import CorrectCard
from events.commands.consumers import Ack, Replay
from events.commands.coup import CloseBetting, OpenBetting, VoidCoup
from events.commands.previews import Preview, ShowCoup
from events.commands.staff import AcknowledgeAlarm, AssignDealer
from events.commands.wagers import PlaceWager, SetLimits, WagerRequest, WithdrawWager
from events.mqtt.bus import Bus, BusSettings, Message
from events.types.shoe_reports import ErrorCleared, ErrorRaised
from events.types.wagers import BetLimits
from tests.support.machine.tasks import background
from tests.support.machine.waiting import until
from tests.support.service.table_service import TOPICS, Table1, play, service
from tests.support.table.coups import SHOE, drawn, shoe_event
from tests.support.table.evidence import KEY

BUNDLE = bundle()


def schema_of(topic: str) -> str:
    """The definition for what is said on a topic, by the channels of the AsyncAPI document."""
    for channel in CHANNELS.values():
        pattern = re.sub(
            r"\\{(\w+)\\}", r"(?P<\1>[a-z0-9_-]+)", re.escape(f"{ROOT}/{channel.topic}")
        )
        if found := re.fullmatch(pattern, topic):
            if command := found.groupdict().get("command"):
                return f"request.{command}"
            return channel.messages[0] if len(channel.messages) == 1 else "event"
    raise AssertionError(f"{topic} is no channel of the contract")


async def provoke(table: Table1) -> None:
    """A short run in which as many kinds of message as possible are said."""
    await table.driver_comes()
    limits = SetLimits(transaction="sl", bets=(BetLimits(bet="tie", maximum=40_000),))
    await table.must("supervisor", limits)
    who = AssignDealer(transaction="ad", dealer="d-17", supervisor="s-3")
    await table.must("supervisor", who)
    await play(table)
    face = {"hand": "banker", "number": 1, "face": "6D", "reason": "camera", "coup": f"{SHOE}/1"}
    shown = [
        await table.ask("supervisor", ShowCoup(transaction="sc", coup=f"{SHOE}/1")),
        await table.ask(
            "supervisor",
            Preview(transaction="pv", command="correct_card", body={"transaction": "x"} | face),
        ),
    ]
    assert all(answer.shown for answer in shown)
    right = CorrectCard(
        transaction="cc", hand=Hand.BANKER, number=1, face=Card.D6, reason="c", coup=f"{SHOE}/1"
    )
    await table.must("supervisor", right)
    await second_coup(table)
    newest = table.settlements[-1].position
    await table.ask("cage", Ack(transaction="ak", consumer="cage", position=newest))
    await table.ask("cage", Replay(transaction="rp", start=1))
    await until(lambda: table.replayed and table.replayed[-1].position >= newest, "no replay")


async def second_coup(table: Table1) -> None:
    """Void before its end, with an error of the shoe, a wager taken back and one refused."""
    await table.ask("dealer", OpenBetting(transaction="o2"))
    wagers = tuple(WagerRequest(seat=seat, bet="banker", stake=1000) for seat in (1, 2))
    await table.ask("wagers", PlaceWager(transaction="w2", wagers=wagers))
    back = WithdrawWager(transaction="ww", wagers=("wagers/w2/0",))
    await table.must("wagers", back)
    await table.ask("dealer", CloseBetting(transaction="c2"))
    late = await table.ask("wagers", PlaceWager(transaction="w3", wagers=wagers))
    assert late.code == "betting_closed"
    await table.say(shoe_event(8, drawn(Hand.PLAYER, 1, None)))
    await table.say(shoe_event(9, ErrorRaised(code="cover", latched=False)))
    await until(lambda: table.alarms, "no alarm is told")
    await table.say(shoe_event(10, ErrorCleared(code="cover")))
    void = VoidCoup(transaction="v2", reason="a card was seen")
    await table.must("supervisor", void)
    await table.ask("supervisor", AcknowledgeAlarm(transaction="aa", alarm="none_such"))


async def test_every_message_of_a_run_is_what_its_schema_says(
    table: Table1, tmp_path: Path
) -> None:
    heard: list[Message] = []

    async def keep(message: Message) -> None:
        heard.append(message)

    listener = Bus(
        BusSettings("127.0.0.1", table.port, "listener"), subscriptions={"bac/v1/#": keep}
    )
    async with background(listener.run()):
        await until(lambda: listener.connected, "the listener is there")
        async with service(table.port, tmp_path, key=KEY) as log:
            await provoke(table)
            head = log.position
            await until(lambda: table.states[-1].position >= head, "no state")
            await until(
                lambda: sum(schema_of(m.topic) == "event" for m in heard) >= head,
                "events are not told",
            )
            await until(lambda: any(m.topic == TOPICS.checkpoint for m in heard), "no checkpoint")
        await until(
            lambda: any(
                m.topic == TOPICS.status("table") and b"offline" in m.payload for m in heard
            ),
            "no farewell",
        )

    validators: dict[str, Validator] = {}
    kinds: Counter[str] = Counter()
    for message in heard:
        name = schema_of(message.topic)
        check = validators.setdefault(
            name, Draft202012Validator(BUNDLE | {"$ref": f"#/$defs/{name}"})
        )
        said: Any = message.payload.decode()
        said = said if name == "checkpoint" else json.loads(said)
        if name == "event":  # by its own type at once: a much shorter complaint
            name = f"event.{said['type']}.v{said['v']}"
            Draft202012Validator(BUNDLE | {"$ref": f"#/$defs/{name}"}).validate(said)
        check.validate(said)
        kinds[name] += 1
    said_on = {schema_of(message.topic).partition(".")[0] for message in heard}
    assert said_on == {
        *("status", "shoe", "link", "event", "settlement", "state", "checkpoint", "alarm"),
        *("request", "answer"),
    }
    assert len([name for name in kinds if name.startswith("event.")]) >= 17, kinds
    assert len([name for name in kinds if name.startswith("request.")]) >= 14, kinds


async def test_what_is_said_on_no_channel_is_noticed() -> None:
    assert schema_of(TOPICS.request("cage", "ack")) == "request.ack"
    assert schema_of(TOPICS.replayed("cage")) == "event"
    for topic in ("bac/v1/site/t1/events", "bac/v1/site/t1/request/cage", "bac/v1/Site/t1/state"):
        with pytest.raises(AssertionError, match=topic):
            schema_of(topic)
