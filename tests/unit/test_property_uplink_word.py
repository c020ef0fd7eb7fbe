"""What an uplink says of itself, read back; and what is no such word."""

import pytest

from events.errors import InputError
from property.uplink_word import REPEATED_S, SILENT_S, UplinkWord, encode_word, parse_word

STOPPED = UplinkWord(state="stopped", position=20, code="fork", reason="position 20 is another")


@pytest.mark.parametrize(
    "word", [STOPPED, UplinkWord(state="running", position=2**53), UplinkWord(state="ended")]
)
def test_a_word_is_read_as_it_was_said(word: UplinkWord) -> None:
    assert parse_word(encode_word(word)) == word


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]" * 1000,
        b"[" * 100_000,
        b'{"state":"well"}',
        b'{"state":"running","more":1}',
        b'{"state":"running","position":-1}',
        b'{"state":"running","position":9223372036854775808}',
        b'{"state":"stopped","reason":"a\\u0000b"}',
        b'{"state":"stopped","code":"%s"}' % (b"x" * 1001),
    ],
)
def test_what_is_no_word_is_refused_in_a_line(data: bytes) -> None:
    with pytest.raises(InputError) as refused:
        parse_word(data)
    assert "\n" not in str(refused.value)


def test_a_lost_word_or_two_do_not_make_an_uplink_silent() -> None:
    assert SILENT_S > 3 * REPEATED_S
