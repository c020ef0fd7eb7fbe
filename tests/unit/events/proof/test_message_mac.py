"""Message authentication codes: against OpenSSL's value, and against every change on the way."""

from pathlib import Path

import pytest

from events.errors import InputError
from events.proof.message_keys import load_message_keys, make_message_key
from events.proof.message_mac import MessageKey, add_mac, parse_message_keys, split_mac

ORIGIN = "harbour/b7"
TOPIC = "bac/v1/harbour/b7/request/dealer/close_betting"
BODY = b'{"transaction":"t-1","coup":"20261127-01/1"}'
AT_MS = 1_764_453_600_000
KEY = MessageKey(origin=ORIGIN, owner="dealer", secret=bytes(range(32)))
# printf 'v1\n%s\n%s\n%s' TOPIC AT_MS BODY | openssl dgst -sha256 -mac HMAC -macopt hexkey:0001..1f
CODE = b"4a11d9b8bce45c16f191b5ca6bf0f61a55a08118420b4dfdeb695b7e787fcbf1"
SENT = BODY[:-1] + b',"mac":"v1.630dcd29.1764453600000.' + CODE + b'"}'


def test_the_code_is_openssls() -> None:
    assert add_mac(KEY, TOPIC, BODY, AT_MS * 1_000_000 + 999_999) == SENT


def judged(payload: bytes, topic: str = TOPIC, key: MessageKey = KEY, now_ms: int = AT_MS) -> bool:
    return split_mac(payload).key_among(topic, (key,), now_ms) is not None


def test_a_good_message_gives_its_sender_and_its_bytes_back() -> None:
    assert judged(SENT)
    assert split_mac(SENT).body == BODY
    assert (split_mac(BODY).body, split_mac(BODY).mac) == (BODY, None)


def test_no_changed_byte_is_believed() -> None:
    believed = [
        at
        for at in range(len(SENT))
        for bit in (0x01, 0x20, 0x80)
        if judged(SENT[:at] + bytes([SENT[at] ^ bit]) + SENT[at + 1 :])
    ]
    assert believed == []


@pytest.mark.parametrize(
    ("payload", "topic", "key"),
    [
        (SENT, TOPIC.replace("dealer", "wagers"), KEY),
        (SENT, TOPIC.replace("b7", "b8"), KEY),
        (SENT.replace(b"3600000", b"3600001"), TOPIC, KEY),
        (SENT, TOPIC, make_message_key(ORIGIN, "dealer")),
        (SENT + b" ", TOPIC, KEY),
        (SENT[:-1] + b',"x":1}', TOPIC, KEY),
        (b"{" + SENT[len(BODY) - 1 :][1:], TOPIC, KEY),
        (b"", TOPIC, KEY),
    ],
    ids=["another user", "another table", "another time", "another key", "longer", "a field after",
         "no body", "nothing"],
)  # fmt: skip
def test_what_is_moved_or_made_anew_is_not_believed(
    payload: bytes, topic: str, key: MessageKey
) -> None:
    assert not judged(payload, topic, key)


def test_a_key_counts_until_its_end() -> None:
    old = MessageKey(origin=ORIGIN, owner="dealer", secret=KEY.secret, until_ms=AT_MS + 1)
    assert judged(SENT, key=old)
    assert not judged(SENT, key=old, now_ms=AT_MS + 1)


def test_a_file_of_keys_reads_as_it_was_written(tmp_path: Path) -> None:
    keys = (
        make_message_key(ORIGIN, "shoe"),
        MessageKey(origin=ORIGIN, owner="shoe", secret=KEY.secret, until_ms=AT_MS),
        KEY,
    )
    path = tmp_path / "b7.messagekeys"
    path.write_text("".join(key.line for key in keys))
    path.chmod(0o600)
    assert load_message_keys(path, ORIGIN) == keys
    assert KEY.secret.hex() not in repr(keys)


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ("", 0o600, "holds no message key"),
        (KEY.line.replace("MESSAGEKEY", "KEY"), 0o600, "line 1: no message key"),
        (KEY.line + "\n" + KEY.line.replace(" -", " soon"), 0o600, "line 3: no message key"),
        (KEY.line.replace(" 0001", " 0002"), 0o600, "is damaged"),
        (KEY.line.replace("b7", "b8"), 0o600, "holds a message key of harbour/b8"),
        (KEY.line, 0o640, "chmod 600"),
    ],
)
def test_a_file_of_keys_that_cannot_be_used_says_why(
    tmp_path: Path, text: str, mode: int, says: str
) -> None:
    path = tmp_path / "keys"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(InputError, match=says) as refused:
        load_message_keys(path, ORIGIN)
    assert KEY.secret.hex() not in str(refused.value)


def test_a_line_is_parsed_whole() -> None:
    assert parse_message_keys(KEY.line) == (KEY,)
