"""Chains of upcasts: what is wrong is said before anything is read, and every version is strict."""

from typing import Any

import pytest
from msgspec import Raw, Struct

from events.errors import OurBug, UnreadableEvent
from events.types import Envelope, TableEvent, decode_data
from events.types.earlier import UPCASTS
from events.types.registry import KINDS
from events.types.upcasting import EventReader, Upcast


class One(TableEvent, frozen=True, kw_only=True):
    TYPE = "sample"
    VERSION = 1
    name: str
    count: int = 0


class Two(TableEvent, frozen=True, kw_only=True):
    TYPE = "sample"
    VERSION = 2
    title: str
    count: int = 0


class Three(TableEvent, frozen=True, kw_only=True):
    TYPE = "sample"
    VERSION = 3
    title: str
    counts: tuple[int, ...]


class Other(TableEvent, frozen=True, kw_only=True):
    TYPE = "other"
    text: str


class Loose(Struct, frozen=True, kw_only=True):
    TYPE = "loose"
    VERSION = 1


def up_one(fields: dict[str, Any]) -> dict[str, Any]:
    return {"title": fields.pop("name"), **fields}


def up_two(fields: dict[str, Any]) -> dict[str, Any]:
    return {"title": fields["title"], "counts": [fields.get("count", 0)]}


ONE, TWO = Upcast(One, up_one), Upcast(Two, up_two)


@pytest.mark.parametrize("steps", [(ONE, TWO), (TWO, ONE)])
@pytest.mark.parametrize(
    ("version", "data"),
    [
        (1, b'{"name":"a","count":4}'),
        (2, b'{"title":"a","count":4}'),
        (3, b'{"title":"a","counts":[4]}'),
    ],
)
def test_every_version_comes_to_the_newest(
    steps: tuple[Upcast, ...], version: int, data: bytes
) -> None:
    reader = EventReader((Other, Three), steps)
    assert reader.read("sample", version, data) == Three(title="a", counts=(4,))


def test_a_default_that_was_left_out_is_left_out_for_the_upcast_too() -> None:
    reader = EventReader((Three,), (ONE, TWO))
    assert reader.read("sample", 1, b'{"name":"a"}') == Three(title="a", counts=(0,))


# version, stored fields -> part of the reason
UNREADABLE = [
    (1, b'{"name":"a","odd":1}', "sample version 1: Object contains unknown field `odd`"),
    # a field of a later version is no field of this one
    (1, b'{"name":"a","title":"b"}', "sample version 1: Object contains unknown field `title`"),
    (2, b'{"title":"a","counts":[1]}', "sample version 2: Object contains unknown field `counts`"),
    (3, b'{"title":"a","counts":[1],"count":1}', "unknown field `count`"),
    (1, b'{"count":4}', "sample version 1: Object missing required field `name`"),
    (1, b'{"name":7}', "sample version 1: Expected `str`, got `int`"),
    (1, b'{"name":"a"', "sample version 1: Input data was truncated"),
    (1, b'{"name":"\xff"}', "sample version 1: "),
    (4, b"{}", "sample version 4 is newer than this build knows (3)"),
    (0, b"{}", "unknown event type 'sample' version 0"),
    (-1, b"{}", "unknown event type 'sample' version -1"),
]


@pytest.mark.parametrize(("version", "data", "reason"), UNREADABLE)
def test_what_is_not_of_its_own_version_is_refused(version: int, data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableEvent) as raised:
        EventReader((Three,), (ONE, TWO)).read("sample", version, data)
    assert reason in str(raised.value)


def test_what_an_upcast_makes_is_held_against_the_next_shape() -> None:
    forgets = Upcast(One, lambda fields: fields)
    with pytest.raises(
        UnreadableEvent, match=r"version 1, brought up to 2: .*unknown field `name`"
    ):
        EventReader((Three,), (forgets, TWO)).read("sample", 1, b'{"name":"a"}')


# newest classes, upcasts -> part of the reason
WRONG: list[tuple[tuple[Any, ...], tuple[Upcast, ...], str]] = [
    ((Three,), (TWO,), "sample version 1 is not brought up to version 2"),
    ((Three,), (ONE,), "sample version 2 is not brought up to version 3"),
    ((Three,), (), "sample version 1 is not brought up to version 2"),
    ((Three,), (ONE, ONE, TWO), "sample version 1 is brought up in two ways"),
    ((Two,), (ONE, TWO), "sample version 2 is brought up, but version 2 is the newest class"),
    ((One,), (ONE,), "sample version 1 is brought up, but version 1 is the newest class"),
    ((One,), (TWO,), "sample version 2 is brought up, but version 1 is the newest class"),
    ((Other,), (ONE,), "sample version 1 is brought up to a type that is not registered"),
    ((One, Other, One), (), "event type sample is registered twice"),
    ((Two, One), (ONE,), "event type sample is registered twice"),
    ((Loose,), (), "loose version 1 takes fields that it does not know"),
]


@pytest.mark.parametrize(("kinds", "steps", "reason"), WRONG)
def test_a_wrong_chain_is_told_before_anything_is_read(
    kinds: tuple[type[TableEvent], ...], steps: tuple[Upcast, ...], reason: str
) -> None:
    with pytest.raises(OurBug) as raised:
        EventReader(kinds, steps)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    "name", ["events.types.table.Sample", "events.types.table:Sample", "Sample", "", "1a"]
)
def test_a_type_is_named_by_a_word_and_never_by_where_its_class_lies(name: str) -> None:
    class Named(TableEvent, frozen=True, kw_only=True):
        TYPE = name

    with pytest.raises(OurBug, match="a name has"):
        EventReader((Named,))


def test_versions_are_counted_from_one() -> None:
    class Zero(TableEvent, frozen=True, kw_only=True):
        TYPE = "zero"
        VERSION = 0

    with pytest.raises(OurBug, match="zero: versions are counted from 1, not 0"):
        EventReader((Zero,))


def test_what_the_product_registers_is_whole_and_is_what_it_reads_by() -> None:
    EventReader(KINDS, UPCASTS)
    stored = Envelope(
        event_id="0" * 32,
        stream="s/t",
        position=1,
        type="dealer_assigned",
        v=1,
        at="2026-11-27T00:00:00.000000000Z",
        actor="a",
        cause="a/1",
        correlation="",
        data=Raw(b'{"dealer":"d-1"}'),
    )
    assert type(decode_data(stored)).__name__ == "DealerAssigned"
