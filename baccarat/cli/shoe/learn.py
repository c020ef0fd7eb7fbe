"""`baccarat shoe learn`: propose wire profiles for an unknown capture."""

import re
from collections.abc import Sequence
from itertools import chain, cycle
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.output_files import write_whole
from baccarat.cli.shoe.input import CaptureInput, read_capture
from baccarat.cli.shown import say
from events.cards import Card
from events.errors import InputError
from shoe_driver.journal.records import RecordKind, parse_header
from shoe_driver.learning.card_codes import CardCodes, find_card_codes, printed_codes
from shoe_driver.learning.damaged import with_damaged_frames
from shoe_driver.learning.learn import Candidate, SerialGuess, guess_serial
from shoe_driver.learning.learn import learn as candidates_of
from shoe_driver.learning.proposal import counted_bytes, profile_file, profile_tree
from shoe_driver.learning.timing import timing_of
from shoe_driver.profiles.profile import parse_profile

__all__ = ["joined", "learn", "learned"]

_LEARNED_MOST: Final = 256 * 1024
"""Bytes of a capture that are searched: thousands of reports."""
_WITHOUT_BIT_7: Final = bytes(byte & 0x7F for byte in range(256))
_SEVEN: Final = 7


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write the best profile here")
@click.option(
    "--deal",
    "deals",
    metavar="CARDS",
    multiple=True,
    help='the cards of a capture, in order: "9H,2D,8S"; once for each capture',
)
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
def learn(
    captures: tuple[str, ...], output: Path | None, deals: tuple[str, ...], *, as_json: bool
) -> int:
    """Propose wire profiles for CAPTURE: bare bytes or a journal (- is standard input).

    Some 200 cards are enough. What is sure is said to be; what is guessed names the capture that
    would decide it. With --deal the card codes are found too. For faces that stay unknown it names
    a second deal; give both captures then, each with its --deal. Exit code 1: nothing explains it.
    """
    if deals and len(deals) != len(captures):
        raise InputError(
            f"--deal: {len(deals)} for {len(captures)} captures; give one for each, in their order"
        )
    cards = [card for deal in deals for card in _cards(deal)] if deals else None
    document = learned(joined([read_capture(each) for each in captures]), cards)
    found = document["candidates"]
    if output is not None and found:
        write_whole(output, document["files"][0].encode(), "-o")
    if as_json:
        click.echo(msgspec.json.encode({"candidates": found}))
    else:
        for text in _lines(found, document["notes"]):
            say(text)
        if output is not None and found:
            say(f"{output}: written; now: baccarat shoe profiles --check {output}")
    return EXIT_DONE if found else EXIT_NO


def learned(source: CaptureInput, deal: list[Card] | None) -> dict[str, Any]:
    """Return the candidates as they are shown, with the file and the notes of each.

    Args:
        source: the capture.
        deal: its cards, in order, or None.
    """
    data, times = source.data[:_LEARNED_MOST], _times(source)
    serial = guess_serial(data)
    if serial.data_bits == _SEVEN:
        data = data.translate(_WITHOUT_BIT_7)
    baud = _baud(source)
    shown: list[dict[str, Any]] = []
    files, notes = [], []
    for candidate in candidates_of(data):
        counted = counted_bytes(candidate.wire.number)
        codes = printed_codes(candidate.bodies, counted, deal)
        if deal and codes is None and not shown:
            number = candidate.wire.number
            codes = find_card_codes(
                candidate.bodies,
                candidate.gaps,
                deal,
                counted,
                checked=candidate.wire.check.kind != "none",
                numbered=number is not None,
                separator=number.separator if number and number.field is not None else "",
            )
            if codes and candidate.copies == 1 and candidate.wire.check.kind != "none":
                codes = with_damaged_frames(data, candidate.wire, codes, deal)
        timing = timing_of(data, times, candidate.wire, candidate.copies) if times else None
        tree = profile_tree(candidate, serial, codes, baud=baud, timing=timing)
        shown.append(_shown(candidate, serial, tree, baud))
        files.append(profile_file(tree, candidate, serial, codes, timing))
        notes.append((*candidate.notes, *(() if shown[1:] else _of_cards(deal, codes))))
    return {"candidates": shown, "files": files, "notes": notes}


