"""Measure coups a second through `settle --batch`, next to an engine that judges the same coups.

Product: cases as lines of JSON with three wagers each are read from a file, judged, settled and
written to a file as `baccarat settle --batch` does it. Peer: baccarat-engine from npm, in node. It
is given the hands as objects, returns winner, natural and pairs, and settles nothing; its time
includes no reading and writing. The two runtimes cannot take turns: first the one runs, then the
other. The winners are compared, so that both have judged the same.
"""

import os
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from baccarat.cli.settle import answer_batch
from benchmarks.instruments.figures import Figure, percentiles, side_by_side
from benchmarks.peers import run_node
from benchmarks.rows import BenchOptions
from benchmarks.table.coups import Dealt, deal_coups, wagers_of
from events.cards import Card, Hand
from events.errors import OurBug

__all__ = ["COUPS", "COUPS_A_SECOND_LEAST", "measure"]

COUPS: Final = 20_000
"""Coups in one pass, unless the command line says otherwise."""

COUPS_A_SECOND_LEAST: Final = 100_000.0
_PASSES: Final = 9
_US: Final = 1_000_000
_NS_PER_US: Final = 1_000
_SUITS: Final = {"S": "spade", "H": "heart", "D": "diamond", "C": "club"}
_RULES: Final = "au-commission"


class _Judged(Struct, frozen=True):
    winner: str


class _Peer(Struct, frozen=True):
    """The output of the peer's script: each pass's time, and the winners' counts."""

    nanoseconds: list[int]
    outcomes: dict[str, int]


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `judge`.

    Raises:
        Unmeasurable: node is not here, or the peer cannot be installed.
        OurBug: product and peer disagree about a winner.
    """
    coups, passes = options.events or COUPS, min(options.samples, _PASSES)
    dealt = list(islice(deal_coups(), coups))
    with options.folder() as folder, options.progress("passes", passes) as advance:
        peer = _peer(folder / "coups.json", dealt, passes)
        cases, answers = folder / "cases.jsonl", folder / "answers.jsonl"
        cases.write_bytes(_cases(dealt))
        product = []
        for done in range(1, passes + 1):
            product.append(_batch(cases, answers) / coups)
            advance(done)
        bare = _read_and_written(cases, answers) / coups
        winners = Counter(_winners(answers))
    if winners != Counter({name: count for name, count in peer.outcomes.items() if count}):
        raise OurBug(f"who won: {dict(winners)}, but the peer says {peer.outcomes}")
    each_us = [each / _NS_PER_US / coups for each in peer.nanoseconds]
    return [_figure(product, each_us, coups, bare)]


def _figure(product: list[float], peer: list[float], coups: int, bare: float) -> Figure:
    p50, p99 = percentiles(product)
    peer_p50, peer_p99 = percentiles(peer)
    return Figure(
        **side_by_side((p50, p99), (peer_p50, peer_p99), digits=2, floor_digits=3, ratio_digits=1),
        name="judge",
        unit="us",
        samples=len(product),
        goal=f"{COUPS_A_SECOND_LEAST:,.0f} coups a second of a core; the peer only judges",
        met=p50 * COUPS_A_SECOND_LEAST <= _US,
        detail={
            "coups": float(coups),
            "json_alone_us": round(bare, 2),
            "coups_a_second": round(_US / p50),
            "peer_coups_a_second": round(_US / peer_p50),
            "load": round(os.getloadavg()[0], 2),
        },
    )


def _batch(cases: Path, answers: Path) -> float:
    """Return the processor time of the batch, microseconds."""
    with cases.open("rb") as source, answers.open("wb") as sink:
        began = time.process_time_ns()
        answer_batch(source, sink)
        return (time.process_time_ns() - began) / _NS_PER_US


def _read_and_written(cases: Path, answers: Path) -> float:
    """Return microseconds to decode these lines and to encode those, without judging."""
    decoder, encoder = msgspec.json.Decoder(), msgspec.json.Encoder()
    lines = cases.read_bytes().splitlines()
    made = [decoder.decode(line) for line in answers.read_bytes().splitlines()]
    began = time.process_time_ns()
    for line, answer in zip(lines, made, strict=True):
        decoder.decode(line)
        encoder.encode(answer)
    return (time.process_time_ns() - began) / _NS_PER_US


def _winners(answers: Path) -> list[str]:
    decoder = msgspec.json.Decoder(_Judged)
    return [decoder.decode(line).winner for line in answers.read_bytes().splitlines()]


def _cases(dealt: Sequence[Dealt]) -> bytes:
    encoder = msgspec.json.Encoder()
    lines = []
    for number, (coup, wagers) in enumerate(zip(dealt, wagers_of(), strict=False), start=1):
        asked = [
            {"id": f"w{index}", "seat": each.seat, "bet": each.bet, "stake": each.stake}
            for index, each in enumerate(wagers)
        ]
        cards = [face for _, _, face in coup]
        case = {"case": number, "rules": _RULES, "cards": cards, "wagers": asked}
        lines.append(encoder.encode(case) + b"\n")
    return b"".join(lines)


def _peer(file: Path, dealt: Sequence[Dealt], passes: int) -> _Peer:
    coups = [
        {hand.value: [_card(face) for whose, _, face in coup if whose is hand] for hand in Hand}
        for coup in dealt
    ]
    file.write_bytes(msgspec.json.encode(coups))
    return msgspec.json.decode(run_node("judge.js", file, str(passes)), type=_Peer)


def _card(face: Card) -> tuple[str, str]:
    return _SUITS[face.suit], "10" if face.rank == "T" else face.rank
