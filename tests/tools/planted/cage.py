"""Mistakes in what the cage, a display and a request client do: a seeded world must find each.

After each is the number of seeds that the world needed, of `sim world --seeds 0.. --coups 20
--faults all`.
"""

from typing import Final

_CAGE: Final = "cage/process.py"
_ORDER: Final = "cage/reorder_buffer.py"
_DISPLAY: Final = "displays/process.py"
_REQUESTS: Final = "events/mqtt/request_client.py"

MISTAKES: Final = (
    (
        "acknowledge before the batch is booked",  # 4
        _CAGE,
        "            yield from self._book(batch)\n",
        (
            "            self.booked = batch[-1].position\n"
            "            self._ack_due.set()\n"
            "            yield from self._book(batch)\n"
        ),
    ),
    (
        "acknowledge what was received instead of what is booked",  # 1
        _CAGE,
        "            position = self.booked\n",
        "            position = self.inflow.taken\n",
    ),
    (
        "never acknowledge a settlement",  # 1
        _CAGE,
        "            if not all(isinstance(fact.data",
        "            if all(isinstance(fact.data",
    ),
    (
        "watch for silence no more",  # with lost messages alone
        _CAGE,
        "            self._watch_for_silence(),\n",
        "",
    ),
    (
        "request the replay one event too late",  # 1
        _CAGE,
        "start=max(1, read)",
        "start=max(1, read + 2)",
    ),
    (
        "drop the events that arrived while a batch was booked",  # 1
        _CAGE,
        "            for _ in batch:\n                self.inflow.ready.popleft()\n",
        "            self.inflow.ready.clear()\n",
    ),
    (
        "drop the batch in flight when the database goes away",  # 3
        _CAGE,
        "                yield from self._reopen(error)\n",
        "                yield from self._reopen(error)\n                return\n",
    ),
    (
        "give up when the database is still away",  # 1
        _CAGE,
        "            except LedgerUnavailable:\n                continue\n",
        "            except LedgerUnavailable:\n                return\n",
    ),
    (
        "read nothing again after a connect, a gap or an overflow",  # 1
        _CAGE,
        "            self._reread(),\n",
        "",
    ),
    (
        "take an early event before its turn",  # 3
        _ORDER,
        "        elif len(self._ahead) < AHEAD_MOST:\n            self._ahead[position] = fact\n",
        (
            "        elif len(self._ahead) < AHEAD_MOST:\n"
            "            self.taken = position\n"
            "            self.ready.append(fact)\n"
        ),
    ),
    (
        "send a request once",  # 2
        _REQUESTS,
        "wait_s = retry.answer_s if sent else back_off_s",
        "wait_s = 1e6",
    ),
    (
        "take a refusal that passes for the answer",  # 19
        _REQUESTS,
        "if answer.code not in retry.passing:",
        "if answer is not None:",
    ),
    (
        "show a new connection's state as if the broker were away",  # 1
        _DISPLAY,
        "        self.live.connected()\n",
        "",
    ),
    (
        "show no state",  # 1
        _DISPLAY,
        "            (topics.state if requests else topics.display): self._on_state,\n",
        "",
    ),
)