def joined(captures: Sequence[CaptureInput]) -> CaptureInput:
    """Return captures of one device, one after the other.

    Raises:
        InputError: bare bytes and journals are mixed.
    """
    if len({bool(each.records) for each in captures}) > 1:
        raise InputError("some captures are journals, others bare bytes; record all alike")
    return CaptureInput(
        data=b"".join(each.data for each in captures),
        records=tuple(record for each in captures for record in each.records),
    )


def _times(source: CaptureInput) -> list[tuple[int, int]]:
    """Return the offset and the time of each read; none of bare bytes."""
    times, offset = [], 0
    for record in source.records:
        if record.kind is RecordKind.DATA:
            times.append((offset, record.mono_us))
            offset += len(record.payload)
    return times


def _shown(
    candidate: Candidate, serial: SerialGuess, tree: dict[str, Any], baud: int | None
) -> dict[str, Any]:
    wire, number = candidate.wire, candidate.wire.number
    return {
        "framer": wire.framer.kind,
        "check": wire.check.kind,
        "hex": wire.check.hex,
        "numbering": None if number is None else {"base": number.base, "width": number.width},
        "copies": candidate.copies,
        "serial": {
            "baud": baud,
            "data_bits": serial.data_bits,
            "parity": serial.parity,
            "stop_bits": 1,
        },
        "explained": candidate.explained,
        "sure": candidate.sure,
        "guessed": list(candidate.notes),
        "profile": tree,
    }


def _of_cards(deal: list[Card] | None, codes: CardCodes | None) -> tuple[str, ...]:
    if codes is None:
        if not deal:
            return ("cards: capture a deal of known cards, and name them by --deal",)
        return ("cards: no bytes agree with the deal; were these cards dealt in this order?",)
    told = [f"cards: {len(codes.faces)} of 52 faces, {len(codes.dealt)} of them dealt"]
    missing = [face for face in Card if face not in codes.faces.values()]
    for why, faces in (
        ("not certain", [face for face in missing if face in codes.unknown]),
        ("never dealt", [face for face in missing if face not in codes.unknown]),
    ):
        if faces:
            told.append(f"cards: {why}, so unknown: {', '.join(face.value for face in faces)}")
    doubtful = [*missing, *(face for face in Card if face in codes.guessed)]
    certain = [face for face in Card if face not in doubtful]
    if doubtful:
        again = ",".join(face.value for face in _deal_again(doubtful, certain))
        told.append(f"cards: deal these too, and give both captures: --deal {again}")
    return tuple(told)


def _deal_again(faces: Sequence[Card], known: Sequence[Card]) -> list[Card]:
    """Return a deal of faces, each twice, with known ones around each of them."""
    if not known:
        return list(faces)
    around = cycle(known)
    between = ((face, next(around)) for face in (*faces, *reversed(faces)))
    return [next(around), *chain.from_iterable(between)]


def _baud(source: CaptureInput) -> int | None:
    """Return the speed that a journal's own profile was read at; bare bytes have none."""
    if not source.records or source.records[0].kind is not RecordKind.HEADER:
        return None
    header = parse_header(source.records[0])
    return parse_profile(header.profile.encode(), source="in the journal").serial.baud


def _cards(text: str) -> list[Card]:
    """Parse a list of cards.

    Raises:
        InputError: one is no card.
    """
    found = []
    for word in re.split(r"[\s,]+", text.strip()):
        try:
            found.append(Card(word.upper().replace("10", "T")))
        except ValueError as error:
            raise InputError(f"--deal: {word!r} is no card; write cards as 9H,2D,TS") from error
    return found


def _lines(found: list[dict[str, Any]], notes: list[tuple[str, ...]]) -> list[str]:
    if not found:
        return [
            "nothing of the grammar explains it: too short, the wrong baud, or a framer of its own"
        ]
    lines = []
    for number, (each, said) in enumerate(zip(found, notes, strict=True), start=1):
        check = each["check"] + (" in hex" if each["hex"] else "")
        counts = each["numbering"]
        numbers = f"numbers of base {counts['base']}, {counts['width']} wide" if counts else "none"
        serial = each["serial"]
        bits = f"{serial['data_bits']}{serial['parity']}{serial['stop_bits']}"
        sure = "sure" if each["sure"] else "a guess"
        lines.append(
            f"{number}. {sure}: framer {each['framer']}, check {check}, numbering {numbers}, "
            f"{bits}; {each['explained']:.1%} of the bytes"
        )
        lines += [f"   {note}" for note in said]
    return lines
