"""`baccarat shoe conform` on a live port: a simulated shoe, good or with one defect."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from shoe_driver.journal.files import read_records
from shoe_driver.journal.records import RecordKind
from simulators.shoe.standalone import StandaloneShoe
from tests.support.machine.commands import at_work
from tests.support.machine.waiting import until

# The shoe's profile, its defect, and the rule that it breaks. `ref-crc` waits to be acknowledged.
SHOES = {
    "good": ("ref-crc", (), None),
    "wrong winner": ("enq-bcc", ("wrong_result",), "result"),
}


def lost(journal: Path) -> bool:
    """Whether the journal says that the cable was pulled."""
    return any(record.kind is RecordKind.CLOSE for record in read_records(journal))


@pytest.mark.parametrize("name", SHOES)
async def test_a_live_shoe_is_held_to_its_profile_until_after_its_cable_is_pulled(
    name: str, tmp_path: Path
) -> None:
    profile, faults, rule = SHOES[name]
    link, page = tmp_path / "shoe", tmp_path / "page.html"
    journal = tmp_path / "page.html.journal"
    shoe = StandaloneShoe(
        link,
        profile=profile,
        disclosure="immediate",
        seed=3,
        speed=0,
        faults=faults,
        tell=list[object]().append,
    )
    begun = asyncio.ensure_future(shoe.run(4))
    await until(link.is_symlink, "the port is offered")
    words = ("shoe", "conform", f"pty:{link}", "--profile", profile, "-o", page, "--json")
    with at_work(*words) as process:
        await begun
        await until(lambda: lost(journal), "the loss of the cable is stored")
        process.send_signal(signal.SIGINT)
        out, err = await asyncio.to_thread(process.communicate, timeout=60)
    told = json.loads(out)
    assert [fault["rule"] for fault in told["faults"]] == ([rule] if rule else [])
    assert process.returncode == (1 if rule else 0)
    assert {"power", "ready", "burn", "deal", "unplug"} <= set(told["seen"])
    assert err.decode().startswith("next: ")
    assert "Technician" in page.read_text("utf-8")
