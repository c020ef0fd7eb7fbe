"""`ref-crc` by its page: vectors, numbers, resends, and a device that loses what it says."""

import random

import pytest

from events.types import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import JournalState, Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile
from tests.support.shoe.ref_bytes import (
    ACK,
    BOOT,
    DRAWN,
    POWER_UP,
    READY,
    REF,
    RESEND,
    RESULT,
    Device,
    beat,
    crc,
    drawn,
    host_said,
    ref_frame,
    wrapped,
)
from tests.support.shoe.shoe_bytes import cut, said

SEED = 20261127
BOOTED = ref_frame(POWER_UP, 0)
CARDS = {seq: drawn(seq, 0x11 + seq % 13) for seq in range(1, 200)}


def bare(*pieces: bytes) -> list[str]:
    decoder = Decoder(REF)
    return said([e for piece in pieces for e in decoder.feed_bare(piece)] + decoder.finish())


def test_the_check_of_the_page() -> None:
    assert crc(b"123456789") == 0x29B1


# The page's vectors, typed from it.
VECTORS = {
    "00 05 01 01 02 A7 01 01 01 01 02 0C 03 A1 F8 00": ["shoe_booted"],
    "00 05 01 10 02 A7 02 01 01 08 13 88 02 11 18 03 F4 00": ["card_drawn player 1 8S"],
    "00 05 01 14 02 A7 02 02 01 08 17 70 02 01 3B 42 AF 00": ["burn_card JD 1"],
    "00 10 01 30 02 A7 FF FF 01 02 03 04 02 02 02 72 DF 00": ["device_result banker True"],
    "00 05 01 0F 02 A7 02 01 01 04 17 70 04 01 01 04 01 A0 1F 00": [],
}


@pytest.mark.parametrize(("text", "meaning"), VECTORS.items())
def test_published_vectors(text: str, meaning: list[str]) -> None:
    assert bare(bytes.fromhex(text)) == meaning


def test_what_the_host_says_byte_for_byte() -> None:
    decoder = Decoder(REF)
    assert decoder.greeting().hex(" ").upper() == "00 03 01 81 01 01 01 01 01 01 01 01 03 87 37 00"
    decoder.feed_bare(BOOTED + drawn(1))
    told = decoder.replies().hex(" ").upper()
    assert told == "00 05 01 80 02 A7 02 02 01 01 01 01 03 E4 A4 00"
    assert decoder.replies() == b""
    assert host_said(decoder.greeting()) == [(RESEND, BOOT, 2)]


BODIES = """
01             shoe_booted
02             shoe_ready
10 11 18       card_drawn player 1 8S
10 23 4D       card_drawn banker 3 KC
10 22 00       card_drawn banker 2
10 00 2A       card_drawn TH
10 10 2A       card_drawn player TH
11 12 31       card_revealed player 2 AD
11 12 00       ?
11 10 31       ?
12 21          card_unreadable banker 1
12 00          card_unreadable
13 42          first_card 2C
13 00          first_card
14 FF 3B       burn_card JD
14 00 00       burn_card 0
15             cut_card
16 01 00       card_out_of_game drawn_outside_game
16 02 35       card_out_of_game overdrawn 5D
16 09 35       card_out_of_game reason_9 5D
17 11 35       card_carried_over player 1 5D
17 00 35       ?
18 01          card_reversed exit
18 03          ?
20 07 01       error_raised draw_timeout latched
20 0C 00       error_raised error_12
20 01 02       ?
21 07          error_cleared draw_timeout
22 01          lock_changed True
22 02          ?
23 44 65 6D 6F mode_changed Demo
23             ?
23 07          ?
30 01 05       device_result player True True
30 02 04       device_result banker True
30 03 03       device_result tie True True
30 04 00       ?
30 01 08       ?
31             round_forced_end
10 31 18       ?
10 14 18       ?
10 01 18       ?
10 11 1E       ?
10 11 10       ?
10 11 51       ?
10 11          ?
10 11 18 18    ?
02 00          ?
19             ?
80             ?
"""


