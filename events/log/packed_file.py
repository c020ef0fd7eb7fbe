"""Packed files: closed files of a log in compressed form, with the same content.

A packed file holds the rows of a closed file: events, requests, checkpoints, cursors and meta. Only
the rows' stored bytes are in it; the columns and the chain's hashes follow from them, and packing
refuses a file in which they do not. The rows lie in blocks of some coups, compressed with zstd, so
that one coup is read without the rest.

    magic || dictionary || block || block || ... || index ||
    lengths of dictionary and index, u64 big-endian || SHA-256 of dictionary, index and lengths

An event's id follows from its cause and is left out, since random digits do not compress. The
dictionary is the beginning of the first block, and every block is compressed with it. The index
names each block's first position, place, hash, and the chain's hash before it. A hash
covers every byte of the file, so a reader finds the damaged block and can name its positions.
"""

import hashlib
import os
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import msgspec
import zstandard
from msgspec import Struct

from events.errors import UnreadableEvent
from events.json_form import UNDECODABLE
from events.log.newest_anchor import start_of_file
from events.log.schema import APPLICATION_ID, SCHEMAS
from events.proof.chain import next_hash
from events.types import decode_envelope, event_id

__all__ = ["DamagedFile", "PackedFile", "copy_to_database", "write_packed"]

_MAGIC: Final = b"bac/packed/1\n"
_LEVEL: Final = 19  # a file is packed once, and read as fast at any level
_BLOCK_BYTES: Final = 64 * 1024
"""Stored bytes of a block, less those of its last event: some four coups."""
_DICTIONARY_BYTES: Final = 32 * 1024
_BLOCKS_FOR_A_DICTIONARY: Final = 4  # with fewer it saves nothing
_MOST_UNPACKED: Final = 64 * 1024 * 1024
"""Bytes of an unpacked block: what a damaged file may ask for."""
_LENGTH_BYTES: Final = 8
_TAIL_BYTES: Final = 2 * _LENGTH_BYTES + hashlib.sha256().digest_size
_EVENTS: Final = "SELECT position, type, version, at, bytes, hash FROM event ORDER BY position"
_REQUESTS: Final = "SELECT transaction_id, body, position FROM request ORDER BY position"
_CHECKPOINTS: Final = "SELECT size, note FROM checkpoint ORDER BY size"

_Row = tuple[int, str, int, str, bytes, bytes]
_Request = tuple[str, bytes, int]
_Note = tuple[int, bytes]


class DamagedFile(sqlite3.DatabaseError):
    """A packed file is not what was written; readers take it like a damaged SQLite file.

    Args:
        reason: one line for a person.
        position: the first position that cannot be read.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.position = position


class _Cause(Struct, frozen=True):
    """The part of an envelope that its id follows from."""

    cause: str


_causes: Final = msgspec.json.Decoder(_Cause)
_ID: Final = b'{"event_id":"'
_ID_DIGITS: Final = 32
_AFTER_ID: Final = len(_ID) + _ID_DIGITS + len(b'",')


class _EventIds:
    """The ids of a block's events, as they follow from their causes, one event after the other."""

    def __init__(self) -> None:
        self._cause, self._index = "", -1

    def without(self, stored: bytes) -> bytes:
        """Return an event's bytes without its id, where `restored` puts the same one in again."""
        kept = b"{" + stored[_AFTER_ID:]
        return kept if self._with(self._next(stored), kept) == stored else stored

    def restored(self, kept: bytes) -> bytes:
        """Return an event's stored bytes."""
        name = self._next(kept)
        return kept if kept.startswith(_ID) else self._with(name, kept)

    @staticmethod
    def _with(name: str, kept: bytes) -> bytes:
        return b'%b%b",%b' % (_ID, name.encode(), kept[1:])

    def _next(self, event: bytes) -> str:
        """Return the id of the next event, which names its cause."""
        try:
            cause = _causes.decode(event).cause
        except UNDECODABLE:
            cause = ""
        self._index = self._index + 1 if cause == self._cause else 0
        self._cause = cause
        return event_id(cause, self._index)


class _Contents(Struct, frozen=True, array_like=True):
    """What a block holds, in the order of positions; a request lies with its last event.

    The bytes of an event are without its id, where `_EventIds` puts that in again.
    """

    events: list[bytes]
    requests: list[_Request]
    checkpoints: list[_Note]


