"""A cage's book with nothing but paho-mqtt and SQLite: each settlement once, and none missed.

python cage_book.py BOOK HOST PORT bac/v1/SITE/TABLE     keep the book
python cage_book.py BOOK                                 show it

At a site's broker the environment names the login and the files that `baccarat site add` hands
over: BUS_LOGIN, BUS_PASSWORD_FILE, BUS_CA, BUS_CERT, BUS_KEY, and BUS_MESSAGE_KEY, which needs
message_key.py beside this file.
BUS_USER is the user of the topics, `cage` if there is none.
"""  # noqa: INP001 - a script to copy, in no package

import json
import os
import sqlite3
import sys
import time
import uuid
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

book = sqlite3.connect(sys.argv[1])
book.executescript("""
  CREATE TABLE IF NOT EXISTS settlement (id TEXT PRIMARY KEY, reverses TEXT);
  CREATE TABLE IF NOT EXISTS line (id TEXT, seat INT, staked INT, paid INT, commission INT);
  CREATE TABLE IF NOT EXISTS reader (one INTEGER PRIMARY KEY, position INT);
  INSERT OR IGNORE INTO reader VALUES (1, 0);
  CREATE VIEW IF NOT EXISTS seats AS SELECT seat, sum(staked), sum(paid), sum(commission) FROM line
    WHERE id NOT IN (SELECT reverses FROM settlement WHERE reverses NOT NULL) GROUP BY seat;
""")
user = os.environ.get("BUS_USER", "cage")
keys = os.environ.get("BUS_MESSAGE_KEY")
message_key = import_module("message_key") if keys else None  # the file beside this one
asked = (0, 0.0)  # from which position we have asked for a replay, and when
newest = 0  # the highest position that anybody has spoken of


def request(client: mqtt.Client, command: str, **fields: object) -> None:
    """Ask the table; the answer comes on response/USER."""
    body = json.dumps({"transaction": str(uuid.uuid4()), **fields}).encode()
    topic = f"{root}/request/{user}/{command}"
    client.publish(topic, message_key.prove(keys, topic, body) if message_key else body, qos=1)


def connected(client: mqtt.Client, *_: object) -> None:
    """Every time. The retained state says how far the log has come, and we ask for what we lack."""
    below = ("event", f"response/{user}/events", f"response/{user}", "state", "status/table")
    client.subscribe([(f"{root}/{topic}", 1) for topic in below])


def received(client: mqtt.Client, _: object, message: mqtt.MQTTMessage) -> None:
    """Take the event whose turn it is; drop what came before, ask for what is missing."""
    global asked, newest  # noqa: PLW0603 - a script of one page
    said = json.loads(message.payload or b"{}")  # empty: a retained topic was cleared
    if message_key and "/response/" not in message.topic:
        said.pop("event_id", None)  # nothing proves it: a hint that there is something to ask for
    elif message_key and not message_key.check(keys, message.topic, message.payload):
        sys.stderr.write(f"not proved: {message.topic}: {said.get('code', '')}\n")
        return
    if message.topic.endswith(f"/response/{user}"):
        if said["result"] == "refused":
            sys.exit(f"the table refused: {said}")
        return
    position = said.get("position", newest)  # the table's heartbeat has none, and wakes us
    newest = max(newest, position)
    (here,) = book.execute("SELECT position FROM reader").fetchone()
    if position <= here:
        return
    if position > here + 1 or "event_id" not in said:
        if asked[0] != here + 1 or time.monotonic() - asked[1] > 2:  # noqa: PLR2004 - seconds
            asked = (here + 1, time.monotonic())
            request(client, "replay", **{"from": here + 1})
        return
    settled = said["type"] == "coup_settled"
    with book:  # one transaction: the settlement, and how far we have come
        if settled:
            apply(said)
        book.execute("UPDATE reader SET position = max(position, ?)", (position,))
    if settled:  # only now, because only now it is ours
        request(client, "ack", consumer="cage", position=position)


def apply(event: dict[str, Any]) -> None:
    """Book a settlement, unless it is booked. One that reverses another takes its place."""
    if event["v"] != 1:
        sys.exit(f"version {event['v']} of coup_settled is not known to this book")
    settlement = event["data"]["settlement"]
    name = settlement["settlement_id"]
    row = (name, settlement.get("reverses"))
    if book.execute("INSERT OR IGNORE INTO settlement VALUES (?, ?)", row).rowcount:
        for line in settlement["lines"]:
            staked = 0 if line.get("kind") == "promo" else line["stake"]
            sums = (name, line["seat"], staked, line["paid"], line["commission"])
            book.execute("INSERT INTO line VALUES (?, ?, ?, ?, ?)", sums)


if len(sys.argv) == 2:  # noqa: PLR2004 - the book alone
    names = ("staked", "paid", "commission")
    rows = book.execute("SELECT * FROM seats").fetchall()
    print(json.dumps({"seats": {str(s): dict(zip(names, of, strict=True)) for s, *of in rows}}))  # noqa: T201 - shown
    sys.exit()
host, port, root = sys.argv[2:]
client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=f"cage-{uuid.uuid4()}")
client.on_connect, client.on_message = connected, received
if ca := os.environ.get("BUS_CA"):
    client.tls_set(ca, os.environ.get("BUS_CERT"), os.environ.get("BUS_KEY"))
if login := os.environ.get("BUS_LOGIN"):
    client.username_pw_set(login, Path(os.environ["BUS_PASSWORD_FILE"]).read_text().strip())
client.connect(host, int(port))
with suppress(KeyboardInterrupt):
    client.loop_forever()
