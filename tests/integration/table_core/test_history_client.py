"""The past read by a process beside the table, over a real bus, while the table is in play."""

import asyncio
import os
import signal
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from events.commands import (
    EndShoe,
    FindCoups,
    LoadShoe,
    OpenBetting,
    Preview,
    ProveCoup,
    ShowCoup,
    ShowRequest,
    ShowTable,
    TellCoup,
    VoidCoup,
)
from events.log.store import EventLog
from table_core.process.history_client import HistoryQuestion
from table_core.service.history_child import WAITING_MOST, HistoryProcess
from tests.support.log.logs import keep_alarms
from tests.support.machine.tasks import background
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.service.table_service import Table1, played, service
from tests.support.table.coups import SHOE, cards
from tests.support.table.settled_coups import hands

COUP = f"{SHOE}/1"
NEXT = f"{SHOE[:-1]}2"


def reader(log: Path, patience_s: float = 30.0) -> HistoryProcess:
    """The real one, with patience for a busy machine."""
    return HistoryProcess([sys.executable, "-m", "baccarat.history.process", log], patience_s)


class Alive:
    """A reader whose process a test may end, and that remembers what it was asked."""

    def __init__(self, log: Path) -> None:
        self.real = reader(log)
        self.asked: list[HistoryQuestion] = []

    async def ask(self, question: HistoryQuestion) -> Any:
        self.asked.append(question)
        return await self.real.ask(question)

    async def run(self) -> None:
        await self.real.run()


@asynccontextmanager
async def second_shoe(table: Table1, folder: Path) -> AsyncIterator[Alive]:
    """A table at its second shoe; in its first, Player won by a natural nine."""
    made = Alive(folder / "table.sqlite")
    async with played(table, folder, past=made):
        await table.must("dealer", EndShoe(transaction="e"))
        await table.must("dealer", LoadShoe(transaction="l2", shoe=NEXT))
        yield made


def held_by(pid: int | None) -> list[Path]:
    return [each.readlink() for each in Path(f"/proc/{pid}/fd").iterdir()]


async def test_a_coup_of_an_earlier_shoe_is_shown_previewed_and_corrected(
    one: Table1, tmp_path: Path
) -> None:
    async with second_shoe(one, tmp_path) as past:
        shown = await one.must("supervisor", ShowCoup(transaction="s", coup=COUP))
        assert [each["card"] for each in shown.shown["coup"]["cards"]] == ["9S", "2D", "KH", "3C"]
        body: dict[str, Any] = {"transaction": "p", "coup": COUP, "reason": "misdeal"}
        preview = Preview(transaction="p", command="void_coup", body=body)
        events = (await one.must("supervisor", preview)).shown["events"]
        [voided] = [each for each in events if each["type"] == "coup_settled"]
        assert voided["data"]["settlement"]["difference"][0]["paid"] == -1000
        answer = await one.must(
            "supervisor", VoidCoup(transaction="p", coup=COUP, reason="misdeal")
        )
        newest = answer.position or 0
        await until(lambda: one.events[-1].position >= newest, "it is not published")
        made = [e.type for e in one.events if newest - len(events) < e.position <= newest]
        assert made == [each["type"] for each in events]
        assert (
            await one.ask("supervisor", VoidCoup(transaction="p", coup=COUP, reason="misdeal"))
        ).result == "exists"
        gone = await one.ask("supervisor", ShowCoup(transaction="g", coup=f"{SHOE}/9"))
        assert gone.code == "unknown_coup"
        assert {question.name for question in past.asked} == {"recall"}


async def test_what_was_recalled_and_is_no_longer_so_is_recalled_again(
    one: Table1, tmp_path: Path
) -> None:
    """Two people correct one coup at once: the second decides on what the first has made of it."""
    async with second_shoe(one, tmp_path) as past:

        async def overtaken(question: HistoryQuestion) -> Any:
            said = await past.real.ask(question)
            past.asked.append(question)
            if len(past.asked) == 1:
                # Somebody else's is read, decided and appended while this answer is on its way.
                await one.must("supervisor", hands("9H KH", "2D 3C", transaction="a"))
            return said

        past.ask = overtaken  # type: ignore[method-assign]  # holds one answer back
        answer = await one.must("supervisor", hands("8S KH", "2D 3C", transaction="b"))
        # Asked for twice by the one that was overtaken, once by the other.
        assert len(past.asked) == 3
        await until(lambda: one.settlements[-1].position == answer.position, "not published")
        revisions = [settlement_of(each)["revision"] for each in one.settlements]
        assert revisions == [1, 2, 3]
        assert settlement_of(one.settlements[-1])["player"] == ["8S", "KH"]


def settlement_of(published: Any) -> Any:
    return msgspec.json.decode(published.data)["settlement"]