@pytest.mark.parametrize("row", BODIES.strip().splitlines())
def test_kinds_and_payloads(row: str) -> None:
    text, meaning = row[:15].strip(), row[15:].strip()
    kind, *payload = bytes.fromhex(text)
    raw = ref_frame(kind, 0, bytes(payload))
    unknown = f"unknown_report {raw[1:-1].hex().upper()}"
    assert bare(raw) == [unknown if meaning == "?" else meaning]


def test_a_frame_of_another_version_is_told_raw_and_takes_no_number() -> None:
    other = drawn(1, version=2)
    told = bare(BOOTED, other, drawn(1))
    assert told == ["shoe_booted", f"unknown_report {other[1:-1].hex().upper()}", "card_drawn 8S"]


def test_an_echo_of_what_the_host_said_takes_no_number() -> None:
    decoder = Decoder(REF)
    decoder.feed_bare(BOOTED + drawn(1))
    echo = decoder.replies()
    raw = echo[1:-1].hex().upper()
    assert said(decoder.feed_bare(echo + drawn(2))) == [f"unknown_report {raw}", "card_drawn 8S"]


def test_a_beat_of_another_form_is_told_raw() -> None:
    odd = ref_frame(0x0F, 1, b"\0")
    assert bare(BOOTED, odd) == ["shoe_booted", f"unknown_report {odd[1:-1].hex().upper()}"]


# Frames by number (a letter: see `line`), and what is told; numbers are cards.
ROWS = """
in order                              | S 1 2 3            | boot 1 2 3
a resend is no second card            | S 1 1 2 1 2        | boot 1 2
a gap that is filled is no loss       | S 1 3 2 4          | boot 1 2 3 4
later ones wait for their turn        | S 1 4 3 2          | boot 1 2 3 4
never filled: told at the end         | S 1 3 4            | boot 1 lost:2>3 3 4
two gaps                              | S 1 3 5            | boot 1 lost:2>3 3 lost:4>5 5
the device keeps it no longer         | S 1 3 b3,3         | boot 1 lost:2>3 3
the device keeps a part               | S 1 5 b5,3         | boot 1 lost:2>3 lost:3>5 5
64 later: what is before is gone      | S 1 65 66          | boot 1 lost:2>3 lost:3>65 65 66
... and one less is not               | S 1 65 2           | boot 1 2 lost:3>65 65
a beat names one that never came      | S 1 b2 2           | boot 1 2
its patience ends after two seconds   | S 1 b2 b2 b2 3     | boot 1 lost:2>3 3
... and not after one                 | S 1 b2 b2 2 3      | boot 1 2 3
a power-up is one                     | S 1 T 1'           | boot 1 boot 1'
a lost power-up is known by boot_id   | S 1 1' b1'         | boot 1 boot lost:0>1 1'
... and told once if it is resent     | S 1 1' T 2'        | boot 1 boot 1' 2'
what was due before it is lost        | S 1 3 T            | boot 1 lost:2>3 3 boot
what a beat named before it is lost   | S 1 b2 T           | boot 1 lost:2>3 boot
the first contact waits for a beat    | 5 6 b6,0,5 7       | 5 6 7
... which says what was acknowledged  | 5 6 b6,0,6 7       | 6 7
... and what will be resent           | 6 b6,0,5 5         | 5 6
... and what is gone                  | 6 b6,6,4           | lost:4>6 6
no beat in a bare capture             | 5 6 8              | 5 6 lost:7>8 8
a power-up needs no beat              | 1 S                | boot 1
another body of one number            | S 1 x1 2           | boot 1 conflict 2
... while it waits                    | S 2 x2 1           | boot conflict 1 2
a beat that knows of less             | S 1 2 b1           | boot 1 2 lost:3>2
"""


def line(text: str, ms: list[int]) -> bytes:
    """One frame of a row. Beats are a second apart; a prime is the next power-up's."""
    other = {"boot": BOOT + 1} if text.endswith("'") or text == "T" else {}
    name = text.rstrip("'")
    if name in ("S", "T"):
        return ref_frame(POWER_UP, 0, b"", **other)
    if name[0] == "x":
        return drawn(int(name[1:]), 0x4D)
    if name[0] != "b":
        return drawn(int(name), 0x11 + int(name) % 13, **other)
    newest, *rest = (int(number) for number in name[1:].split(","))
    ms[0] += 1000
    return (
        beat(newest, *rest, ms=ms[0], **other)
        if rest
        else beat(newest, ms=ms[0], unacked=0, **other)
    )


