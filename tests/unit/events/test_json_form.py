"""JSON of other programs: all that msgspec raises comes as one error, with the decoder's text."""

import pytest

from events.errors import InputError, MalformedJson
from events.json_form import decode_json


def test_json_of_the_kind_is_decoded() -> None:
    assert decode_json(b'{"a": 1}', dict[str, int]) == {"a": 1}
    assert decode_json('{"a": 1}', dict[str, int]) == {"a": 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "Input data was truncated"),
        (b"[1]", "Expected `object`, got `array`"),
        (b'{"a": "\xff"}', "invalid start byte"),
        (b'{"a": ' + b"[" * 100_000, "recursion"),
    ],
)
def test_everything_else_is_one_error(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedJson, match=reason) as caught:
        decode_json(data, dict[str, object])
    assert isinstance(caught.value, InputError)
