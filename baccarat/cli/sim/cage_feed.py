"""`baccarat sim cage-feed`: the cage's conformance kit; check a consumer's book."""

import asyncio
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import reduce, wraps
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import click
import msgspec

from baccarat.cli.broker_options import broker_options
from baccarat.cli.main import EXIT_DONE, EXIT_NO, print_error
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME, FiniteFloatRange
from baccarat.rulebooks.library import named_rulebook
from baccarat.services.broker_at import LoginFiles, broker_at, broker_url
from baccarat.services.registry import configure_logging
from cage.reports.outside_book import read_rows
from events.clock import SystemClock
from events.errors import InputError
from events.free_text import whole_number
from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics, require_segment
from events.proof.message_keys import load_message_keys
from events.proof.message_mac import MessageKey
from simulators.conformance.book import ConsumerBook, book_of_rows, read_book
from simulators.conformance.log import FEWEST, make_sample_log
from simulators.conformance.server import CageFeed, ConformanceResult

__all__ = ["cage_feed", "kit_options", "load_keys"]

_MOST: Final = 10_000
_LAST_PORT: Final = 65_535
_HOST: Final = re.compile(r"[^][/?#@\s]+")  # none of what parts a URL
_SECONDS: Final = FiniteFloatRange(min=0)

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_Command: TypeAlias = Callable[..., Any]


def kit_options(who: str, user: str, patience_s: float) -> Callable[[_Command], _Command]:
    """Return what adds a kit's options; the command gets them as its broker, table and times.

    Args:
        who: is tested.
        user: its login, where none is given.
        patience_s: how long is waited for what it shows, where nothing is given.
    """
    options = (
        click.option("--bus", metavar="HOST:PORT", required=True, help="The broker to test on."),
        click.option(
            "--login", metavar="NAME", type=NAME, help="The kit's login: that of a table's core."
        ),
        broker_options,
        click.option("--site", default="lab", show_default=True, help="The site that is played."),
        click.option("--table", default="t1", show_default=True, help="The table that is played."),
        click.option("--rulebook", default="nz-scale-one", show_default=True, help="Which game."),
        click.option(
            "--user", type=NAME, default=user, show_default=True, help=f"The {who}'s login."
        ),
        click.option(
            "--wait", "wait_s", type=_SECONDS, default=60.0, help="Seconds for it to come (60)."
        ),
        click.option(
            "--patience",
            "patience_s",
            type=_SECONDS,
            default=patience_s,
            help=f"Seconds for what it shows ({patience_s:g}).",
        ),
        click.option("--json", "as_json", is_flag=True, help="One JSON document."),
    )

    def with_options(command: _Command) -> _Command:
        @wraps(command)
        def with_table(*, bus: str, login: str | None, files: LoginFiles, **given: Any) -> Any:
            topics = Topics(given.pop("site"), given.pop("table"))
            topics.validate()
            require_segment("user", given["user"])
            rulebook = named_rulebook(given.pop("rulebook"))
            kit = command.__name__.replace("_", "-")
            settings = _kit_broker(bus, login, files, kit)
            configure_logging(kit)
            return command(settings=settings, topics=topics, rulebook=rulebook, **given)

        return reduce(lambda made, option: option(made), reversed(options), with_table)

    return with_options


def load_keys(path: Path | None, topics: Topics) -> tuple[MessageKey, ...]:
    """Return the message keys of a kit's `--message-key`; none without it."""
    return load_message_keys(path, f"{topics.site}/{topics.table}") if path else ()


@click.command("cage-feed")
@kit_options("consumer", "cage", patience_s=30.0)
@click.option("--seed", type=int, default=1, show_default=True, help="Repeats a run.")
@click.option(
    "--settlements",
    type=click.IntRange(FEWEST, _MOST),
    default=200,
    show_default=True,
    help="How many at least, revisions included.",
)
@click.option(
    "--book",
    metavar="FILE",
    type=_FILE,
    help="The consumer's book, read until it is right: sums by seat, or rows as CSV or JSON Lines.",
)
@click.option(
    "--message-key",
    metavar="FILE",
    type=_FILE,
    help="The consumer's message keys: its requests must be proved.",
)
def cage_feed(  # noqa: PLR0913 - each is an option
    *,
    settings: BusSettings,
    topics: Topics,
    rulebook: Any,
    user: str,
    seed: int,
    settlements: int,
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
    feed = make_sample_log(seed, settlements, topics, rulebook)

    async def look() -> ConsumerBook | None:
        with suppress(InputError):  # while it is being written
            return await asyncio.to_thread(_read, book) if book else None
        return None

    made = CageFeed(
        settings,
        topics,
        user,
        feed,
        seed=seed,
        clock=SystemClock(),
        book=look,
        keys=load_keys(message_key, topics),
    )
    if not as_json:
        say(
            f"{len(feed.settlements)} settlements in {len(feed.events)} events on {topics.root}; "
            f"waiting for {user} ...",
            err=True,
        )
    verdict = asyncio.run(made.run(wait_s=wait_s, patience_s=patience_s))
    if not verdict.ok and book is not None:
        try:
            _read(book)
        except InputError as error:
            print_error(f"--book {book}: {error}")
    click.echo(msgspec.json.encode(verdict) if as_json else _text(verdict))
    return EXIT_DONE if verdict.ok else EXIT_NO


def _kit_broker(bus: str, login: str | None, files: LoginFiles, kit: str) -> BusSettings:
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
    number = whole_number(port, _LAST_PORT)
    if not _HOST.fullmatch(host) or not number:
        raise InputError(f"--bus {text!r}: write HOST:PORT, such as 127.0.0.1:1883")
    return host, number


def _read(path: Path) -> ConsumerBook | None:
    """Return the book in a file; None while there is none.

    Raises:
        InputError: it is no book; names the fault.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return read_book(data) if b'"seats"' in data else book_of_rows(read_rows(data, str(path)))


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