class _Block(Struct, frozen=True, array_like=True):
    """A block's first position and number of events, its place, and the hashes.

    `before` is the chain's hash before its first event, `digest` the SHA-256 of its bytes.
    """

    first: int
    count: int
    offset: int
    length: int
    before: bytes
    digest: bytes


class _Index(Struct, frozen=True, array_like=True):
    """The index: the file's format and meta, its cursors, its blocks, the chain's end."""

    version: int
    meta: list[tuple[str, str | int]]
    cursors: list[tuple[str, int]]
    blocks: list[_Block]
    last: int
    head: bytes


class PackedFile:
    """An open packed file. Use `PackedFile.open`.

    Attributes:
        unpacked: the number of blocks that were unpacked.
    """

    def __init__(self, file: BinaryIO, index: _Index, dictionary: bytes) -> None:
        self._file, self._index = file, index
        self._firsts = [block.first for block in index.blocks]
        self._decompressor = zstandard.ZstdDecompressor(dict_data=_dictionary(dictionary))
        self._newest: tuple[int, _Contents] | None = None
        self.unpacked = 0

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a packed file and check all but its blocks.

        Raises:
            DamagedFile: it is no packed file, or a part of it was changed.
            OSError: it cannot be read.
        """
        file = path.open("rb")
        try:
            index, packed = _read_index(file)
            return cls(file, index, _decompress(zstandard.ZstdDecompressor(), packed))
        except BaseException:
            file.close()
            raise

    @property
    def version(self) -> int:
        """The version of the log's format."""
        return self._index.version

    def rows(self, first: int, last: int | None = None) -> Iterator[_Row]:
        """Yield the rows of events from one position to another, as a closed file holds them."""
        for position, stored, digest in self.bare(first, last):
            try:
                said = decode_envelope(stored)
            except UnreadableEvent as error:
                raise DamagedFile(str(error), position) from error
            yield position, said.type, said.v, said.at, stored, digest

    def bare(self, first: int, last: int | None = None) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield position, stored bytes and hash of events from one position to another."""
        end = self._index.last if last is None else min(last, self._index.last)
        for number in range(self._number_of(first), len(self._firsts)):
            block = self._index.blocks[number]
            if block.first > end:
                return
            head = block.before
            events = self._contents(number).events
            for position, stored in enumerate(events, start=block.first):
                head = next_hash(head, stored)
                if position > end:
                    return
                if position >= first:
                    yield position, stored, head
            self._require_seam(number + 1, head)

    def first(self) -> tuple[int, bytes] | None:
        """Return the position and hash of the first event."""
        return next(((row[0], row[2]) for row in self.bare(self._firsts[0])), None)

    def checkpoints(self, after: int) -> Iterator[_Note]:
        """Yield the checkpoints that cover more events than `after`, the smallest first."""
        for number in range(self._number_of(after), len(self._firsts)):
            yield from (each for each in self._contents(number).checkpoints if each[0] > after)

    def request(self, cause: str, position: int) -> tuple[bytes, int] | None:
        """Return body and position of the request whose last event is at a position; else None."""
        requests = self._contents(self._number_of(position)).requests
        return next(
            ((body, at) for name, body, at in requests if (name, at) == (cause, position)), None
        )

    def requests(self) -> Iterator[_Request]:
        """Yield every request."""
        for number in range(len(self._firsts)):
            yield from self._contents(number).requests

    def rows_of(self, table: str) -> Iterable[tuple[Any, ...]]:
        """Return the rows of `meta` or `cursor`."""
        return self._index.meta if table == "meta" else self._index.cursors

    def close(self) -> None:
        """Close it. Safe to call twice."""
        self._file.close()

    def _number_of(self, position: int) -> int:
        return max(0, bisect_right(self._firsts, position) - 1)

    def _contents(self, number: int) -> _Contents:
        if self._newest is not None and self._newest[0] == number:
            return self._newest[1]
        block = self._index.blocks[number]
        self._file.seek(block.offset)
        packed = self._file.read(block.length)
        if hashlib.sha256(packed).digest() != block.digest:
            raise DamagedFile(f"{_name(block)} was changed", block.first)
        try:
            found = msgspec.msgpack.decode(_decompress(self._decompressor, packed), type=_Contents)
        except msgspec.MsgspecError as error:
            raise DamagedFile(f"{_name(block)}: {error}", block.first) from error
        if len(found.events) != block.count:
            raise DamagedFile(f"{_name(block)} holds {len(found.events)}", block.first)
        ids = _EventIds()
        found.events[:] = map(ids.restored, found.events)
        self.unpacked += 1
        self._newest = number, found
        return found

    def _require_seam(self, number: int, head: bytes) -> None:
        """Check that a block goes on from the chain's hash at the end of the one before."""
        blocks, index = self._index.blocks, self._index
        due = blocks[number].before if number < len(blocks) else index.head
        if head != due:
            position = blocks[number].first if number < len(blocks) else index.last
            raise DamagedFile("the block before it ends with another hash", position)