def told(events: list[ShoeEvent]) -> str:
    words = []
    boots = 0
    for event in events:
        kind, *rest = said([event])[0].split()
        if kind == "card_drawn":
            words.append(str(event.device_seq) + "'" * (boots > 1))
        else:
            boots += kind == "shoe_booted"
            names = {"shoe_booted": "boot", "copy_conflict": "conflict"}
            words.append(names.get(kind) or f"lost:{'>'.join(rest)}")
    return " ".join(words)


@pytest.mark.parametrize(
    "row", ROWS.strip().splitlines(), ids=lambda row: row.split("|")[0].strip()
)
def test_numbers(row: str) -> None:
    _, frames, wanted = (cell.strip() for cell in row.split("|"))
    decoder, ms = Decoder(REF), [0]
    events = [e for text in frames.split() for e in decoder.feed_bare(line(text, ms))]
    assert told(events + decoder.finish()) == wanted


def test_numbers_go_round() -> None:
    decoder = Decoder(REF)
    decoder.feed_bare(beat(65533))
    order = (65534, 65536, 65535, 65537, 65534)  # one too early, one again
    events = [e for seq in order for e in decoder.feed_bare(drawn(seq))]
    assert [event.device_seq for event in events] == ["65534", "65535", "0", "1"]
    assert decoder.resends == 1
    assert host_said(decoder.replies()) == [(RESEND, BOOT, 2)]  # it was asked for before it came


def test_a_power_up_is_not_the_number_nought_of_a_round() -> None:
    decoder = Decoder(REF)
    decoder.feed_bare(beat(65535) + drawn(65536) + drawn(65537))
    assert said(decoder.feed_bare(ref_frame(POWER_UP, 0, boot=BOOT + 1))) == ["shoe_booted"]


# Frames one after the other, and what the host then says.
ASKS: dict[str, list[tuple[tuple[bytes, ...], list[tuple[int, int]]]]] = {
    "what is acknowledged and asked for": [
        ((BOOTED,), [(ACK, 1)]),
        ((drawn(1), drawn(2)), [(ACK, 3)]),
        ((drawn(2),), [(ACK, 3)]),  # it has not heard us
        ((drawn(4),), [(RESEND, 3)]),  # at once
        ((drawn(5),), []),  # ... and not with every report behind the gap
        ((beat(5, ms=9000),), [(RESEND, 3)]),
        ((drawn(3),), [(ACK, 6)]),
        ((beat(5, ms=10_000),), [(ACK, 6)]),
    ],
    "a lost request is made again at the next periodic beat": [
        ((BOOTED, drawn(1), drawn(3)), [(RESEND, 2)]),
        ((beat(3, ms=1000),), [(RESEND, 2)]),
        ((beat(3, ms=1040),), [(ACK, 2)]),  # the device's answer
        ((beat(3, ms=2000),), [(RESEND, 2)]),
        ((drawn(2), drawn(5)), [(RESEND, 4)]),  # another gap, at once
        ((beat(5, ms=2040),), [(RESEND, 4)]),
        ((beat(5, ms=2080),), [(ACK, 4)]),
    ],
}


@pytest.mark.parametrize("steps", ASKS.values(), ids=ASKS)
def test_what_the_host_says(
    steps: list[tuple[tuple[bytes, ...], list[tuple[int, int]]]],
) -> None:
    decoder = Decoder(REF)
    for frames, expected in steps:
        decoder.feed_bare(b"".join(frames))
        said_now = [(kind, seq) for kind, _, seq in host_said(decoder.replies())]
        assert said_now == expected, frames


def test_what_waits_is_not_acknowledged() -> None:
    decoder = Decoder(REF)
    decoder.feed_bare(BOOTED + drawn(1) + drawn(3))
    assert [(k, s) for k, _, s in host_said(decoder.replies())] == [(RESEND, 2)]
    assert [(k, s) for k, _, s in host_said(decoder.greeting())] == [(RESEND, 2)]


