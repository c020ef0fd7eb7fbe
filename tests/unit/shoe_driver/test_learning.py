"""Made-up devices, drawn from the grammar: `learn` finds what they are, or says that it guesses."""

import random

import msgspec
import pytest

from baccarat.cli.shoe.input import CaptureInput
from baccarat.cli.shoe.learn import joined, learned
from events.cards import Card
from events.types import CardDrawn, CardUnreadable
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.learning.card_codes import find_card_codes
from shoe_driver.learning.learn import guess_serial, learn
from shoe_driver.profiles.profile import parse_profile
from tests.support.shoe.foreign import FOREIGN, EvenDevice
from tests.support.shoe.made_up import FACES, capture, drawn, shoe, wanted
from tests.support.shoe.shoe_bytes import frames, stream

DEVICES = 12  # of three hundred in tests/soak/test_foreign_shoes.py
SEED = 20261129


def found(data: bytes) -> tuple[dict[str, object] | None, bool]:
    candidates = learn(data)
    if not candidates:
        return None, False
    best = candidates[0]
    number = best.wire.number
    told = {
        "framer": best.wire.framer.kind,
        "check": best.wire.check.kind,
        "hex": best.wire.check.hex,
        "numbering": number and {"base": number.base, "width": number.width},
    }
    return told, best.sure


@pytest.mark.sweep
def test_what_is_learned_of_made_up_devices() -> None:
    right, certain, wrong = 0, 0, []
    for number in range(DEVICES):
        device = drawn(SEED + number)
        told, sure = found(capture(device, shoe(number), number))
        good = told == wanted(device)
        right += good
        certain += sure
        wrong += [SEED + number] if sure and not good else []
    assert wrong == []
    assert right >= DEVICES - 2
    assert certain >= DEVICES // 4


def cards_read(profile: str, data: bytes) -> list[str | None]:
    """The face of every card that a driver with this profile reads; None where it cannot."""
    decoder = Decoder(parse_profile(profile.encode(), source="learned"))
    events = [*decoder.feed_bare(data), *decoder.finish()]
    said = [event.report for event in events]
    return [
        report.face.value if isinstance(report, CardDrawn) and report.face else None
        for report in said
        if isinstance(report, CardDrawn | CardUnreadable)
    ]


def faces_learned(seed: str, *, noise: float = 0.01) -> tuple[bool, list[str]]:
    """Whether every dealt face was learned, and the faces that are read wrongly."""
    device, cards = drawn(seed), shoe(seed)
    data = capture(device, cards, seed, noise=noise)
    told = learned(CaptureInput(data=data), [Card(card) for card in cards])
    alone = drawn(seed)
    read = cards_read(told["files"][0], b"".join(map(alone.card, FACES)))
    if len(read) != len(FACES):  # another framer, which may lose a card and name no other one
        left = iter(FACES)
        return False, [face for face in read if face and face not in left]
    known = {face for face, said in zip(FACES, read, strict=True) if said == face}
    wrong = [face for face, said in zip(FACES, read, strict=True) if said not in (None, face)]
    return known >= set(cards), wrong


@pytest.mark.parametrize("number", range(3))
def test_faces_of_a_deal_that_is_known(number: int) -> None:
    assert faces_learned(f"deal {number}", noise=0.0) == (True, [])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", ["d 5", "d 14", "d 32", "e 31"])
def test_noise_makes_a_face_unknown_and_never_another(seed: str) -> None:
    """Codes that look like other cards, a second report of cards' kind, no check at all."""
    assert faces_learned(seed)[1] == []


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("seed", "face"), [("fresh 1 35", "2H"), ("fresh 2 8", "9D"), ("fresh 2 28", "5D")]
)
def test_a_face_that_hangs_on_one_frame_is_a_guess(seed: str, face: str) -> None:
    """Its only frame was damaged, or no check says that it was not."""
    device, cards = drawn(seed), shoe(seed)
    data = capture(device, cards, seed)
    (written, *_) = learned(CaptureInput(data=data), [Card(card) for card in cards])["files"]
    (guessed,) = (line for line in written.splitlines() if "each from one frame" in line)
    assert face in guessed
    assert faces_learned(seed) == (True, [])


def faces_learned_twice(seed: str) -> tuple[int, int]:
    """How many faces are read rightly, and how many wrongly, after the second deal asked for.

    The device was switched off between the two, so its numbers begin again.
    """
    device, cards = drawn(seed), shoe(seed)
    captures = [CaptureInput(data=capture(device, cards, seed))]
    told = learned(captures[0], [Card(card) for card in cards])
    _, asked, again = told["notes"][0][-1].rpartition("--deal ")
    if asked:
        more = again.split(",")
        captures.append(CaptureInput(data=capture(drawn(seed), more, f"{seed} again")))
        told = learned(joined(captures), [Card(card) for card in (*cards, *more)])
    read = cards_read(told["files"][0], b"".join(map(drawn(seed).card, FACES)))
    if len(read) != len(FACES):
        return 0, 0
    right = sum(face == said for face, said in zip(FACES, read, strict=True))
    return right, len(FACES) - right - read.count(None)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", ["fresh 3 3", "shoes 116", "shoes 200"])
