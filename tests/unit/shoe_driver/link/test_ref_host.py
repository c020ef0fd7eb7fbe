"""How often a `ref-crc` host asks for what is missing: a device answers each RESEND with a BEAT."""

import pytest

from shoe_driver.decode import Decoder
from tests.support.shoe.ref_bytes import (
    DRAWN,
    POWER_UP,
    REF,
    RESEND,
    Device,
    host_said,
)
from tests.support.shoe.shoe_bytes import said


@pytest.mark.parametrize("seen_by", ["report", "beat"])
def test_a_gap_that_cannot_be_filled_is_asked_for_a_few_times(seen_by: str) -> None:
    """Each resend ends with a beat: that one is an answer, and no cause to ask again."""
    device, decoder = Device(), Decoder(REF)
    decoder.feed_bare(device.say(POWER_UP) + device.say(DRAWN, b"\0\x11"))
    missing = device.say(DRAWN, b"\0\x12")  # the line never lets it through
    device.answer(decoder.replies())
    pending = device.say(DRAWN, b"\0\x13") if seen_by == "report" else device.beat()
    told: list[str] = []
    requests, began = 0, device.ms
    next_beat = began + 1000
    while "report_lost" not in " ".join(told):
        assert device.ms <= began + 4000, "the gap is never given up"
        told += said(decoder.feed_bare(pending.replace(missing, b"")))
        reply = decoder.replies()
        requests += [kind for kind, _, _ in host_said(reply)].count(RESEND)
        device.ms += 10  # the way there and back
        pending = device.answer(reply)
        if device.ms >= next_beat:
            device.ms -= 1000
            pending += device.beat()
            next_beat += 1000
    assert 2 <= requests <= 5
