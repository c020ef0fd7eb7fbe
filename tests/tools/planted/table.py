"""Mistakes in the order of the table's steps, each of which the simulated world must find.

The seed is the first of those from 0 on that broke, with 25 coups and all faults.
"""

from typing import Final

_WRITER: Final = "table_core/process/table_writer.py"
_PUBLISHERS: Final = "table_core/process/publishers.py"
_REPLAYS: Final = "table_core/process/event_replays.py"
_HEALTH: Final = "table_core/process/log_health.py"
_CHECKPOINTS: Final = "table_core/process/checkpoints.py"

MISTAKES: Final = (
    (
        # found by seed 0
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
        # found by seed 0
        "a shoe event that comes again is appended again",
        _WRITER,
        "        if event.seq <= last:\n",
        "        if event.seq < last:\n",
    ),
    (
        # found by seed 0
        "a shoe event after a gap is appended",
        _WRITER,
        "        if event.seq > last + 1:\n",
        "        if event.seq > last + 2:\n",
    ),
    (
        # found by seed 1
        "a repeated request is not recognised",
        _WRITER,
        "        known = yield from ReadRequest(key)\n",
        """\
        yield from ReadRequest(key)
        known = None
""",
    ),
    (
        # found by seed 2
        "the cursor is stored before the broker has accepted the message",
        _PUBLISHERS,
        "        message = public_bytes(stored)\n",
        """\
        yield from MoveCursor(self._name, stored.position)
        message = public_bytes(stored)
""",
    ),
    (
        # found by seed 0
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
        # found by seed 3
        "a replay ends before its last event",
        _REPLAYS,
        "                stored = yield from ReadLog(start, min(BATCH, last - start + 1))\n",
        "                stored = yield from ReadLog(start, min(BATCH, last - start))\n",
    ),
    (
        # found by seed 0
        "a replay is not begun",
        _REPLAYS,
        "        yield from Begin(self._send(user, self._started, first, last))\n",
        "        yield from ()\n",
    ),
    (
        # found by seed 0
        "the landmark that makes a checkpoint due is passed over",
        _CHECKPOINTS,
        """\
        if (yield from FindEvent(self._looked + 1, LANDMARKS)) is not None:
            return True
        self._looked = position
        return False
""",
        """\
        self._looked = position
        return (yield from FindEvent(self._looked + 1, LANDMARKS)) is not None
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
