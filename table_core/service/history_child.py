"""Runs the history reader as a separate process, and asks it one question after another.

A question costs the table one line written and one line read. A fault of the reader is a refusal of
the question, and nothing else. The first question starts the process, and the next one restarts it
after it ended; an answer that does not come kills it. The reader ends when its standard input does,
so it never outlives the table.
"""

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from events.commands import Refusal
from events.structured_log import structlog
from table_core.process.history_client import ANSWER_BYTES, HistoryQuestion
from table_core.refusals import refuse

__all__ = [
    "HEAD_BYTES",
    "REFUSED",
    "SHOWN",
    "WAITING_MOST",
    "HistoryProcess",
]

WAITING_MOST: Final = 16
"""The maximum number of questions that wait at once, of all people at all screens."""
HEAD_BYTES: Final = 4
"""The size of a message's length, big-endian, which precedes it; an answer begins with its kind."""
SHOWN: Final = b"+"
REFUSED: Final = b"-"

# Less than a console waits for its answer, so that a person sees the reason.
_PATIENCE_S: Final = 2.5
# No question takes as long: a reader that is still busy then is killed.
_STUCK_S: Final = 20.0
_AGAIN_S: Final = 1.0

_log: Final = structlog.get_logger()


class _Waiting(NamedTuple):
    question: HistoryQuestion
    said: "asyncio.Future[bytes | Refusal]"


class HistoryProcess:
    """Starts, asks and ends a reader process.

    Args:
        command: starts the process.
        patience_s: how long a question may take.
    """

    def __init__(self, command: Sequence[str | Path], patience_s: float = _PATIENCE_S) -> None:
        self._command = command
        self._patience_s = patience_s
        self._waiting: deque[_Waiting] = deque()
        self._wanted = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._started = -_AGAIN_S

    @property
    def pid(self) -> int | None:
        """The process's id, while it runs."""
        return self._process.pid if self._process else None

    async def ask(self, question: HistoryQuestion) -> bytes | Refusal:
        """Return the answer's bytes, or the refusal."""
        if len(self._waiting) >= WAITING_MOST:
            return refuse("busy", f"{WAITING_MOST} questions wait already; ask again")
        asked = _Waiting(question, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        self._wanted.set()
        try:
            async with asyncio.timeout(self._patience_s):
                return await asked.said
        except TimeoutError:
            return refuse("past_slow", "the past is still being read; ask again")
        finally:
            if asked in self._waiting:  # its sender no longer waits
                self._waiting.remove(asked)

    async def run(self) -> None:
        """Serve until cancelled."""
        try:
            while True:
                await self._wanted.wait()
                if not self._waiting:
                    self._wanted.clear()
                    continue
                asked = self._waiting[0]
                said = await self._one(asked.question)
                if self._waiting and self._waiting[0] is asked:
                    self._waiting.popleft()
                if not asked.said.done():
                    asked.said.set_result(said)
        finally:
            await self._end()

    async def _one(self, question: HistoryQuestion) -> bytes | Refusal:
        try:
            process = self._process or await self._start()
            async with asyncio.timeout(_STUCK_S):
                return await _exchange(process, msgspec.json.encode(question))
        except (OSError, EOFError, TimeoutError, msgspec.MsgspecError) as error:
            await self._end()
            _log.error("past.reader_ended", asked=question.name, reason=repr(error))
            return refuse("past_unavailable", "the past could not be read; ask again")

    async def _start(self) -> asyncio.subprocess.Process:
        """Start the process; one that ends at once is restarted only after a delay."""
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, self._started + _AGAIN_S - now))
        self._started = asyncio.get_running_loop().time()
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C ends the table alone
        )
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            # Not `process.kill`: on a dead process that reaps it without asyncio's knowledge.
            os.kill(process.pid, signal.SIGKILL)
        await process.wait()


async def _exchange(process: asyncio.subprocess.Process, message: bytes) -> bytes | Refusal:
    """Send one question, and return its answer.

    Raises:
        OSError, EOFError, MsgspecError: the reader is gone, or its answer is malformed.
    """
    writer, reader = process.stdin, process.stdout
    assert writer is not None and reader is not None  # noqa: PT018, S101 - both are pipes
    writer.write(len(message).to_bytes(HEAD_BYTES, "big") + message)
    await writer.drain()
    length = int.from_bytes(await reader.readexactly(HEAD_BYTES), "big")
    if not 1 <= length <= ANSWER_BYTES + 1:
        raise EOFError(f"an answer of {length} bytes")
    answer = await reader.readexactly(length)
    if answer[:1] == SHOWN:
        return answer[1:]
    return msgspec.json.decode(answer[1:], type=Refusal)
