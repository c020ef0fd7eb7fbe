"""The integrator's examples of message keys, in Python, JavaScript and C, against the product."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from events.proof.message_keys import make_message_key
from events.proof.message_mac import MessageKey, add_mac, split_mac

EXAMPLES = Path("examples").resolve()
TOPIC = "bac/v1/harbour/b7/request/cage/replay"
BODY = '{"transaction":"é-1","from":1}'.encode()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    made = str(tmp_path_factory.mktemp("c") / "message_key")
    strict = ["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = ["cc", *strict, "-o", made, str(EXAMPLES / "message_key.c"), "-lcrypto"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"apt-get install gcc libssl-dev: {done}"
    return {
        "python": [sys.executable, str(EXAMPLES / "message_key.py")],
        "javascript": ["node", str(EXAMPLES / "message_key.mjs")],
        "c": [made],
    }


def run(program: list[str], what: str, file: Path, said: bytes, topic: str = TOPIC) -> bytes | None:
    command = [*program, what, str(file), topic]
    done = subprocess.run(command, input=said, capture_output=True, check=False, timeout=60)
    assert done.returncode in {0, 1}, done
    return done.stdout if done.returncode == 0 else None


@pytest.mark.parametrize("language", ["python", "javascript", "c"])
def test_an_example_proves_and_checks(
    language: str, programs: dict[str, list[str]], tmp_path: Path
) -> None:
    program, file = programs[language], tmp_path / "b7-cage.messagekey"
    new, old = make_message_key("harbour/b7", "cage"), make_message_key("harbour/b7", "cage")
    file.write_text(f"{new.line}{old.line}")
    made = run(program, "prove", file, BODY)
    assert made is not None
    message, now_ms = split_mac(made), time.time_ns() // 1_000_000
    assert message.body == BODY
    assert message.key_among(TOPIC, (new,), now_ms) == new
    assert message.mac is not None
    assert abs(message.mac.at_ms - now_ms) < 10_000
    answer = add_mac(old, TOPIC, BODY, time.time_ns())
    assert run(program, "check", file, answer) == BODY
    stranger = MessageKey(origin=old.origin, owner=old.owner, secret=bytes(32))
    for bad in (BODY, answer.replace(b'"from":1', b'"from":2'), answer + b" ",
                add_mac(stranger, TOPIC, BODY, time.time_ns())):  # fmt: skip
        assert run(program, "check", file, bad) is None
    assert run(program, "check", file, answer, f"{TOPIC}s") is None
