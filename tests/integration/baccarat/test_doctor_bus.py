"""The doctor's questions over a real broker, to a table made of a plain client."""

import json
from pathlib import Path
from typing import Any

from baccarat.config.table import load_config
from baccarat.site.doctor import examine_broker
from events.clock import SystemClock, rfc3339
from events.mqtt.presence import Status, encode_status
from tests.support.brokers.brokers import Broker
from tests.support.service.small_table import TOPICS, small_table

CONFIG = """\
site = "site"
table = "t1"
rulebook = "au-commission"
[shoe]
url = "pty:{shoe}"
[bus]
port = {port}
[cage]
"""


async def test_a_table_that_is_just_starting_is_asked_again(broker: Broker, tmp_path: Path) -> None:
    """Its first question was lost: nobody had subscribed to it yet."""
    path = tmp_path / "t1.toml"
    path.write_text(CONFIG.format(shoe=tmp_path / "shoe", port=broker.port))
    asked: list[str] = []

    async def answer(user: str, command: str, body: bytes) -> dict[str, Any] | None:
        assert (user, command) == ("cage", "replay")
        asked.append(json.loads(body)["transaction"])
        return {"transaction": asked[-1], "result": "accepted"} if len(asked) > 1 else None

    async with small_table(broker.port, answer) as table:
        there = Status(state="online", session=1, ts=rfc3339(SystemClock().utc_ns()))
        await table.publish(TOPICS.status("table"), encode_status(there), retain=True)
        for topic in (TOPICS.state, TOPICS.link_shoe):
            await table.publish(topic, b"{}", retain=True)
        found, _ = await examine_broker(load_config(path))
    (cage,) = [each for each in found if each.check == "login of cage"]
    assert cage.verdict == "ok", cage
    assert len(set(asked)) == 1 < len(asked)


async def test_a_service_that_died_with_its_broker_is_not_there(
    mosquitto: Broker, tmp_path: Path
) -> None:
    """Its last word was kept and says that it is online; nothing newer comes."""
    path = tmp_path / "t1.toml"
    path.write_text(CONFIG.format(shoe=tmp_path / "shoe", port=mosquitto.port))

    async def silent(*_: object) -> None:
        return None

    async with small_table(mosquitto.port, silent) as table:
        for service, state in (("table", "online"), ("shoe", "online"), ("cage", "offline")):
            said = Status(state=state, session=9, ts="2026-11-28T00:00:00.000000000Z")  # type: ignore[arg-type] # one of the two
            await table.publish(TOPICS.status(service), encode_status(said), retain=True)
        found, has_driver = await examine_broker(load_config(path))
    gone = {each.check: (each.verdict, each.says) for each in found if "service" in each.check}
    since = ("fail", "is gone since 2026-11-28T00:00:00Z")
    assert gone == {"service table": since, "service shoe": since, "service cage": since}
    assert not has_driver
