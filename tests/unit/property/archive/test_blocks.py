"""Blocks of events: where they end, what is in them, and that damage to one is named."""

import random
from collections.abc import Callable
from typing import Final

import pytest

from events.errors import ArchiveError
from events.proof.chain import next_hash, origin_hash
from property.archive.batch import ArchiveRow
from property.archive.blocks import BLOCK_BYTES, Block, cut_blocks, make_block, unpack_block

_ORIGIN: Final = "harbour/t1"
_COUP: Final = 25
_SIZE: Final = 700


def _events(count: int) -> list[ArchiveRow]:
    """Coups of 25 events, each of 700 bytes."""
    head, rows = origin_hash(_ORIGIN), []
    for position in range(1, count + 1):
        kind = "betting_opened" if position % _COUP == 1 else "card_dealt"
        stored = f"{position} {kind} ".encode().ljust(_SIZE, b"x")
        head = next_hash(head, stored)
        rows.append(ArchiveRow(_ORIGIN, position, kind, "2026-01-01T00:00:00Z", stored, head))
    return rows


@pytest.mark.parametrize("until", [None, 1, 26, 1001, 1976])
def test_a_block_ends_where_a_coup_begins_and_the_coup_in_progress_stays(until: int | None) -> None:
    rows = _events(1990 if until else 2000)
    blocks, rest = cut_blocks(rows, until)
    assert [row for block in blocks for row in block] + list(rest) == rows
    for block in blocks:
        assert block[0].position % _COUP == 1
        assert BLOCK_BYTES <= sum(len(row.stored) for row in block) < BLOCK_BYTES + _COUP * _SIZE
    assert until is None or rest[0].position <= until


def test_a_coup_without_end_is_cut_all_the_same() -> None:
    rows = [row._replace(type="card_dealt") for row in _events(4000)]
    blocks, rest = cut_blocks(rows, None)
    assert len(blocks) > 1
    assert [row for block in blocks for row in block] + list(rest) == rows


def _flipped(seed: int) -> Callable[[Block], Block]:
    def harm(block: Block) -> Block:
        at = random.Random(seed).randrange(len(block.content))
        content = bytearray(block.content)
        content[at] ^= 1 << seed % 8
        return block._replace(content=bytes(content))

    return harm


@pytest.mark.parametrize(
    "harm",
    [
        *map(_flipped, range(200)),
        lambda block: block._replace(content=b""),
        lambda block: block._replace(content=block.content[:-1]),
        lambda block: block._replace(content=block.content[: len(block.content) // 2]),
        lambda block: block._replace(content=_other().content),
        lambda block: block._replace(before=bytes(32)),
        lambda block: block._replace(hash=bytes(32)),
        lambda block: block._replace(first=block.first + 1),
        lambda block: block._replace(last=block.last + 1),
    ],
)
def test_damage_is_named(harm: Callable[[Block], Block]) -> None:
    rows = _events(60)
    block = make_block(7, origin_hash(_ORIGIN), rows)
    found = unpack_block(_ORIGIN, block)
    assert [(e.position, e.stored, e.hash) for e in found] == [
        (row.position, row.stored, row.hash) for row in rows
    ]
    harmed = harm(block)
    try:
        same = unpack_block(_ORIGIN, harmed)
    except ArchiveError as error:
        assert f"{_ORIGIN}: block {harmed.first} to {harmed.last} is damaged" in str(error)  # noqa: PT017 - else what is read is the same
    else:
        assert same == found


def _other() -> Block:
    rows = _events(120)[60:]
    return make_block(7, rows[0].hash, rows)
