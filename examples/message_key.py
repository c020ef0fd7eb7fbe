"""Prove a request to the table, and check what the table answers, with Python's library alone.

python message_key.py prove KEYFILE TOPIC < BODY       prints the message to publish on TOPIC
python message_key.py check KEYFILE TOPIC < MESSAGE    prints the body; code 1 if it is not proved
"""  # noqa: INP001 - a script to copy, in no package

import hashlib
import hmac
import re
import sys
import time
from pathlib import Path


def keys(path: str) -> dict[str, bytes]:
    """Return the secrets by their ids, the newest first: `MESSAGEKEY name id secret until`."""
    lines = [line.split() for line in Path(path).read_text("ascii").splitlines()]
    return {name: bytes.fromhex(secret) for _, _, name, secret, _ in lines}


def code(secret: bytes, topic: str, at_ms: str, body: bytes) -> str:
    """Return the code of a body on a topic at a time, in hex."""
    text = f"v1\n{topic}\n{at_ms}\n".encode() + body
    return hmac.new(secret, text, hashlib.sha256).hexdigest()


def prove(path: str, topic: str, body: bytes) -> bytes:
    """Return a JSON object with its code as the last field."""
    name, secret = next(iter(keys(path).items()))
    at_ms = str(time.time_ns() // 1_000_000)
    mac = f"v1.{name}.{at_ms}.{code(secret, topic, at_ms, body)}"
    return body[:-1] + f',"mac":"{mac}"}}'.encode()


def check(path: str, topic: str, message: bytes) -> bytes | None:
    """Return the object as the table wrote it; None where nothing proves that it did."""
    found = re.search(rb',"mac":"v1\.([0-9a-f]{8})\.([0-9]+)\.([0-9a-f]{64})"}\Z', message)
    if found is None:
        return None
    name, at_ms, given = (part.decode() for part in found.groups())
    body, secret = message[: found.start()] + b"}", keys(path).get(name)
    if secret is None or not hmac.compare_digest(code(secret, topic, at_ms, body), given):
        return None
    return body


if __name__ == "__main__":
    what, key_file, topic = sys.argv[1:]
    said = sys.stdin.buffer.read()
    made = prove(key_file, topic, said) if what == "prove" else check(key_file, topic, said)
    sys.stdout.buffer.write(made or b"")
    sys.exit(made is None)
