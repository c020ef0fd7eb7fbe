"""JSON of other programs: all that msgspec raises comes as one error, with the decoder's text."""

import pytest

from events.errors import InputError, MalformedJson
from events.json_form import decode_json, decode_json_once, repeated_key


def test_json_of_the_kind_is_decoded() -> None:
    assert decode_json(b'{"a": 1}', dict[str, int]) == {"a": 1}
    assert decode_json('{"a": 1}', dict[str, int]) == {"a": 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "Input data was truncated"),
        (b" \n", "it is empty"),
        (rb'{"a": "\ud83c\udca1 \ud800\n"}', r"\\ud800 is half of a character"),
        (rb'{"a": "\\ud800", "b": "\uDC00"}', r"\\uDC00 is half of a character"),
        (rb'{"a\ud800": 1}', r"\\ud800 is half of a character"),
        (b"[1]", "Expected `object`, got `array`"),
        (b'{"a": "\xff"}', "invalid start byte"),
        (b'{"a": ' + b"[" * 100_000, "recursion"),
    ],
)
def test_everything_else_is_one_error(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedJson, match=reason) as caught:
        decode_json(data, dict[str, object])
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ('{"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}]}', None),
        ('{"a": 1, "b": 2, "a": 3}', "a"),
        ('{"x": [{"stake": 100, "stake": 100}]}', "stake"),
        (r'{"a": 1, "\u0061": 2}', "a"),
        (b'{"a": "a", "b": ' + b"9" * 5_000 + b"}", None),
        (b"{" + b'"k": 1, ' * 200_000 + b'"k": 1}', "k"),
    ],
)
def test_a_key_that_is_there_twice_is_found(document: bytes | str, key: str | None) -> None:
    assert repeated_key(document) == key
    if key is not None:
        with pytest.raises(MalformedJson, match=f"the key '{key}' is there twice; write it once"):
            decode_json_once(document, dict[str, object])


def test_what_is_nested_too_deeply_is_malformed() -> None:
    with pytest.raises(MalformedJson):
        repeated_key("[" * 100_000)
