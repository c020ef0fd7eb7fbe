"""A figure that stands in the text of a page is that of the product."""

import re
from typing import Final

import pytest

from tests.house.sources import texts
from tests.house.test_limits import kept

# Page|words of it|constant|its value in bytes, seconds or a count.
FIGURES: Final = """
screens|Five wrong passwords lock|displays.auth.login_policy.FAILURES_MOST|5
screens|for five minutes, for that address|displays.auth.login_policy.LOCKED_SECONDS|300
screens|Fifty lock the name|displays.auth.login_policy.STRANGERS_MOST|50
screens|at least eight characters|displays.auth.passwords.PASSWORD_LEAST|8
screens|after twelve hours|displays.auth.sessions.SHIFT_SECONDS|43200
screens|two minutes before|displays.http.stream.WARNED_SECONDS|120
screens|One machine gets 32 connections|displays.http.server.ADDRESS_MOST|32
screens|all machines together 512|displays.http.server.CONNECTIONS_MOST|512
at-the-table|within 5 seconds|displays.consoles.routes.COMMAND_MS|5
connect|a delay of up to five seconds|shoe_driver.profiles.profile.LATE_MS|5
connect|no result comes within 30 s|table_core.process.table_process.RESULT_OVERDUE_S|30
result_overdue|for 30 seconds|table_core.process.table_process.RESULT_OVERDUE_S|30
settlement_unacknowledged|for 60 seconds|table_core.process.consumer_health.ACK_OVERDUE_S|60
message_forged|more than ten seconds late|table_core.trust.bus_guard.FRESH_S|10
message_forged|Ten minutes after|table_core.trust.bus_guard.FORGERY_SHOWN_S|600
clock_difference|two seconds|events.mqtt.presence.CLOCK_DIFFERENCE_SECONDS|2
driver_not_trusted|Ten seconds after|events.mqtt.presence.STALE_SECONDS|10
"""
_ROW: Final = re.compile(r"^(.+?)\|(.+)\|(.+)\|(.+)$", re.MULTILINE)


@pytest.mark.parametrize(("page", "words", "name", "value"), _ROW.findall(FIGURES))
def test_a_page_has_the_figure_of_the_product(page: str, words: str, name: str, value: str) -> None:
    (text,) = (text for path, text in texts().items() if path.endswith(f"/{page}.md"))
    assert words in text
    assert kept(name) == pytest.approx(float(value))
