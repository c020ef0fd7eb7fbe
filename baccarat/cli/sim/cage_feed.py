"""`baccarat sim cage-feed`: the cage's conformance kit; check a consumer's book."""

import asyncio
import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import quote

import click
import msgspec

from baccarat.cli.broker_options import broker_options
from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.number_options import FiniteFloatRange
from baccarat.cli.shown import say
from baccarat.rulebooks.library import named_rulebook
from baccarat.services.broker_at import LoginFiles, broker_at, broker_url
from baccarat.services.registry import configure_logging
from cage.reports.outside_book import read_rows
from events.clock import SystemClock
from events.errors import InputError
from events.mqtt.bus import BusSettings
from events.mqtt.topics import SEGMENT, Topics
from events.proof.message_keys import load_message_keys
from simulators.conformance.book import ConsumerBook, book_of_rows, read_book
from simulators.conformance.log import FEWEST, make_sample_log
from simulators.conformance.server import CageFeed, ConformanceResult

__all__ = ["SECONDS", "cage_feed", "kit_broker"]

SECONDS: Final = FiniteFloatRange(min=0)
"""The type of an option that is a time in seconds."""
_MOST: Final = 10_000
_PORTS: Final = range(1, 2**16)
_HOST: Final = re.compile(r"[^][/?#@\s]+")  # none of what parts a URL


@click.command("cage-feed")
@click.option("--bus", metavar="HOST:PORT", required=True, help="The broker to test on.")
@click.option("--login", metavar="NAME", help="The kit's own login: that of a table's core.")
@broker_options
@click.option("--site", default="lab", show_default=True, help="The site that is played.")
@click.option("--table", default="t1", show_default=True, help="The table that is played.")
@click.option("--user", default="cage", show_default=True, help="The consumer's login.")
@click.option("--seed", type=int, default=1, show_default=True, help="Repeats a run.")
@click.option(
    "--settlements",
    type=click.IntRange(FEWEST, _MOST),
    default=200,
    show_default=True,
    help="How many at least, revisions included.",
)
@click.option("--rulebook", default="nz-scale-one", show_default=True, help="Which game.")
@click.option(
    "--book",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The consumer's book, read until it is right: sums by seat, or rows as CSV or JSON Lines.",
)
@click.option(
    "--message-key",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The consumer's message keys: its requests must be proved.",
)
@click.option("--wait", "wait_s", type=SECONDS, default=60.0, help="Seconds for it to come (60).")
@click.option(
    "--patience", "patience_s", type=SECONDS, default=30.0, help="Seconds for its book (30)."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def cage_feed(  # noqa: PLR0913 - each is an option
    *,
    bus: str,
    login: str | None,
    files: LoginFiles,
    site: str,
    table: str,
    user: str,
    seed: int,
    settlements: int,
    rulebook: str,
    book: Path | None,
    message_key: Path | None,
    wait_s: float,
    patience_s: float,
    as_json: bool,
) -> int:
    """Play a table to a consumer, with all that may go wrong on the way, and look at its book.

    Start the consumer on bac/v1/lab/t1 with the login `cage` before or after. It asks for what was
    before it, books each settlement once, acknowledges, and tells its book: on
    request/<user>/book, or in FILE. Exit code 0 when the book is right, 1 when it is not.
    """
    topics = Topics(site, table)
    topics.validate()
    if not SEGMENT.match(user):
        raise InputError(f"user {user!r}: use lower-case letters, digits, - and _")
    settings = kit_broker(bus, login, files)
    origin = f"{site}/{table}"
    keys = load_message_keys(message_key, origin) if message_key else ()
    feed = make_sample_log(seed, settlements, topics, named_rulebook(rulebook))

    async def look() -> ConsumerBook | None:
        return await asyncio.to_thread(_read, book) if book else None

    configure_logging("cage-feed")
    made = CageFeed(
        settings,
        topics,
        user,
        feed,
        seed=seed,
        clock=SystemClock(),
        book=look,
        keys=keys,
    )
    if not as_json:
        say(
            f"{len(feed.settlements)} settlements in {len(feed.events)} events on {topics.root}; "
            f"waiting for {user} ...",
            err=True,
        )
    verdict = asyncio.run(made.run(wait_s=wait_s, patience_s=patience_s))
    click.echo(msgspec.json.encode(verdict) if as_json else _text(verdict))
    return EXIT_DONE if verdict.ok else EXIT_NO


def kit_broker(
    bus: str, login: str | None, files: LoginFiles, kit: str = "cage-feed"
) -> BusSettings:
    """Return the broker of a kit, by its options; the client id begins with the kit's name.

    Raises:
        InputError: `--bus` is no HOST:PORT; or there is no CA for a certificate.
    """
    if (files.cert or files.key) and files.ca is None:
        raise InputError(
            "--cert and --key are for TLS: name the file of the site's CA, --ca ca.pem"
        )
    host, port = _address(bus)
    scheme = "mqtts" if files.ca else "mqtt"
    address = f"[{host}]" if ":" in host else host
    named = f"{quote(login, safe='')}@" if login else ""
    parts = broker_url(f"{scheme}://{named}{address}:{port}/", "HOST:PORT", f"--bus {bus!r}")
    return broker_at(parts, f"{kit}-{os.getpid()}", files)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if ":" in host and host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    number = port.isascii() and port.isdigit() and int(port[:6])
    if not _HOST.fullmatch(host) or number not in _PORTS:
        raise InputError(f"--bus {text!r}: write HOST:PORT, such as 127.0.0.1:1883")
    return host, number


def _read(path: Path) -> ConsumerBook | None:
    """Return the book in a file; None while there is none, or while it is being written."""
    try:
        data = path.read_bytes()
        return read_book(data) if b'"seats"' in data else book_of_rows(read_rows(data, str(path)))
    except (FileNotFoundError, InputError):
        return None


def _text(verdict: ConformanceResult) -> str:
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(verdict.faults.items()))
    first = (
        f"{verdict.settlements} settlements in {verdict.events} events, {verdict.sent} messages; "
        f"{verdict.replays} replays; on the way: {faults or 'nothing'}"
    )
    if verdict.ok:
        return f"{first}\nThe book is right, and so are the acknowledgements."
    wrong = f"The consumer is WRONG: {verdict.first_difference}"
    return "\n".join(
        [first, wrong, *([f"Most likely {verdict.likely}."] if verdict.likely else [])]
    )
