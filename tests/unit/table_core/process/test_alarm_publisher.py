"""The notices of alarms: one for each that came or went, in the order of the `state` document."""

import json

from events.mqtt.process import Post
from events.mqtt.process_shell import perform_at_once
from table_core.process.alarm_publisher import AlarmPublisher
from table_core.state.table import Alarm

NAMES = ("link_down", "result_overdue", "log_full", "shoe_error_2", "coup_misaligned", "clock")


def test_notices_come_in_the_order_of_the_alarms() -> None:
    said: list[tuple[str, str]] = []
    publisher = AlarmPublisher("alarm")

    def look(*names: str) -> None:
        def post(it: Post) -> None:
            notice = json.loads(it.payload)
            said.append((notice["alarm"], notice["state"]))

        alarms = [Alarm(name=name, text="a reason") for name in names]
        perform_at_once(publisher.look(alarms, 1), {Post: post})

    look(*NAMES)
    look(*NAMES)
    look()
    raised = [(name, "raised") for name in NAMES]
    assert said == raised + [(name, "cleared") for name in NAMES]
