"""The history process: answer queries about a table's past, one at a time, in an own process.

`python -m baccarat.history.process LOG` reads queries on its standard input and answers on its
standard output, in the form of `table_core.service.history_child`, until the input ends. It opens
the log for reading only, for the length of a query. While it waits it has nothing open, so the
table can close its file. It keeps an index of everything that it has read.
"""

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from baccarat.history.evidence_from_log import prove
from baccarat.rulebooks.editions import AvailableRulebooks, available_rulebooks
from events.commands import FindCoups, ProveCoup, Query, Refusal, ShowTable, TellCoup, WhatIfCard
from events.commands.registry import COMMANDS
from events.errors import InputError, LogRefused
from events.log.reader import LogReader, reading
from table_core.fold.snapshot import encode_state
from table_core.history.index import HistoryIndex
from table_core.history.queries import (
    find_coups,
    show_table,
    show_timeline,
    show_what_if,
    withheld_refusal,
)
from table_core.process.coup_recall import recall_coup_indexed
from table_core.process.history_client import ANSWER_BYTES, RECALL, HistoryQuestion
from table_core.refusals import refuse
from table_core.replay.coup_events import LogRow
from table_core.service.history_child import HEAD_BYTES, REFUSED, SHOWN

__all__ = ["HistoryQueries"]

# The table and the shoe have priority.
_NICENESS: Final = 10
# A query that comes while a long log is still being read waits this long; then it is refused.
_CATCH_UP_S: Final = 1.5
# Length of one read while no query waits.
_SLICE_S: Final = 0.2
_LOOK_EVERY: Final = 256
_INPUT: Final = 0
_OUTPUT: Final = 1


class HistoryQueries:
    """Answers queries about one log.

    Args:
        path: the log's file.
        rulebooks: those at hand.
    """

    def __init__(self, path: Path, rulebooks: AvailableRulebooks) -> None:
        self._path = path
        self._books, self._sources = rulebooks.books, rulebooks.sources
        self._index: HistoryIndex | None = None

    def answer(self, question: HistoryQuestion) -> bytes:
        """Return the answer or the refusal; its first byte is its kind."""
        said = self._answer(question)
        if isinstance(said, bytes) and len(said) > ANSWER_BYTES:
            said = refuse("too_large", f"{len(said):,} bytes; at most {ANSWER_BYTES:,} are sent")
        return SHOWN + said if isinstance(said, bytes) else REFUSED + msgspec.json.encode(said)

    def catch_up(self, to: int, budget_s: float) -> bool:
        """Read on, and return whether everything up to a position was read within so many seconds.

        Raises:
            InputError, LogRefused: the log cannot be read.
        """
        if self._index is not None and self._index.newest.position >= to:
            return True
        until = time.monotonic() + budget_s
        with reading(self._path) as log:
            index = self._index = self._index or HistoryIndex(log.origin)
            for row in log.bare_after(index.newest.position, index.newest.head):
                index.take(row)
                if row[0] % _LOOK_EVERY == 0 and time.monotonic() > until:
                    break
        return index.newest.position >= to

    def read_on(self, to: int, budget_s: float) -> bool:
        """As `catch_up`, but stop at a log that cannot be read; the next query reports that."""
        try:
            return self.catch_up(to, budget_s)
        except (InputError, LogRefused):
            return True

    def _answer(self, question: HistoryQuestion) -> bytes | Refusal:
        try:
            if not self.catch_up(question.to, _CATCH_UP_S):
                done = self._index.newest.position if self._index else 0
                text = f"the log is being read: {done:,} of {question.to:,} events; ask again"
                return refuse("past_loading", text)
            with reading(self._path) as log:
                return self._look(log, question)
        except (InputError, LogRefused) as error:
            return refuse("past_unavailable", str(error))

    def _look(self, log: LogReader, question: HistoryQuestion) -> bytes | Refusal:
        index = self._index
        assert index is not None  # noqa: S101 - it has caught up

        def read(position: int, head: bytes) -> Iterator[LogRow]:
            return log.bare_after(position, head)

        if question.name == RECALL:
            state = recall_coup_indexed(index, read, str(question.body))
            return b"null" if state is None else encode_state(state)
        found: Any
        match msgspec.convert(question.body, COMMANDS[question.name]):
            case FindCoups() as asked:
                found = find_coups(index, asked)
            case TellCoup() as asked:
                found = show_timeline(index, read, log.origin, self._books, asked)
            case ShowTable() as asked:
                found = show_table(index, read, log.origin, self._books, asked)
            case WhatIfCard() as asked:
                found = show_what_if(index, read, self._books, asked)
            case ProveCoup() as asked:
                found = withheld_refusal(index, asked.coup) or prove(
                    index, read, log, asked.coup, self._sources
                )
            case Query() as asked:
                found = refuse("unknown_command", f"{type(asked).__name__} is not read here")
        return found if isinstance(found, Refusal) else msgspec.json.encode(found)


def _serve(past: HistoryQueries) -> None:
    """Answer until the input ends; read on in a long log between queries."""
    owed = 0
    while True:
        if owed and not select.select([_INPUT], [], [], 0)[0]:
            owed = 0 if past.read_on(owed, _SLICE_S) else owed
            continue
        head = _read(HEAD_BYTES)
        message = _read(int.from_bytes(head, "big")) if head else b""
        if not message:
            return
        question = msgspec.json.decode(message, type=HistoryQuestion)
        answer = past.answer(question)
        _write(len(answer).to_bytes(HEAD_BYTES, "big") + answer)
        owed = question.to


def _read(length: int) -> bytes:
    """Return so many bytes of the input, or none when it ended."""
    got = b""
    while len(got) < length:
        more = os.read(_INPUT, length - len(got))
        if not more:
            return b""
        got += more
    return got


def _write(message: bytes) -> None:
    left = memoryview(message)
    while left:
        left = left[os.write(_OUTPUT, left) :]


def _main(path: str) -> None:
    os.nice(_NICENESS)
    with suppress(BrokenPipeError):  # the table's process has ended
        _serve(HistoryQueries(Path(path), available_rulebooks(Path(path))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