def test_a_garbled_frame_is_rejected_and_then_repaired() -> None:
    good = drawn(1)
    bad = good[:8] + bytes([good[8] ^ 4]) + good[9:]
    told = bare(BOOTED + bad + drawn(2) + good)
    assert [text.split()[0] for text in told] == [
        "shoe_booted",
        "frame_rejected",
        "card_drawn",
        "card_drawn",
    ]


@pytest.mark.parametrize("name", ["enq-bcc", "text-line", "text-line-scan"])
def test_a_vendors_shoe_is_told_nothing(name: str) -> None:
    decoder = Decoder(load_profile(name))
    decoder.feed_bare(bytes(range(256)) + b"[Game]<Card:4S>\r0001\r" + BOOTED)
    assert decoder.greeting() == decoder.replies() == b""


def test_a_new_segment_goes_on_where_the_journal_stood() -> None:
    first = Decoder(REF, "j")
    first.feed_bare(BOOTED + drawn(1) + ref_frame(RESULT, 2, b"\x01\x00"))
    first.feed_bare(drawn(4))
    assert first.carried(0) is None  # one report waits for another
    first.feed_bare(ref_frame(READY, 3) + ref_frame(RESULT, 5, b"\x01\x00"))
    carried = first.carried(0)
    assert isinstance(carried, JournalState)
    assert carried.memory == f"{BOOT}:6"
    second = Decoder(REF, "j")
    second._protocol.recall(carried.memory)  # as the segment's second record does
    assert said(second.feed_bare(drawn(5) + BOOTED + drawn(6))) == ["card_drawn 8S"]
    assert host_said(second.greeting()) == [(RESEND, BOOT, 7)]


@pytest.mark.parametrize("seed", range(SEED, SEED + 20))
def test_on_a_lossy_line_every_report_comes_once_and_in_order(seed: int) -> None:
    """Both ways lose and garble; every card arrives, and no loss is told, because none happened."""
    rng = random.Random(seed)
    device, decoder = Device(), Decoder(REF, "j")
    sent: list[int] = []
    heard: list[ShoeEvent] = []
    clock = 0

    def line_loses(data: bytes) -> bytes:
        frames = [b"\0" + each + b"\0" for each in data.split(b"\0") if each]
        kept = [frame for frame in frames if rng.random() > 0.25]
        return b"".join(
            frame if rng.random() > 0.1 else bytes([frame[0], frame[1] ^ 0x10]) + frame[2:]
            for frame in kept
        )

    def exchange(data: bytes) -> None:
        nonlocal clock
        for piece in cut(line_loses(data), rng.sample(range(1, 400), 3)):
            clock += 1
            heard.extend(decoder.feed(Record(RecordKind.DATA, clock, clock, piece)))
            answer = device.answer(line_loses(decoder.replies()))
            if answer:
                heard.extend(
                    decoder.feed(Record(RecordKind.DATA, clock, clock, line_loses(answer)))
                )

    exchange(device.say(POWER_UP))
    for number in range(150):
        code = (rng.randint(1, 4) << 4) | rng.randint(1, 13)
        sent.append(code)
        exchange(device.say(DRAWN, bytes([0, code])))
        if number % 3 == 0:
            exchange(device.waiting())
    for _ in range(40):
        device.ms -= 999  # many resends within the patience
        exchange(device.waiting() + device.beat())
    kinds = [event.report.__struct_config__.tag for event in heard]
    assert "report_lost" not in kinds, f"seed {seed}"
    faces = [text.split()[1] for text in said(heard) if text.startswith("card_drawn")]
    suits, ranks = " SHDC", " A23456789TJQK"
    assert faces == [ranks[code & 15] + suits[code >> 4] for code in sent], f"seed {seed}"
    assert kinds.count("shoe_booted") == 1
    assert device.unacked == 151, f"seed {seed}"


def test_frames_that_touch_share_a_delimiter() -> None:
    data = BOOTED[:-1] + drawn(1)[:-1] + drawn(2)
    assert bare(data) == ["shoe_booted", "card_drawn 8S", "card_drawn 8S"]
    assert wrapped(b"")[0] == 0
