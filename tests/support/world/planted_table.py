"""Mistakes in the order of the table's steps, each of which the simulated world must find."""

from typing import Final

_WRITER: Final = "table_core/process/table_writer.py"
_PUBLISHERS: Final = "table_core/process/publishers.py"
_REPLAYS: Final = "table_core/process/event_replays.py"
_HEALTH: Final = "table_core/process/log_health.py"
_CHECKPOINTS: Final = "table_core/process/checkpoints.py"

MISTAKES: Final = (
    (
        "the state goes on before the append, and an event that was not stored is acknowledged",
        _WRITER,
        """\
        yield from Append(self.state.position, pending, request, step="append")
        self.state = state
""",
        """\
        before, self.state = self.state.position, state
        yield from Append(before, pending, request, step="append")
""",
    ),
    (
        "a shoe event that comes again is appended again",
        _WRITER,
        "        if event.seq <= last:\n",
        "        if event.seq < last:\n",
    ),
    (
        "a shoe event after a gap is appended",
        _WRITER,
        "        if event.seq > last + 1:\n",
        "        if event.seq > last + 2:\n",
    ),
    (
        "a repeated request is not recognised",
        _WRITER,
        "        known = yield from ReadRequest(key)\n",
        """\
        yield from ReadRequest(key)
        known = None
""",
    ),
    (
        "the cursor is stored before the broker has accepted the message",
        _PUBLISHERS,
        "        message = public_bytes(stored)\n",
        """\
        yield from MoveCursor(self._name, stored.position)
        message = public_bytes(stored)
""",
    ),
    (
        "a message that the broker did not accept is not published again",
        _PUBLISHERS,
        """\
        while not (yield from Publish(self._topic, message, step=self._name)):
""",
        """\
        if not (yield from Publish(self._topic, message, step=self._name)):
""",
    ),
    (
        "the wait for the next look at a document has no time-out",
        _PUBLISHERS,
        "            yield from Wait(AGAIN_S, self._kick)\n",
        "            yield from Wait(FOREVER_S, self._kick)\n",
    ),
    (
        "a replay ends before its last event",
        _REPLAYS,
        "                stored = yield from ReadLog(start, min(BATCH, last - start + 1))\n",
        "                stored = yield from ReadLog(start, min(BATCH, last - start))\n",
    ),
    (
        "a replay is not begun",
        _REPLAYS,
        "        yield from Begin(self._send(user, self._started, first, last))\n",
        "        yield from ()\n",
    ),
    (
        "the landmark that makes a checkpoint due is passed over",
        _CHECKPOINTS,
        """\
        if (yield from FindEvent(self._looked + 1, _LANDMARKS)) is not None:
            return True
        self._looked = position
        return False
""",
        """\
        self._looked = position
        return (yield from FindEvent(self._looked + 1, _LANDMARKS)) is not None
""",
    ),
    (
        "a log that must be opened again is not opened again",
        _HEALTH,
        """\
        if (yield from DescribeLog()).closed:
            raise error
""",
        """\
        yield from DescribeLog()
""",
    ),
)
"""What is wrong, the file, its text, and the text in its place."""
