"""Mistakes in the order of the driver's steps: each must be found by playing seeds of the world."""

from typing import Final

_RECORDER: Final = "shoe_driver/process/recorder.py"
_SENDER: Final = "shoe_driver/process/event_sender.py"
_LINK: Final = "shoe_driver/process/link_supervisor.py"
_DRIVER: Final = "shoe_driver/process/driver.py"
_OUTBOX: Final = "shoe_driver/outbox.py"

_STORE: Final = """        self._size = yield from StoreRecords(batch, step="journal")
        self._owed.clear()
"""
_DECODE: Final = """        for record in batch:
            self._queue(self.outbox, self.decoder.feed(record))
        yield from self.on_events()
"""

# Found by `sim world --faults all` within the first five seeds. Left out is what the table heals:
# it acknowledges again every five seconds, and the driver resends from there.
MISTAKES: Final = (
    (
        "what was read is decoded and sent before it is stored",
        _RECORDER,
        _STORE + _DECODE,
        _DECODE + _STORE,
    ),
    (
        "what the disk refused is decoded all the same",
        _RECORDER,
        _STORE,
        """        try:
            self._size = yield from StoreRecords(batch, step="journal")
        except LogUnwritable:
            pass
        self._owed.clear()
""",
    ),
    (
        "what is owed is stored again with every read",
        _RECORDER,
        _STORE,
        _STORE.replace("        self._owed.clear()\n", ""),
    ),
    (
        "a new life does not store that it is one",
        _RECORDER,
        "            self._owed.append((yield from _record(RecordKind.START)))\n",
        "",
    ),
    (
        "the end of a link is not owed where the disk refused it",
        _RECORDER,
        "            self._owed.append((yield from _record(RecordKind.CLOSE, reason)))\n",
        "            yield from self.happened(RecordKind.CLOSE, reason)\n",
    ),
    (
        "the first event is left out when all are sent again",
        _OUTBOX,
        "        self._sent = self.acked\n",
        "        self._sent = min(self.acked + 1, self.head)\n",
    ),
    (
        "the tick is never armed",
        _DRIVER,
        "self._presence.beat(), self._tick(), self._tidy()",
        "self._presence.beat(), self._tidy()",
    ),
    (
        "a port that was lost is never opened again",
        _LINK,
        "Wait(max(pause_s - spent_s, _PAUSE_LEAST_S), self._stopped)",
        "Wait(FOREVER_S, self._stopped)",
    ),
    (
        "silence is not watched",
        _LINK,
        "        rest_s = yield from self._silence.watch()\n",
        "        rest_s = _WATCH_EVERY_S\n",
    ),
    (
        "a link that is lost is not stored",
        _LINK,
        "        yield from recorder.hang_up(self._port.reason)\n",
        "",
    ),
    (
        "nothing is said when the broker is there again",
        _DRIVER,
        "        yield from self._sender.connected()\n",
        "",
    ),
)