def test_faces_that_stay_unknown_are_dealt_again(seed: str) -> None:
    """One that damage hid, one that never came, and two of which the second deal loses frames."""
    assert faces_learned_twice(seed) == (52, 0)


def test_two_faces_that_alternate_are_not_taken_for_each_other() -> None:
    """Damage hides the first frame of the second deal, and nothing says how many are missing."""
    seed, again = "shoes 200", ["2H", "6H", "2H", "6H"]
    device, cards = drawn(seed), shoe(seed)
    first = CaptureInput(data=capture(device, cards, seed))
    second = CaptureInput(data=capture(drawn(seed), again, f"{seed} 0"))
    told = learned(joined([first, second]), [Card(card) for card in (*cards, *again)])
    read = cards_read(told["files"][0], b"".join(map(drawn(seed).card, FACES)))
    assert [face if face not in again else None for face in FACES] == read


@pytest.mark.parametrize(("every_ms", "window_ms", "waits"), [(30, 100, False), (200, 600, True)])
def test_the_times_of_a_journal_say_how_copies_come(
    every_ms: int, window_ms: int, *, waits: bool
) -> None:
    records, now = [], 0
    for each in frames(", ".join(f"D P1 {face}" for face in FACES)):
        for _ in range(3):
            now += every_ms * 1_000
            records += [
                Record(RecordKind.DATA, now, now * 1_000, each[:4]),
                Record(RecordKind.DATA, now + 20_000, now * 1_000, each[4:]),
            ]
        now += 1_000_000
    source = CaptureInput(data=b"".join(r.payload for r in records), records=tuple(records))
    told = learned(source, None)
    tree = told["candidates"][0]["profile"]
    assert tree["repeat"] == {"copies": 3, "window_ms": window_ms}
    assert tree["limits"]["partial_ms"] == 100
    assert ("may wait for an answer" in told["files"][0]) == waits


@pytest.mark.parametrize("scattered", [False, True])
def test_a_face_that_no_capture_decides_is_unknown_unless_the_codes_add_up(
    *, scattered: bool
) -> None:
    values = random.Random(3).sample(range(256), 52) if scattered else range(0x40, 0x40 + 52)
    code_of = dict(zip(FACES, values, strict=True))
    deal = FACES * 2
    gone = (9, 61)  # both cards of one face
    heard = [at for at in range(len(deal)) if at not in gone]
    codes = find_card_codes(
        [b"C" + bytes([code_of[deal[at]]]) for at in heard],
        [int(at - 1 in gone) for at in heard],
        [Card(face) for face in deal],
        range(0),
        checked=True,
    )
    assert codes is not None
    lost = {FACES[9]} if scattered else set()
    assert codes.faces == {
        bytes([value]): Card(face) for face, value in code_of.items() if face not in lost
    }
    assert codes.unknown == set(map(Card, lost))


def test_a_proposal_is_the_profile_that_its_file_holds() -> None:
    data = capture(drawn(1), shoe(1), 1)
    told = learned(CaptureInput(data=data), None)
    best = told["candidates"][0]
    assert msgspec.json.decode(msgspec.json.encode(best))["profile"]["form"] == 2
    assert {"framer", "check", "hex", "numbering", "serial", "explained", "sure"} <= best.keys()
    profile = parse_profile(told["files"][0].encode(), source="learned")
    assert (profile.framer, profile.check) == (best["framer"], best["check"])


def test_copies_and_the_shipped_shoe() -> None:
    faces = shoe("enq", 60)
    places = ("P1", "B1", "P2", "B2")
    text = ", ".join(f"D {places[n % 4]} {face}" for n, face in enumerate(faces))
    best = learn(stream(f"S, {text}, S, {text}"))[0]
    number = best.wire.number
    assert (best.wire.framer.kind, best.wire.check.kind, best.wire.check.hex) == (
        "delimited",
        "xor8",
        True,
    )
    assert best.copies == 3
    assert number is not None
    assert (number.base, number.width, number.first, number.boot) == (10, 1, 1, 0)


def test_parity_is_told_from_the_eighth_bit() -> None:
    device = EvenDevice()
    data = b"".join(device.unknown()[0] for _ in range(60))
    assert (guess_serial(data).data_bits, guess_serial(data).parity) == (7, "E")
    odd = bytes(byte ^ 0x80 for byte in data)
    assert (guess_serial(odd).data_bits, guess_serial(odd).parity) == (7, "O")
    assert guess_serial(random.Random(1).randbytes(500)).parity == "N"


@pytest.mark.sweep
def test_nothing_is_sure_of_noise() -> None:
    for seed in range(2):
        assert not any(each.sure for each in learn(random.Random(seed).randbytes(1_500)))
    assert learn(b"") == []
    assert FOREIGN.keys() == {"length", "even", "comma"}
