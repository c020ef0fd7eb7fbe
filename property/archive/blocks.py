"""A block: consecutive events of one table, compressed. The stored bytes are in it unchanged. Pure.

The archive keeps a table's newest events as rows (its *tail*) and the others in blocks. A block
ends where a coup begins, or where the next event would make it too long. Hashes are not in it: they
follow from the hash before the block and the bytes, and the hash after the block must come out.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import zstandard

from events.errors import ArchiveError
from events.proof.chain import next_hash
from events.types import BettingOpened
from property.archive.batch import ArchiveRow
from property.hub.replicated_event import Head, ReplicatedEvent

__all__ = ["BLOCK_BYTES", "Block", "cut_blocks", "make_block", "unpack_block"]

BLOCK_BYTES: Final = 128 * 1024
"""A block ends with the coup in which its events come to so many bytes."""

# A coup that is longer than this is in more than one block.
_BLOCK_BYTES_MOST: Final = 8 * BLOCK_BYTES
_LEVEL: Final = 6
_LENGTH: Final = 4
# One event alone may be larger than a block: 4 MiB.
_UNPACKED_MOST: Final = 16 * 1024 * 1024


class Block(NamedTuple):
    """A block as a row of the SQL table `property.block`, in column order.

    Args:
        table_id: the table's number in the archive.
        first: position of its first event.
        last: position of its last event.
        first_at: the first event's time.
        last_at: the last event's time.
        before: the chain's hash before it.
        hash: the chain's hash after it.
        content: the events, compressed.
    """

    table_id: int
    first: int
    last: int
    first_at: str
    last_at: str
    before: bytes
    hash: bytes
    content: bytes


def cut_blocks(
    rows: Sequence[ArchiveRow], until: int | None
) -> tuple[list[Sequence[ArchiveRow]], Sequence[ArchiveRow]]:
    """Return the events of each block that is complete, and the events that remain.

    Args:
        rows: consecutive events of one table.
        until: the position at which an unfinished coup begins; it stays together.
    """
    blocks: list[Sequence[ArchiveRow]] = []
    begun = size = 0
    for index, row in enumerate(rows):
        if size >= (BLOCK_BYTES if row.type == BettingOpened.TYPE else _BLOCK_BYTES_MOST):
            blocks.append(rows[begun:index])
            begun, size = index, 0
        if row.position == until:
            return blocks, rows[begun:]
        size += len(row.stored)
    if size >= BLOCK_BYTES:
        blocks.append(rows[begun:])
        begun = len(rows)
    return blocks, rows[begun:]


def make_block(table_id: int, before: bytes, rows: Sequence[ArchiveRow]) -> Block:
    """Return consecutive events as a block.

    Args:
        table_id: the table's number in the archive.
        before: the chain's hash before the first of them.
        rows: at least one.
    """
    first, last = rows[0], rows[-1]
    parts = (len(row.stored).to_bytes(_LENGTH, "big") + row.stored for row in rows)
    content = zstandard.ZstdCompressor(level=_LEVEL).compress(b"".join(parts))
    return Block(
        table_id, first.position, last.position, first.at, last.at, before, last.hash, content
    )


def unpack_block(origin: str, block: Block) -> list[ReplicatedEvent]:
    """Return a block's events, each with its hash.

    Raises:
        ArchiveError: the block is damaged: it does not lead from its hash before to its hash after.
    """
    where = f"{origin}: block {block.first} to {block.last}"
    try:
        if zstandard.frame_content_size(block.content) > _UNPACKED_MOST:
            raise ArchiveError(f"{where} is damaged: it is too long")
        content = zstandard.ZstdDecompressor().decompress(block.content)
    except zstandard.ZstdError as error:
        raise ArchiveError(f"{where} is damaged: {error}") from error
    found: list[ReplicatedEvent] = []
    head = Head(block.first - 1, block.before)
    for stored in _parts(content):
        head = Head(head.position + 1, next_hash(head.hash, stored))
        found.append(ReplicatedEvent(origin, head.position, stored, head.hash))
    if head != Head(block.last, block.hash):
        raise ArchiveError(f"{where} is damaged: its events do not lead to its hash")
    return found


def _parts(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        end = at + _LENGTH + int.from_bytes(content[at : at + _LENGTH], "big")
        yield content[at + _LENGTH : end]
        at = end
