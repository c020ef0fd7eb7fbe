"""The page about changing an event: its code is run, and means what the page says."""

import re
from pathlib import Path
from typing import Any

import pytest

from events.errors import OurBug, UnreadableEvent
from events.types import AlarmRaised, TableEvent
from events.types.upcasting import EventReader, Upcast

PAGE = Path(__file__).parents[4] / "docs/develop/changing-events.md"
DATA = b'{"alarm":"a","text":"t","coup":"s/1"}'


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page defines, block after block."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    names: dict[str, Any] = {"__name__": "docs.changing_an_event"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page is under test
    return names


def test_the_pages_first_version_is_the_one_that_we_ship(page: dict[str, Any]) -> None:
    shipped = EventReader((AlarmRaised,)).read("alarm_raised", 1, DATA)
    assert isinstance(shipped, AlarmRaised)
    old: TableEvent = page["AlarmRaised1"](alarm="a", text="t", coup="s/1")
    assert type(old).__struct_fields__ == AlarmRaised.__struct_fields__


def test_the_pages_old_event_becomes_the_new_one(page: dict[str, Any]) -> None:
    event = page["reader"].read("alarm_raised", 1, DATA)
    assert type(event) is page["AlarmRaised"]
    assert (event.alarm, event.text, event.coup, event.urgency) == ("a", "t", "s/1", "now")


def test_the_pages_old_event_with_a_field_of_the_new_one_is_refused(page: dict[str, Any]) -> None:
    forged = b'{"alarm":"a","text":"t","urgency":"now"}'
    with pytest.raises(UnreadableEvent, match=r"version 1: .*unknown field `urgency`"):
        page["reader"].read("alarm_raised", 1, forged)


def test_the_pages_chain_is_missed_when_it_is_not_there(page: dict[str, Any]) -> None:
    with pytest.raises(OurBug, match="alarm_raised version 1 is not brought up to version 2"):
        EventReader(page["KINDS"])


def test_a_third_version_lengthens_the_pages_chain(page: dict[str, Any]) -> None:
    class AlarmRaised3(TableEvent, frozen=True, kw_only=True):
        TYPE = "alarm_raised"
        VERSION = 3
        name: str
        text: str
        urgency: str
        coup: str | None = None

    def renamed(fields: dict[str, Any]) -> dict[str, Any]:
        return {"name": fields.pop("alarm"), **fields}

    steps = (Upcast(page["AlarmRaised"], renamed), *page["UPCASTS"])
    reader = EventReader((AlarmRaised3,), steps)
    third = AlarmRaised3(name="a", text="t", urgency="now", coup="s/1")
    second = b'{"alarm":"a","text":"t","coup":"s/1","urgency":"now"}'
    for version, data in ((1, DATA), (2, second), (3, second.replace(b"alarm", b"name"))):
        assert reader.read("alarm_raised", version, data) == third
