"""An uplink's feed, in this process, on a hub of which a replica lags."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from events.clock import SystemClock
from property.hub.connection import HubSettings
from property.hub.subjects import (
    event_subject,
    held_checkpoint_subject,
    held_event_subject,
    stored_subject,
)
from property.uplink.replication import EXPECTED_SEQUENCE, SEQUENCE_CODES
from property.uplink.service import UplinkLog, feeds_of
from tests.support.machine.tasks import background
from tests.support.machine.waiting import until
from tests.support.property.feeds import TableLogs

B7 = ("harbour", "b7")
SETTINGS = HubSettings(servers=("nats://there:4222",), who="/".join(B7), password="")
NOT_FOUND = SimpleNamespace(headers={"Status": "404"}, data=b"")


class _Hub:
    """A stream's leader, and a replica that answers questions and has not the newest events."""

    def __init__(self) -> None:
        self.stored: list[tuple[dict[str, str], bytes]] = []
        self.lags = self.refusals = self.asked = 0
        self.is_closed = False
        self._batch: list[tuple[dict[str, str], bytes]] = []

    async def connect(self, *_: object) -> "_Hub":
        self.is_closed = False
        return self

    async def close(self) -> None:
        """Nothing to close."""

    async def publish(self, _: str, body: bytes, headers: dict[str, str]) -> None:
        self._batch.append((headers, body))

    async def request(self, subject: str, body: bytes, **given: Any) -> Any:
        if subject == held_event_subject(*B7):
            self.asked += 1
            return self._newest(len(self.stored) - self.lags)
        if subject == held_checkpoint_subject(*B7):
            return NOT_FOUND
        told: dict[str, object] = {"seq": 1}
        if subject == event_subject(*B7):
            batch, self._batch = [*self._batch, (given["headers"], body)], []
            if int(batch[0][0][EXPECTED_SEQUENCE]) != len(self.stored):
                self.refusals += 1
                self.lags = 0  # it catches up
                told = {"error": {"err_code": min(SEQUENCE_CODES), "description": "wrong"}}
            else:
                self.stored += batch
                told = {"seq": len(self.stored)}
        return SimpleNamespace(headers=None, data=json.dumps(told).encode())

    def _newest(self, sequence: int) -> Any:
        if sequence == 0:
            return NOT_FOUND
        headers, body = self.stored[sequence - 1]
        found = {"Nats-Subject": stored_subject(*B7), "Nats-Sequence": str(sequence)}
        return SimpleNamespace(headers=headers | found, data=body)


# How many of the newest events the replica lacks, how many the hub has lost, and what is reported.
@pytest.mark.parametrize(
    ("lags", "lost", "refilled"), [(0, 0, 0), (4, 0, 0), (10, 0, 0), (0, 4, 1), (0, 10, 1)]
)
async def test_a_replica_that_lags_is_no_loss(
    lags: int, lost: int, refilled: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = _Hub()
    monkeypatch.setattr("property.uplink.service.connect", hub.connect)
    with TableLogs(tmp_path, ["/".join(B7)]) as logs:
        log = UplinkLog(path=logs.paths["/".join(B7)], hub=SETTINGS)
        (feed,) = feeds_of([log], SystemClock())

        async def until_held(count: int) -> None:
            await until(
                lambda: len(hub.stored) == feed.state.position == count, f"the hub has {count}"
            )

        logs.grow("/".join(B7), 10)
        async with background(feed.run()):
            await until_held(10)
            hub.lags, asked = lags, hub.asked
            del hub.stored[10 - lost :]
            hub.is_closed = True
            await until(lambda: hub.asked > asked, "it is connected again")
            logs.grow("/".join(B7), 3)
            await until_held(13)
    assert (feed.state.refilled, hub.refusals) == (refilled, int(lags > 0))
    assert feed.state.stopped is None
