"""Good shoes break no rule; a shoe with one defect breaks the rule that it broke."""

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from baccarat.cli.shoe.conform import conform_page
from baccarat.conformance.rules import RULES
from baccarat.conformance.session import Conformance, ConformanceSession
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile
from simulators.device.profiles import GAMES
from simulators.device.ref_link import RefLink
from simulators.device.reports import Disclosure
from simulators.shoe.dealing import DealingShoe, ReportStep
from tests.support.shoe.ref_bytes import ref_frame
from tests.support.shoe.shoe_bytes import body, frame, frames, stream

SECOND: Final = 1_000_000
BEGUN: Final = "S, D first 2C, D burn KD:1, D burn 4S:0, P"
COUP: Final = "D P1 8S, D B1 2H, D P2 KD, D B2 5C, G player"
SQUEEZE: Final = "D P1 --, D B1 --, D P2 --, D B2 --, I P1 8S, I B1 2H, I P2 KD, I B2 5C, G player"
THIRD: Final = "D P1 2S, D B1 2H, D P2 KD, D B2 5C, D P3 6S, G player"


def held(data: bytes | Sequence[Record], profile: str = "enq-bcc") -> Conformance:
    session = ConformanceSession(load_profile(profile))
    if isinstance(data, bytes):
        session.feed_bare(data)
    else:
        session.feed(data)
    return session.finish()