async def test_the_past_is_asked_over_the_bus_by_those_who_may(one: Table1, tmp_path: Path) -> None:
    async with second_shoe(one, tmp_path):
        found = await one.must("supervisor", FindCoups(transaction="f", face=cards("9S")[0]))
        assert [each["coup"] for each in found.shown["coups"]] == [COUP]
        told = await one.must("supervisor", TellCoup(transaction="t", coup=COUP))
        assert told.shown["story"]["result"] == "player"
        table = await one.must("supervisor", ShowTable(transaction="w", position=5))
        assert table.shown["position"] == 5
        proof = await one.ask("supervisor", ProveCoup(transaction="e", coup=COUP))
        assert proof.code == "no_evidence"  # this table signs nothing
        for user in ("dealer", "wagers", "cage", "display"):
            refused = await one.ask(user, TellCoup(transaction="x", coup=COUP))
            assert refused.code == "not_allowed"


async def test_a_reader_that_dies_costs_one_answer_and_comes_back(
    one: Table1, tmp_path: Path
) -> None:
    async with second_shoe(one, tmp_path) as past:
        await one.must("supervisor", FindCoups(transaction="1"))
        pid = past.real.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        lost = await one.ask("supervisor", FindCoups(transaction="2"))
        assert (lost.result, lost.code) == ("refused", "past_unavailable")
        await one.must("dealer", OpenBetting(transaction="o9"))
        await one.must("supervisor", FindCoups(transaction="3"))
        assert past.real.pid != pid
    assert past.real.pid is None


async def test_a_reader_that_hangs_delays_nobody_but_who_asks(one: Table1, tmp_path: Path) -> None:
    hanging = HistoryProcess(["sleep", "1000"], patience_s=2)
    async with played(one, tmp_path, past=hanging):
        slow = await one.ask("supervisor", FindCoups(transaction="f"))
        assert slow.code == "past_slow"
        asked = [
            asyncio.ensure_future(one.ask("supervisor", FindCoups(transaction=f"f{number}")))
            for number in range(WAITING_MOST + 4)
        ]
        await one.must("dealer", OpenBetting(transaction="o9"))
        codes = [(await each).code for each in asked]
        assert set(codes) == {"past_slow", "busy"}
        assert codes.count("busy") >= 4


async def test_the_fate_of_what_still_waits_for_the_reader_is_not_told_yet(
    one: Table1, tmp_path: Path
) -> None:
    hanging = HistoryProcess(["sleep", "1000"], patience_s=PATIENCE_SECONDS)
    async with played(one, tmp_path, past=hanging):
        asked = asyncio.ensure_future(one.ask("supervisor", FindCoups(transaction="f")))
        for number in range(1000):
            question = ShowRequest(transaction=f"s{number}", request="f")
            fate = await one.ask("supervisor", question)
            if fate.code == "busy":
                break
        assert fate.code == "busy"
        other = await one.must("dealer", ShowRequest(transaction="s", request="f"))
        assert other.shown == {"carried_out": None}
        assert hanging.pid
        os.kill(hanging.pid, signal.SIGKILL)
        assert (await asked).code == "past_unavailable"


async def test_a_reader_holds_nothing_open_and_ends_with_the_table(tmp_path: Path) -> None:
    """Else the table could never close its file, and would leave readers behind."""
    path = tmp_path / "table.sqlite"
    with EventLog.open(path, "site/t1") as log:
        keep_alarms(log, 5)
        asking = reader(path)
        async with background(asking.run()):
            question = HistoryQuestion("find_coups", 5, FindCoups(transaction="t"))
            assert isinstance(await asking.ask(question), bytes)
            held = held_by(asking.pid)
            assert held
            assert path not in held
            process = asking._process
            assert process is not None
            assert process.stdin is not None
            process.stdin.close()  # as the kernel does when the table ends, however it ends
            assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_play_is_as_quick_while_the_past_is_read(one: Table1, tmp_path: Path) -> None:
    """A bound that only blocking breaks: reading this log takes the table itself far longer."""
    path = tmp_path / "table.sqlite"
    async with second_shoe(one, tmp_path):
        await one.must("dealer", OpenBetting(transaction="o9"))
        await one.must("supervisor", VoidCoup(transaction="v9", reason="misdeal"))
    with EventLog.open(path, "site/t1") as log:
        keep_alarms(log, 20_000)
    async with service(one.port, tmp_path, past=reader(path)):
        await until(lambda: one.states[-1].position > 20_000, "the table is not back")
        asked = [
            asyncio.ensure_future(one.ask("supervisor", command))
            for number in range(5)
            for command in (
                ShowCoup(transaction=f"s{number}", coup=COUP),
                TellCoup(transaction=f"t{number}", coup=COUP),
            )
        ]
        took: list[float] = []
        while not all(each.done() for each in asked):
            # By the processor's time: it grows with what is read in here, and not with the machine.
            began = time.process_time()
            void = VoidCoup(transaction=f"n{len(took)}", reason="x")
            assert (await one.ask("supervisor", void)).code == "nothing_to_void"
            took.append(time.process_time() - began)
        assert {(await each).result for each in asked} == {"accepted"}
    assert len(took) > 2, "play waited for those who look back"
    assert statistics.median(took) < 0.1
