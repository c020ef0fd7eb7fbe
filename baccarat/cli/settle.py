"""`baccarat settle`: settle one coup, or a stream of them, without a table.

Exit codes: 0 done; 1 one coup was settled and one of its wagers refused; 2 bad input. A batch
reports bad coups, refused wagers and lines that are no case (`invalid_case`) in its output lines
and still exits 0. Only a line that is not JSON ends a batch with 2.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from io import BufferedIOBase
from typing import BinaryIO, Final, cast

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.output_files import require_stdout
from baccarat.rulebooks.library import named_rulebook
from events.cards import Card, parse_card
from events.errors import InputError
from events.free_text import show_lines
from events.types import Wager
from table_core.batch import (
    CaseError,
    CaseJudge,
    Judgement,
    RefusedWager,
    SettledWager,
    answer_line,
    judge_case,
)
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook import Rulebook

__all__ = ["answer_batch", "settle"]

# 10,000 wagers make a line of about 1 MB; without a bound one line could fill the memory.
_MAX_LINE_BYTES: Final = 16 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024

# Enough digits for any amount there could be, few enough to read at once.
_WAGER: Final = re.compile(
    r"(?:(?P<seat>[0-9]{1,9}):)?(?P<bet>[a-z0-9_]+)=(?P<stake>-?[0-9]{1,30})\Z"
)
_SUITS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}


@click.command()
@click.option(
    "--rulebook", metavar="R", help="A shipped rulebook, such as au-commission, or a file."
)
@click.option("--cards", metavar="LIST", help='In dealing order: "9H,2D,8S,KC,5H".')
@click.option("--wager", "wagers", multiple=True, metavar="[SEAT:]BET=STAKE", help="Minor units.")
@click.option("--batch", is_flag=True, help="Cases from stdin, answers to stdout; JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a table.")
def settle(
    *,
    rulebook: str | None,
    cards: str | None,
    wagers: tuple[str, ...],
    batch: bool,
    as_json: bool,
) -> int:
    """Judge coups without a table."""
    if batch:
        if rulebook is not None or cards is not None or wagers:
            raise InputError("--batch takes its cases from stdin, not from other options")
        answer_batch(_stdin(), _stdout())
        return EXIT_DONE
    if rulebook is None or cards is None:
        raise InputError('write --rulebook R --cards "9H,2D,8S,KC,5H", or --batch')
    book = named_rulebook(rulebook)
    placed = [_wager(index, text) for index, text in enumerate(wagers)]
    answer = judge_case(book, _cards(cards), placed)
    if isinstance(answer, CaseError):
        raise InputError(f"--cards: {answer.code}: {answer.text}")
    text = msgspec.json.encode(answer) if as_json else _table(book, answer, placed).encode()
    click.echo(text)
    refused = any(isinstance(line, RefusedWager) for line in answer.settlements)
    return EXIT_NO if refused else EXIT_DONE


# ---- the batch ----


def answer_batch(source: BufferedIOBase, sink: BinaryIO) -> None:
    """Answer each case on a line of its own; flush the answers to lines that arrived together.

    Args:
        source: cases, a line each.
        sink: takes the answers, a line each.

    Raises:
        InputError: a line is not JSON or is too long, or the source cannot be read; names the line.
            Earlier lines are answered.
    """
    judges = {name: CaseJudge(load_rulebook(name)) for name in shipped_ids()}
    number = 0
    for lines in _read_lines(source):
        answers: list[bytes] = []
        try:
            for line in lines:
                answers.append(answer_line(line, judges.get))  # noqa: PERF401 - an error keeps them
        except InputError as error:
            raise InputError(f"line {number + len(answers) + 1}: {error}") from error
        finally:
            number += len(answers)
            sink.write(b"\n".join([*answers, b""]))
            sink.flush()


def _read_lines(source: BufferedIOBase) -> Iterator[list[bytes]]:
    """Yield the lines that have arrived, without line ends; wait only when none is left."""
    number, begun, held = 1, list[bytes](), 0
    while chunk := _read(source, number):
        *ended, rest = chunk.split(b"\n")
        if ended:
            ended[0] = b"".join([*begun, ended[0]])
            yield ended
            number, begun, held = number + len(ended), [], 0
        begun.append(rest)
        held += len(rest)
        if held > _MAX_LINE_BYTES:
            raise InputError(f"line {number}: longer than {_MAX_LINE_BYTES} bytes")
    if held:
        yield [b"".join(begun)]


def _read(source: BufferedIOBase, number: int) -> bytes:
    try:
        return source.read1(_READ_BYTES)
    except OSError as error:
        raise InputError(f"line {number}: stdin cannot be read: {error}") from error


def _stdin() -> BufferedIOBase:
    if sys.stdin is None:
        raise InputError("--batch reads stdin, and that is closed")
    return cast("BufferedIOBase", sys.stdin.buffer)


def _stdout() -> BinaryIO:
    require_stdout("what --batch answers")
    return sys.stdout.buffer


# ---- one coup ----


def _cards(text: str) -> list[Card]:
    return [parse_card(face) for face in text.split(",")] if text.strip() else []


def _wager(index: int, text: str) -> Wager:
    match = _WAGER.match(text)
    if match is None:
        raise InputError(
            f"--wager {text!r}: write [SEAT:]BET=STAKE with the stake in minor units, "
            "such as banker=2500 or 7:tie=500"
        )
    return Wager(
        id=f"w{index}",
        seat=int(match["seat"] or 1),
        bet=match["bet"],
        stake=int(match["stake"]),
    )


def _table(book: Rulebook, answer: Judgement, wagers: Sequence[Wager]) -> str:
    lines = [
        f"Player  {_faces(answer.player)} = {answer.player_total}",
        f"Banker  {_faces(answer.banker)} = {answer.banker_total}",
        f"Result  {answer.winner.value}",
    ]
    if wagers:
        lines += ["", f"Amounts in minor units of {book.currency}, by {book.id}:"]
    for wager, line in zip(wagers, answer.settlements, strict=True):
        staked = f"  seat {wager.seat:>2}  {wager.bet:<20} {wager.stake:>10}"
        lines.append(f"{staked}  {_result(line)}")
    return show_lines(lines)


def _result(line: SettledWager | RefusedWager) -> str:
    if isinstance(line, RefusedWager):
        return f"refused: {line.code}"
    came = line.result if line.category == line.result else f"{line.result} ({line.category})"
    return (
        f"{came:<22} winnings {line.winnings:>10}  commission {line.commission:>8}"
        f"  paid {line.paid:>10}"
    )


def _faces(cards: Sequence[Card]) -> str:
    return " ".join(f"{'10' if c.rank == 'T' else c.rank}{_SUITS[c.suit]}" for c in cards)
