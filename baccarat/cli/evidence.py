"""`baccarat evidence LOG --coup ID -o FILE`, and `baccarat evidence verify` and `compare`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.output_files import write_whole
from baccarat.cli.progress import show_progress, stderr_is_terminal
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.history.evidence_from_log import NoEvidence, build_name, gather
from baccarat.rulebooks.editions import available_rulebooks_with_warnings
from baccarat.rulebooks.known import known_rulebooks, rulebook_line
from displays.verifier.page import page_with_evidence
from events.cards import Card
from events.errors import InputError, LogError
from events.free_text import show_lines, show_text
from events.proof.keys import read_verifier_key
from table_core.evidence.bundle import EvidenceVerdict, read_evidence, verify_evidence
from table_core.evidence.comparison import EvidenceComparison, compare_evidence
from table_core.evidence.judge import EvidenceFault

__all__ = ["evidence"]

_MAKE: Final = "make"
# The largest event has 4 MiB; a coup has some tens of events.
_MAX_FILE: Final = 256 * 1024 * 1024


class _DefaultToMake(click.Group):
    """A group that runs `make` when its first argument is no command but a log."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = not args or args[0] in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if named else [_MAKE, *args])


@click.group(cls=_DefaultToMake)
def evidence() -> None:
    """Make evidence for one coup, verify it, or compare two files.

    `baccarat evidence LOG --coup ID -o FILE` makes it.
    """


@evidence.command(_MAKE)
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--coup", required=True, metavar="ID", type=NAME, help="<shoe>/<number>: 20261127-01/31."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE",
              help="The evidence within a page that verifies it.")  # fmt: skip
@click.option("--rulebook", "rulebooks", type=click.Path(path_type=Path), multiple=True,
              metavar="FILE", help="One that is neither beside LOG nor shipped.")  # fmt: skip
def _make(
    log: Path, coup: str, output: Path | None, html: Path | None, rulebooks: tuple[Path, ...]
) -> int:
    """Write the evidence for coup ID of LOG to FILE.

    With `--html` it is written within a page that verifies it in a browser. Such a page proves
    nothing about itself: whoever gets it saves the evidence from it, and takes a page of their own.

    LOG stays as it is, and may be in use. Exit code 1: the coup cannot be proved; 2: there is no
    such log or coup.
    """
    if output is None and html is None:
        raise InputError("-o FILE is missing, or --html FILE")
    progress = show_progress if stderr_is_terminal() else None
    at_hand = available_rulebooks_with_warnings(log, map(str, rulebooks))
    try:
        data = gather(log, coup, build=build_name(), rulebooks=at_hand, progress=progress)
    except (NoEvidence, LogError) as no:
        reason = str(no).removeprefix(f"{log}: ")
        say(f"{log}: {reason}", err=True)
        return EXIT_NO
    if output is not None:
        write_whole(output, data, "-o")
        say(f"{output}: coup {coup}, {len(data):,} bytes", err=True)
    if html is not None:
        write_whole(html, page_with_evidence(data).encode(), "--html")
        say(f"{html}: coup {coup}; the page proves nothing about itself: its reader saves the "
            "evidence and verifies it with a page or a command of their own", err=True)  # fmt: skip
    return EXIT_DONE


@evidence.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", "keys", required=True, multiple=True, metavar="PUB",
              help="The log's public key, or a file that holds it.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def _verify(file: Path, keys: tuple[str, ...], as_json: bool) -> int:
    """Verify FILE with the log's public key and nothing else.

    Exit code 1: it does not verify, and the part that is wrong is named; 2: it is no evidence.
    """
    given = frozenset(map(read_verifier_key, keys))
    try:
        verdict = verify_evidence(_read(file), given)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    known = known_rulebooks()
    if as_json:
        books = [
            {"id": book.id, "hash": book.hash, "known": known.get(book.hash)}
            for book in verdict.rulebooks
        ]
        click.echo(msgspec.json.encode(verdict._asdict() | {"rulebooks": books}))
    else:
        click.echo(_as_text(file, verdict, known))
    return EXIT_DONE if verdict.ok else EXIT_NO


@evidence.command("compare")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--key", "keys", multiple=True, metavar="PUB",
              help="The log's public key, or its file: both are verified first.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def _compare(first: Path, second: Path, keys: tuple[str, ...], as_json: bool) -> int:
    """Compare two files of evidence for one coup.

    Exit code 0: they hold the same, or one is newer and goes on from the other; 1: they contradict
    one another, or one does not verify; 2: they are of two coups, or no evidence.
    """
    given = frozenset(map(read_verifier_key, keys))
    found = None
    for file in (first, second):
        verdict = verify_evidence(_read(file), given) if given else None
        if verdict is not None and not verdict.ok:
            told = f"{file} does not verify: {verdict.part}: {verdict.reason}"
            found = found or EvidenceComparison("contradicting", None, None, told)
    try:
        found = found or compare_evidence(*(read_evidence(_read(each)) for each in (first, second)))
    except EvidenceFault as fault:
        found = EvidenceComparison("contradicting", None, None, str(fault))
    if as_json:
        click.echo(msgspec.json.encode(found._asdict()))
    else:
        trusted = "" if given else "; no signature was checked, give --key"
        click.echo(show_text(f"{first}, {second}: {found.result}: {found.reason}{trusted}"))
    return EXIT_NO if found.result == "contradicting" else EXIT_DONE


def _as_text(file: Path, verdict: EvidenceVerdict, known: Mapping[str, str]) -> str:
    expected = verdict.expected
    if expected is None:
        return show_text(f"{file}: NOT ok: {verdict.part}: {verdict.reason}")
    lines = [
        f"{file}: ok, coup {verdict.coup} of {verdict.origin}, {verdict.events} events proved",
        f"signed  {verdict.key}, for {verdict.size:,} events",
        f"Player  {_faces(expected.player)} = {expected.player_total}",
        f"Banker  {_faces(expected.banker)} = {expected.banker_total}",
        f"Result  {'void' if expected.void else expected.winner and expected.winner.value}",
        f"Amounts in minor units, by {expected.rulebook}: staked {expected.staked}",
        f"paid {expected.paid}, commission {expected.commission}",
        *(
            rulebook_line(book.id, book.hash, known)
            for book in verdict.rulebooks
            if book.hash not in known
        ),
    ]
    return show_lines(lines)


def _faces(cards: tuple[Card, ...]) -> str:
    return " ".join(card.value for card in cards)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(_MAX_FILE + 1)
    except OSError as error:
        raise InputError(f"{error.strerror}; name a file of evidence") from error
    if len(data) > _MAX_FILE:
        raise InputError(f"more than {_MAX_FILE:,} bytes are no evidence")
    return data