def dealt(profile: str, disclosure: Disclosure, coups: int = 25) -> list[Record]:
    """What a good simulated shoe says, at a live table's pace."""
    shoe = DealingShoe(seed=3, disclosure=disclosure, profile=profile)
    link = RefLink() if shoe.profile.linked else None
    now, records = SECOND, []

    def put(data: bytes) -> None:
        records.append(Record(RecordKind.DATA, now, now * 1_000, data))

    steps = list(shoe.new_shoe("20261127-01")[0])
    for _ in range(coups):
        steps += [step for step in shoe.coup()[0] if isinstance(step, ReportStep)]
    for step in steps:
        for _ in range(int(step.pause * 2)):
            now += SECOND // 2
            for each in link.due(now // 1_000) if link else ():
                put(each)
        put(step.noise)
        sent = link.report(step.copies, step.wire, now // 1_000) if link else list(step.copies)
        for each in sent:
            now += 20_000
            put(each)
    return records


@pytest.mark.parametrize(("profile", "disclosure"), GAMES)
def test_a_good_shoe_breaks_no_rule(profile: str, disclosure: Disclosure) -> None:
    records = dealt(profile, disclosure)
    for outcome in (held(records, profile), held(b"".join(r.payload for r in records), profile)):
        assert outcome.faults == ()
        assert {"Player wins", "Banker wins"} <= set(outcome.seen)
        assert "unplug" in outcome.never_seen


def said(*parts: str) -> bytes:
    return stream(", ".join(parts))


def spoiled(number: int, change: Callable[[bytes], bytes], *parts: str) -> bytes:
    """The three copies of a report, changed."""
    made = frames(", ".join(parts))
    return b"".join(change(each) if at == number else each * 3 for at, each in enumerate(made))


def ref(*reports: tuple[int, bytes], ms: int = 1_000) -> bytes:
    return b"".join(
        ref_frame(kind, seq, payload, boot=1, ms=ms) for seq, (kind, payload) in enumerate(reports)
    )


def timed(data: Sequence[tuple[int, bytes]]) -> list[Record]:
    return [Record(RecordKind.DATA, at, at * 1_000, each) for at, each in data]


def late_copy() -> list[Record]:
    made = frames(f"{BEGUN}, {COUP}")
    sent = [(n * SECOND, each * 3) for n, each in enumerate(made)]
    at, late = sent[5][0], made[5]
    sent[5:6] = [(at, late * 2), (at + 400_000, late)]
    return timed(sent)


def late_result() -> list[Record]:
    made = frames(f"{BEGUN}, {COUP}")
    last = len(made) - 1
    return timed([((40 if n == last else 0) * SECOND + n * SECOND, e * 3)
                  for n, e in enumerate(made)])  # fmt: skip


def beat(seq: int, ms: int) -> bytes:
    return ref_frame(0x0F, seq, b"\0\0\0\0", boot=1, ms=ms)


OPENED: Final = ((0x01, b""), (0x02, b""))
REF_DRAWN: Final = (0x10, b"\x11\x18")
# What the device does, the profile, and the rules that it breaks: the first is the diagnosis.
DEFECTS: Final[dict[str, tuple[bytes | Sequence[Record], str, set[str]]]] = {
    "noise on the line": (said(BEGUN, COUP) + b"\xff\xff\xff", "enq-bcc", {"framing"}),
    "half a frame": (said(BEGUN) + b"\x05\x35\x44" + stream(COUP, first_seq=5), "enq-bcc",
                     {"framing"}),
    "a wrong check": (spoiled(6, lambda f: f[:-1] + b"?" + f * 3, BEGUN, COUP), "enq-bcc",
                      {"framing"}),
    "a wrong check in hex": (
        spoiled(6, lambda f: f[:-2] + b"00" + f * 3, BEGUN, COUP), "enq-bcc", {"check"}),
    "a number left out": (spoiled(4, lambda _: b"", BEGUN, COUP), "enq-bcc", {"numbering"}),
    "a power-up with another number": (frame("5", b"S") * 3 + stream("P", first_seq=6), "enq-bcc",
                                       {"boot_number"}),
    "a power-up's number for a card": (
        said(BEGUN) + frame("0", body("D P1 8S")) * 3, "enq-bcc", {"boot_number"}),
    "two copies": (stream(f"{BEGUN}, {COUP}", copies=2), "enq-bcc", {"copies"}),
    "four copies": (
        spoiled(5, lambda f: f * 4, BEGUN, "D P1 8S"), "enq-bcc", {"copies"}),
    "copies that differ": (
        spoiled(5, lambda f: f + frame(chr(f[1]), body("D P1 9S")) + f, BEGUN, COUP), "enq-bcc",
        {"copies_agree"}),
    "a late copy": (late_copy(), "enq-bcc", {"copy_window"}),
    "an unknown kind": (said(BEGUN, "X, P"), "enq-bcc", {"codes"}),
    "a card of no code": (
        spoiled(5, lambda f: frame(chr(f[1]), b"D\x81\xbf") * 3, BEGUN, "D P1 8S"), "enq-bcc",
        {"codes"}),
    "hands exchanged": (
        said(BEGUN, "D P1 8S, D P2 KD, D B1 2H, D B2 5C, G player"), "enq-bcc", {"position"}),
    "a place twice": (
        said(BEGUN, "D P1 8S, D B1 2H, D P2 KD, D P2 KD, D B2 5C, G player"), "enq-bcc",
        {"position"}),
    "a card too many": (
        said(BEGUN, COUP.replace(", G", ", D P3 4C, G")), "enq-bcc", {"third_card"}),
    "no third card": (said(BEGUN, THIRD.replace(", D P3 6S", "")), "enq-bcc", {"third_card"}),
    "a face never told": (
        said(BEGUN, SQUEEZE.replace("I P2 KD, ", "")), "enq-bcc", {"disclosure"}),
    "a face of no card": (said(BEGUN, SQUEEZE.replace("I P1", "I P3")), "enq-bcc", {"disclosure"}),
    "a face told twice, another": (
        said(BEGUN, COUP.replace(", G", ", I P1 9S, G")), "enq-bcc", {"disclosure_agrees"}),
    "a wrong winner": (said(BEGUN, COUP.replace("player", "banker")), "enq-bcc", {"result"}),
    "a pair that is none": (said(BEGUN, COUP + " PP"), "enq-bcc", {"result"}),
    "a result twice": (said(BEGUN, COUP, "G player"), "enq-bcc", {"result_order"}),
    "no result": (said(BEGUN, COUP.replace(", G player", ""), COUP), "enq-bcc", {"result_order"}),
    "a late result": (late_result(), "enq-bcc", {"late"}),
    "cleared, never raised": (said(BEGUN, "e 2"), "enq-bcc", {"errors"}),
    "raised, never cleared": (said(BEGUN, "E 2 latched"), "enq-bcc", {"errors"}),
    "drawn in an error": (
        said(BEGUN, "E 1 latched, D P1 8S, e 1"), "enq-bcc", {"draw_in_error"}),
    "burn cards miscounted": (
        said("S, D first 3C, D burn KD:2, D burn 4S:0, P"), "enq-bcc", {"burn"}),
    "a first card in a coup": (
        said(BEGUN, COUP.replace("D P2", "D first 9C, D P2")), "enq-bcc", {"first_card"}),
    "standby in a coup": (said(BEGUN, COUP.replace("D P2", "P, D P2")), "enq-bcc", {"standby"}),
    "nine of a face": (said(BEGUN, *["d other 7H"] * 9), "enq-bcc", {"faces"}),
    "drawn while locked": (
        ref(*OPENED, (0x22, b"\x01"), REF_DRAWN), "ref-crc", {"draw_while_locked"}),
    "the cut card twice": (ref(*OPENED, (0x15, b""), (0x15, b"")), "ref-crc", {"cut_card"}),
    "a length that is another": (
        ref(*OPENED) + b"\x00\x05\x01\x02\x02\xa7\x01\x00" + ref(*OPENED), "ref-crc", {"length"}),
    "no beat": (
        timed([(0, ref(*OPENED)), (9 * SECOND, beat(1, 10_000))]), "ref-crc", {"beat"}),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_diagnosed(name: str) -> None:
    data, profile, rules = DEFECTS[name]
    outcome = held(data, profile)
    assert not outcome.ok
    found = [fault.rule for fault in outcome.faults]
    assert found[0] in rules, outcome.faults
    assert all(fault.text for fault in outcome.faults)


def test_every_rule_has_a_defect() -> None:
    assert set().union(*(rules for _, _, rules in DEFECTS.values())) == set(RULES)


def test_the_page_names_all_of_it_and_escapes_it() -> None:
    outcome = held(said(BEGUN, COUP.replace("player", "banker")))
    page = conform_page(outcome, load_profile("enq-bcc"), "<capture>", "2026-11-27T00:00:00Z")
    assert "&lt;capture&gt;" in page
    assert RULES["result"] in page
    assert outcome.digest in page
    assert "Technician" in page
