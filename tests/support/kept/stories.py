"""What a build said of logs, ledgers, journals and evidence, and whether this one says the same.

`tests/corpus/<version>/kept/<story>/` holds what lay on a site's disks, each file as it is or
packed by xz, and `said.json`: commands, and to the byte what the build of that version answered.
docs/develop/changing-events.md says what for. Nothing of the product is reached but its command
line and, to book a log once more, `tests.support.cage.ledgers.book_log`.
"""

import hashlib
import json
import lzma
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import chdir, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from msgspec import Struct

from tests.support.cage.ledgers import book_log, bring_up
from tests.support.machine.commands import Done, here

SAID: Final = "said.json"
LOG: Final = "table.sqlite"
LEDGER: Final = "cage.sqlite"
PACKED: Final = ".xz"

_CORPUS: Final = Path(__file__).parents[2] / "corpus"
_ANEW: Final = "anew.sqlite"
_BOOKED: Final = frozenset({"reconcile", "statement"})  # what tells every posting
_MAKES: Final = frozenset({"backup", "-o"})  # whose files are asked about
_SHOWN: Final = 300  # characters of a difference
_BEFORE: Final = 40  # ... of which so many are alike


class Said(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command and its answer.

    Args:
        argv: behind `baccarat`, in the folder where the story is unpacked.
        code: the exit code.
        stdin: the file that it reads.
        out: what stood on stdout.
        digest: SHA-256 of that instead, hex, where it is as long as the log itself.
        err: what stood on stderr; None where it names the build, or its size.
    """

    argv: tuple[str, ...]
    code: int
    stdin: str | None = None
    out: str | None = None
    digest: str | None = None
    err: str | None = ""


def kept_stories() -> list[Path]:
    """A folder for each story of each version."""
    return sorted(path for path in _CORPUS.glob("*/kept/*") if path.is_dir())


def unpack(folder: Path, to: Path) -> Path:
    """The story's files as they lay on the disk, the ledger brought up as `cage run` does it."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            target = to / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            if path.suffix == PACKED:
                target, data = target.with_suffix(""), lzma.decompress(data)
            target.write_bytes(data)
    if (to / LEDGER).exists():
        bring_up(to / LEDGER)
    return to


def said_of(folder: Path) -> tuple[Said, ...]:
    """The commands of an unpacked story."""
    return msgspec.json.decode((folder / SAID).read_bytes(), type=tuple[Said, ...])


def answer_to(folder: Path, argv: Sequence[str], stdin: str | None = None) -> Done:
    """Ask in this process, in the story's folder."""
    given = (folder / stdin).read_bytes() if stdin else b""
    with chdir(folder):
        return here(*argv, stdin=given)


def differences(folder: Path, turn: int = 0, *, every: int = 1) -> list[str]:
    """What this build says otherwise of an unpacked story.

    Args:
        folder: where it lies.
        turn: of the commands, which are asked: those `every` so many from this one on, and all
            whose files others read.
        every: 1 for all.
    """
    found: list[str] = []
    asked = [
        said
        for at, said in enumerate(said_of(folder))
        if at % every == turn % every or _MAKES & {*said.argv}
    ]
    for said in asked:
        found += _difference(folder, said, said.argv)
    if (folder / LEDGER).exists():
        book_log(str(folder / _ANEW), folder / LOG)  # by this build, and asked the same
        for said in asked:
            if LEDGER in said.argv and said.argv[1] in _BOOKED:
                argv = tuple(_ANEW if word == LEDGER else word for word in said.argv)
                found += _difference(folder, said, argv)
    return found


def _difference(folder: Path, said: Said, argv: tuple[str, ...]) -> Iterator[str]:
    now, command = answer_to(folder, argv, said.stdin), " ".join(argv)
    if now.code != said.code:
        yield f"{command}: exit code {said.code}, now {now.code}: {now.err[:_SHOWN]}"
    elif said.digest is not None:
        if hashlib.sha256(now.out.encode()).hexdigest() != said.digest:
            yield f"{command}: another SHA-256 of its {len(now.out):,} characters"
    elif not same(said.out or "", now.out):
        yield f"{command}: {_first(said.out or '', now.out)}"
    if said.err is not None and now.err != said.err:
        yield f"{command}: on stderr {said.err[:_SHOWN]!r}, now {now.err[:_SHOWN]!r}"


def same(then: str, now: str) -> bool:
    """Whether both say the same: a document of JSON may have got further keys since.

    Lines of JSON are compared one by one, all else to the byte.
    """
    return then == now or _first(then, now) is None


def _first(then: str, now: str) -> str | None:
    """Where the first difference is, and what it is; None where only keys were added."""
    old, new = then.split("\n"), now.split("\n")
    if len(old) != len(new):
        return f"{len(old)} lines, now {len(new)}"
    for number, (a, b) in enumerate(zip(old, new, strict=True), start=1):
        if a != b and (found := _in_line(a, b)):
            return f"line {number}{found}"
    return None


def _in_line(then: str, now: str) -> str | None:
    try:
        return _in_document(json.loads(then), json.loads(now), "")
    except ValueError:
        places = (n for n, (a, b) in enumerate(zip(then, now, strict=False)) if a != b)
        at = max(next(places, min(len(then), len(now))) - _BEFORE, 0)
        return f": {then[at:][:_SHOWN]!r}, now {now[at:][:_SHOWN]!r}"


def _in_document(then: Any, now: Any, path: str) -> str | None:
    if isinstance(then, dict) and isinstance(now, dict):
        gone = (f"{path}.{key}: is gone" for key in then if key not in now)
        inner = (_in_document(then[key], now[key], f"{path}.{key}") for key in then if key in now)
        return next(filter(None, (*gone, *inner)), None)
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        inner = (_in_document(a, b, f"{path}[{n}]") for n, (a, b) in pairs)
        return next(filter(None, inner), None)
    alike = type(then) is type(now) and then == now
    return None if alike else f"{path}: {then!r:.{_SHOWN}}, now {now!r:.{_SHOWN}}"


def events_of(folder: Path) -> Iterator[dict[str, Any]]:
    """The events of an unpacked log as they are stored, those of its closed files first."""
    position = 0
    for path in (*sorted((folder / "archive").glob("*[0-9].sqlite")), folder / LOG):
        for stored in _stored(path, position):
            event = json.loads(stored)
            position = event["position"]
            yield event


def _stored(path: Path, after: int) -> list[bytes]:
    """What stands in one file; in a copy, since SQLite would take a WAL in."""
    with TemporaryDirectory() as there:
        for each in (path, path.with_name(f"{path.name}-wal")):
            if each.exists():
                shutil.copy(each, there)
        with closing(sqlite3.connect(Path(there) / path.name)) as db:
            asked = "SELECT bytes FROM event WHERE position > ? ORDER BY position"
            return [row[0] for row in db.execute(asked, (after,))]
