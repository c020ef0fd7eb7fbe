"""A coup from a device that wants each report acknowledged, and from one that speaks when asked."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from baccarat.cli.shoe.conform import live_records
from baccarat.cli.shoe.line import endpoint_of
from baccarat.conformance.session import ConformanceSession
from events.cards import Card, Hand
from events.clock import SystemClock
from shoe_driver.profiles.profile import parse_profile
from simulators.device.printed_rules import PrintedPlace, outcome
from tests.integration.shoe_driver.test_driver_ref import heard
from tests.support.brokers.brokers import Broker
from tests.support.machine.waiting import until
from tests.support.shoe.foreign import LengthDevice, profile_text
from tests.support.shoe.shoe_line import Core, ShoePort, driver, running

ACK, NAK, ASK = b"\x06", b"\x15", b"\x05"
DEALT: Final = ("8S", "2H", "KD", "5C")
ACKNOWLEDGE: Final = """
[acknowledge]
ack = "06"
nak = "15"
resends = 3
window_ms = 60000
"""
POLL: Final = """
[poll]
request = "05"
every_ms = 50
"""


def coup(*, whole: bool = False) -> Iterator[bytes]:
    """The reports of four cards, and of the result where the coup is to be whole."""
    device = LengthDevice()
    yield from device.power_up()
    places = [(hand, number) for number in (1, 2) for hand in (Hand.PLAYER, Hand.BANKER)]
    for (hand, number), face in zip(places, DEALT, strict=True):
        yield from device.card_drawn(PrintedPlace(hand, number), Card(face))
    if whole:
        yield from device.result(outcome([Card(face) for face in DEALT]))


def site_profile(more: str) -> str:
    text = profile_text("length").replace(
        "[codes.kinds]\n", '[codes.kinds]\nN = { report = "idle" }\n'
    )
    return text + more


class Acknowledged:
    """Sends a report again until it is acknowledged; some sendings are damaged on the way.

    Args:
        damaged: the sendings, from 0, of which a byte is another.
        unheard: the acknowledgements, from 0, that do not reach it: it repeats what was heard.
    """

    def __init__(self, reports: Sequence[bytes], damaged: set[int], unheard: set[int]) -> None:
        self.left = deque(reports)
        self.sent = self.acks = self.naks = 0
        self._damaged, self._unheard = damaged, unheard

    def begin(self) -> bytes:
        """The first report."""
        return self._send()

    def answer(self, said: bytes) -> bytes:
        """What it sends when the host says this."""
        out = b""
        for byte in said:
            if byte == ACK[0]:
                if self.acks not in self._unheard:
                    self.left.popleft()
                self.acks += 1
            self.naks += byte == NAK[0]
            out += self._send()
        return out

    def _send(self) -> bytes:
        if not self.left:
            return b""
        frame = bytearray(self.left[0])
        if self.sent in self._damaged:
            frame[-3] ^= 0x10
        self.sent += 1
        return bytes(frame)


class Asked:
    """Says nothing until it is asked: a report, or that there is none."""

    def __init__(self, reports: Sequence[bytes]) -> None:
        self.left = deque(reports)
        self.idle = 0

    def begin(self) -> bytes:
        """Nothing."""
        return b""

    def answer(self, said: bytes) -> bytes:
        """The answer to each question."""
        assert set(said) <= set(ASK)
        return b"".join(self._one() for _ in said)

    def _one(self) -> bytes:
        if self.idle and self.left:
            return self.left.popleft()
        self.idle += 1
        return LengthDevice().framed(0, f"{'N':-<5}")


async def played(
    mosquitto: Broker, core: Core, shoe: ShoePort, folder: Path, more: str,
    device: Acknowledged | Asked,
) -> None:  # fmt: skip
    profile = folder / "site.toml"
    profile.write_text(site_profile(more), encoding="utf-8")
    served = driver(mosquitto.port, shoe.url, folder / "journals", profile=str(profile))

    def over() -> bool:
        if said := heard(shoe):
            shoe.say(device.answer(said))
        return not device.left and core.faces == list(DEALT)

    async with running(served):
        await until(lambda: core.state() == "open", "the port is open")
        shoe.say(device.begin())
        await until(over, "the coup")


@pytest.mark.parametrize(("damaged", "unheard"), [(set(), set()), ({2}, set()), (set(), {2})])
async def test_a_report_comes_again_until_it_is_acknowledged_and_is_told_once(
    mosquitto: Broker, core: Core, shoe: ShoePort, tmp_path: Path,
    damaged: set[int], unheard: set[int],
) -> None:  # fmt: skip
    device = Acknowledged(list(coup()), damaged, unheard)
    await played(mosquitto, core, shoe, tmp_path, ACKNOWLEDGE, device)
    assert (device.naks, device.acks) == (len(damaged), 5 + len(unheard))
    assert core.said.count("frame_rejected") == len(damaged)
    assert core.said.count("card_drawn") == len(DEALT)
    assert "report_lost" not in core.said


async def test_a_device_that_speaks_when_it_is_asked_tells_its_coup(
    mosquitto: Broker, core: Core, shoe: ShoePort, tmp_path: Path
) -> None:
    device = Asked(list(coup()))
    await played(mosquitto, core, shoe, tmp_path, POLL, device)
    assert device.idle >= 1
    assert core.said.count("card_drawn") == len(DEALT)
    assert not {"report_lost", "frame_rejected"} & set(core.said)


# What `shoe conform` says of a device that it has to acknowledge or to ask: good, or with a defect.
HELD: Final[tuple[tuple[str, Acknowledged | Asked, list[str]], ...]] = (
    (ACKNOWLEDGE, Acknowledged(list(coup(whole=True)), set(), set()), []),
    (ACKNOWLEDGE, Acknowledged(list(coup(whole=True)), {3}, set()), ["check"]),
    (POLL, Asked(list(coup(whole=True))), []),
    (POLL, Asked(list(coup(whole=True))[:3] + list(coup(whole=True))[4:]), ["numbering"]),
)


@pytest.mark.parametrize(("more", "device", "rules"), HELD)
async def test_conformance_answers_the_device_as_the_driver_does(
    shoe: ShoePort, more: str, device: Acknowledged | Asked, rules: list[str]
) -> None:
    profile = parse_profile(site_profile(more).encode(), source="site.toml")
    session, stop = ConformanceSession(profile), asyncio.Event()
    endpoint, opened = endpoint_of(shoe.url, profile.serial), False
    async with asyncio.timeout(60):
        async for records in live_records(endpoint, SystemClock(), stop, session):
            session.feed(records)
            if not opened:
                opened = True
                shoe.say(device.begin())
            if said := heard(shoe):
                shoe.say(device.answer(said))
            elif not device.left:
                stop.set()
    told = session.finish()
    assert [fault.rule for fault in told.faults][: len(rules) or None] == rules
    assert {"power", "deal", *DEALT[:2]} <= set(told.seen)