def _name(block: _Block) -> str:
    return f"the block of positions {block.first} to {block.first + block.count - 1}"


def _dictionary(content: bytes) -> zstandard.ZstdCompressionDict | None:
    if not content:
        return None
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _decompress(decompressor: zstandard.ZstdDecompressor, packed: bytes) -> bytes:
    if not packed:
        return b""
    try:
        if zstandard.frame_content_size(packed) > _MOST_UNPACKED:
            raise DamagedFile(f"a block is larger than {_MOST_UNPACKED} bytes")
        return decompressor.decompress(packed, max_output_size=_MOST_UNPACKED)
    except zstandard.ZstdError as error:
        raise DamagedFile(f"cannot be unpacked: {error}") from error


def _read_index(file: BinaryIO) -> tuple[_Index, bytes]:
    """Read and check the index; return it with the packed dictionary."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(_MAGIC)) != _MAGIC or size < len(_MAGIC) + _TAIL_BYTES:
        raise DamagedFile("no packed file of this build's format")
    file.seek(size - _TAIL_BYTES)
    tail = file.read(_TAIL_BYTES)
    lengths, digest = tail[: 2 * _LENGTH_BYTES], tail[2 * _LENGTH_BYTES :]
    of_dictionary = int.from_bytes(lengths[:_LENGTH_BYTES], "big")
    begins = size - _TAIL_BYTES - int.from_bytes(lengths[_LENGTH_BYTES:], "big")
    if begins < len(_MAGIC) + of_dictionary:
        raise DamagedFile("its end was cut off or changed")
    file.seek(begins)
    packed = file.read(size - _TAIL_BYTES - begins)
    file.seek(len(_MAGIC))
    dictionary = file.read(of_dictionary)
    if hashlib.sha256(dictionary + packed + lengths).digest() != digest:
        raise DamagedFile("its index or its dictionary was changed")
    try:
        index = msgspec.msgpack.decode(
            _decompress(zstandard.ZstdDecompressor(), packed), type=_Index
        )
    except msgspec.MsgspecError as error:
        raise DamagedFile(f"its index is of another form: {error}") from error
    _check_places(index, len(_MAGIC) + of_dictionary, begins)
    return index, dictionary


def _check_places(index: _Index, offset: int, end: int) -> None:
    """Check that the blocks follow one another without a gap, from an offset to the index."""
    position = index.blocks[0].first if index.blocks else 1
    for block in index.blocks:
        if (block.offset, block.first) != (offset, position) or block.count < 1:
            raise DamagedFile("its blocks do not follow one another", position)
        offset, position = offset + block.length, position + block.count
    if (offset, position) != (end, index.last + 1):
        raise DamagedFile("its blocks do not fill it", position)
    if index.version not in SCHEMAS:
        raise DamagedFile(f"of format {index.version}, which this build does not read")


# ---- packing and unpacking ----


def write_packed(db: sqlite3.Connection, origin: str, file: BinaryIO) -> None:
    """Write the packed form of a closed file.

    Args:
        db: the closed file, which is verified.
        origin: `<site>/<table>`.
        file: is written from its beginning.

    Raises:
        DamagedFile: a column is not what the stored bytes say, or a hash is not that of the chain.
    """
    (version,) = db.execute("PRAGMA user_version").fetchone()
    before = start_of_file(db, origin).head
    contents = list(_blocks(db, before))
    plain = [msgspec.msgpack.encode(each) for _, _, each in contents]
    content = plain[0][:_DICTIONARY_BYTES] if len(plain) >= _BLOCKS_FOR_A_DICTIONARY else b""
    packed = zstandard.ZstdCompressor(level=_LEVEL).compress(content) if content else b""
    compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_dictionary(content))
    file.write(_MAGIC + packed)
    offset, blocks = len(_MAGIC) + len(packed), []
    for (first, head, each), raw in zip(contents, plain, strict=True):
        block = compressor.compress(raw)
        digest = hashlib.sha256(block).digest()
        blocks.append(_Block(first, len(each.events), offset, len(block), head, digest))
        file.write(block)
        offset += len(block)
    last, head = db.execute("SELECT position, hash FROM event ORDER BY position DESC").fetchone()
    index = _Index(
        version,
        db.execute("SELECT name, value FROM meta ORDER BY name").fetchall(),
        db.execute("SELECT name, position FROM cursor ORDER BY name").fetchall(),
        blocks,
        last,
        head,
    )
    end = zstandard.ZstdCompressor(level=_LEVEL).compress(msgspec.msgpack.encode(index))
    lengths = b"".join(len(each).to_bytes(_LENGTH_BYTES, "big") for each in (packed, end))
    file.write(end + lengths + hashlib.sha256(packed + end + lengths).digest())


def _blocks(db: sqlite3.Connection, head: bytes) -> Iterator[tuple[int, bytes, _Contents]]:
    """Yield each block's first position, the chain's hash before it, and its contents."""
    requests, notes = iter(db.execute(_REQUESTS)), _notes(db)
    request, note = next(requests, None), next(notes, None)
    first, before, size = 0, head, 0
    block, ids = _Contents([], [], []), _EventIds()
    for row in db.execute(_EVENTS):
        position, stored = row[0], row[4]
        head = _checked(row, head)
        first = first or position
        block.events.append(ids.without(stored))
        size += len(stored)
        while request is not None and request[2] <= position:
            block.requests.append(request)
            request = next(requests, None)
        while note is not None and note[0] <= position:
            block.checkpoints.append(note)
            note = next(notes, None)
        if size >= _BLOCK_BYTES:
            yield first, before, block
            first, before, size = 0, head, 0
            block, ids = _Contents([], [], []), _EventIds()
    if block.events:
        yield first, before, block


def _notes(db: sqlite3.Connection) -> Iterator[_Note]:
    with suppress(sqlite3.OperationalError):  # format 1 has no checkpoints
        yield from db.execute(_CHECKPOINTS)


def _checked(row: _Row, before: bytes) -> bytes:
    """Return the chain's hash with an event, once all its columns follow from its bytes."""
    position, kind, version, at, stored, digest = row
    said, head = decode_envelope(stored), next_hash(before, stored)
    if (said.position, said.type, said.v, said.at, head) != (position, kind, version, at, digest):
        raise DamagedFile("its columns are not what its stored bytes say", position)
    return head


def copy_to_database(packed: PackedFile, db: sqlite3.Connection) -> None:
    """Make the closed file that a packed file came from, row by row, in an empty database.

    Raises:
        DamagedFile: a block of it is damaged.
        sqlite3.Error: the disk refused.
    """
    schema = SCHEMAS[packed.version]
    tables = {name for name, made in schema.items() if made.startswith("CREATE TABLE")}
    db.execute("BEGIN")
    db.execute(f"PRAGMA application_id={APPLICATION_ID}")
    db.execute(f"PRAGMA user_version={packed.version}")
    for name in tables:
        db.execute(schema[name])
    for table, rows in (
        ("event", packed.rows(0)),
        ("request", packed.requests()),
        ("checkpoint", packed.checkpoints(0)),
        ("meta", packed.rows_of("meta")),
        ("cursor", packed.rows_of("cursor")),
    ):
        if table in tables:
            (columns,) = db.execute(
                "SELECT count(*) FROM pragma_table_info(?)", (table,)
            ).fetchone()
            places = ", ".join("?" * columns)
            db.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608 - our names
    for name, statement in schema.items():
        if name not in tables:
            db.execute(statement)
    db.execute("COMMIT")
