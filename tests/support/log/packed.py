"""Packed logs, and damage to them that verification must find and name."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from events.errors import LogRefused
from events.log.packing import convert
from events.log.reader import reading
from events.log.segments import archive_folder, segments_in
from events.log.verify import verify
from tests.support.log.closed_books import SITE_T1, Chain

_TAIL = 48  # lengths and hash


def packed_chain(plain: Chain, folder: Path) -> Path:
    """A copy of a log whose closed files are packed."""
    path = folder / "data" / plain.path.name
    shutil.copytree(plain.path.parent, path.parent)
    assert len(list(convert(path, pack=True))) == len(plain.files)
    return path


def forms(log: Path) -> set[str]:
    """The suffixes of a log's closed files."""
    return {
        each.suffix
        for each in archive_folder(log).iterdir()
        if each.name.startswith("site.t1-0") and each.suffix in {".sqlite", ".packed"}
    }


def _flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _in_the_index(data: bytes, rng: random.Random) -> bytes:
    at = len(data) - 1 - rng.randrange(_TAIL + 60)
    return data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]


def _in_the_head(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(64)
    return data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _longer(data: bytes, rng: random.Random) -> bytes:
    return data + rng.randbytes(rng.randrange(1, 80))


def _swapped(data: bytes, rng: random.Random) -> bytes:
    """Two runs of the same length exchange their places."""
    size = rng.randrange(16, 200)
    a, b = sorted(rng.sample(range(0, len(data) - 2 * size, size), 2))
    return (
        data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :]
    )


def _zeroed(data: bytes, rng: random.Random) -> bytes:
    at, size = rng.randrange(len(data) - 64), rng.randrange(8, 64)
    return data[:at] + bytes(size) + data[at + size :]


MUTATIONS = (_flipped, _in_the_index, _in_the_head, _cut, _longer, _swapped, _zeroed)
"""Each damages a packed file in its own way."""


def mutated(
    log: Path, folder: Path, kind: Callable[[bytes, random.Random], bytes], rng: random.Random
) -> None:
    """Damage one closed file of a copy of `log`; assert that every reading of it names the file."""
    copy = folder / "damaged"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(log.parent, copy)
    file = rng.choice(segments_in(archive_folder(copy / log.name), SITE_T1))
    before = file.path.read_bytes()
    after = kind(before, rng)
    if after == before:
        return
    file.path.chmod(0o644)
    file.path.write_bytes(after)
    found = verify(copy / log.name)
    assert not found.ok, kind
    assert file.path.name in (found.reason or "")
    assert found.first_bad is not None
    assert file.first <= found.first_bad <= file.last
    try:
        with reading(copy / log.name) as reader:
            list(reader.bare())
    except LogRefused as refused:
        assert refused.position is not None  # noqa: PT017 - a reader may also see nothing of it
    else:
        raise AssertionError(f"{kind}: a reader saw nothing")
