"""What an `enq-bcc` shoe sends, made here byte by byte and not by the product.

A report is written as people write it in the shoe-link page: `D P1 8S`, `I B2 KC`, `G player`,
`E 2`, `e 2`, `S`, `P`. A face of `--` is withheld.
"""

from collections.abc import Iterable
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import msgspec

from events.types import ShoeEvent
from shoe_driver.framing.frames import Frame, Piece
from shoe_driver.profiles.catalogue import load_profile, profile_text

PROFILE = load_profile("enq-bcc")
NOISE = bytes.fromhex("FF FF FF FF C5 FC")

_SUITS = {"D": 0x90, "C": 0xA0, "S": 0xB0, "H": 0xC0}
_TARGETS = {"P": 0x80, "B": 0x90, "other": 0xA0, "first": 0xC0, "burn": 0xD0}
_RESULTS = {"player": 0x90, "tie": 0xA0, "banker": 0xC0, "six": 0xD0, "forced": 0xF0}


def frame(seq: str, body: bytes) -> bytes:
    """One copy: `05 seq body 03 h h`."""
    check = 3 ^ ord(seq)
    for byte in body:
        check ^= byte
    return bytes([5]) + seq.encode() + body + bytes([3]) + f"{check:02X}".encode()


def body(report: str) -> bytes:
    """Kind and data of a report as people write it."""
    kind, *rest = report.split()
    if kind in "DIdiR":
        place, face = rest
        target = _TARGETS[place] if place in _TARGETS else _TARGETS[place[0]] + int(place[1])
        if ":" in face:  # burn cards left
            face, left = face.split(":")
            target += int(left)
        return kind.encode() + bytes([target, _face(face)])
    if kind == "G":
        winner, *pairs = rest
        return b"G" + bytes([_RESULTS[winner] + ("PP" in pairs) + 2 * ("BP" in pairs)])
    if kind in "Ee" and rest:
        return kind.encode() + bytes([0x80 + int(rest[0]) + 0x40 * ("latched" in rest)])
    return kind.encode()


def _face(face: str) -> int:
    return 0x80 if face == "--" else _SUITS[face[1]] + "A23456789TJQK".index(face[0]) + 1


def stream(reports: str, copies: int = 3, first_seq: int = 1) -> bytes:
    """The bytes of comma-separated reports, numbered as a shoe does."""
    return b"".join(copy * copies for copy in frames(reports, first_seq))


def frames(reports: str, first_seq: int = 1) -> list[bytes]:
    """One frame for each report."""
    seqs = cycle("123456789")
    for _ in range(first_seq - 1):
        next(seqs)
    made = []
    for report in (text.strip() for text in reports.split(",")):
        if report == "S":
            seqs = cycle("123456789")
            made.append(frame("0", body("S")))
        else:
            made.append(frame(next(seqs), body(report)))
    return made


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """`data` in pieces, cut at these places."""
    edges = [0, *sorted({place for place in places if 0 < place < len(data)}), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def site_profile(folder: Path, **options: int) -> Path:
    """The shipped profile with other options (`partial_ms=50`), as a site's own file."""
    text = profile_text("enq-bcc").decode()
    for key, value in options.items():
        before = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(before, f"{key} = {value}")
    path = folder / "site.toml"
    path.write_text(text, encoding="utf-8")
    return path


def said(events: list[ShoeEvent]) -> list[str]:
    """Each event in one line: its kind and what stands in it."""
    return [line(msgspec.to_builtins(event.report)) for event in events]


def line(report: dict[str, Any]) -> str:
    words = [str(word) for key, word in report.items() if word is not False and key != "latched"]
    return " ".join([*words, "latched"] if report.get("latched") else words)


def left_out(data: bytes, pieces: list[Piece]) -> bytes:
    """What is in no piece; that none is in two is asserted."""
    done, out = 0, b""
    for piece in pieces:
        assert piece.offset >= done
        out += data[done : piece.offset]
        done = piece.offset + (len(piece.raw) if isinstance(piece, Frame) else piece.length)
    return out + data[done:]
