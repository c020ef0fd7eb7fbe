"""The judge of a whole log, with the rulebooks and wire profiles that lie next to it.

Rooms below cannot see one another, so they meet here: `events.log.verify` walks the log,
`table_core` judges the money, and `shoe_driver` reads the shoe's bytes.
"""

from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from errno import ENOSPC
from functools import cache
from os import fdopen, memfd_create, pread, strerror
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, Final, NamedTuple, TypeVar
from weakref import finalize

from baccarat.rulebooks.editions import editions_at_hand
from events.errors import InputError
from events.log.editions import PROFILES, RULEBOOKS
from events.log.verify import BadFile, Progress, VerificationResult, verify
from events.log.verify_in_parts import PartJudge, verify_in_parts
from events.proof.checkpoint import KeptCheckpoint
from events.proof.note import VerifierKey
from events.types import Entry, Envelope, ShoeEvent, TableEvent, decode_entry, encode_envelope
from shoe_driver.profiles.profile import parse_profile
from shoe_driver.reread import RawReader
from table_core.evidence.judge import EvidenceEvent, EvidenceFault
from table_core.evidence.log_judge import JudgedCounts, LogJudge
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook

__all__ = ["Judging", "opening_judge", "verify_and_judge"]

_T = TypeVar("_T")
_SIZE_BYTES: Final = 4


class Judging:
    """Judges the events of one log while a verifier walks it.

    Args:
        log: its file.
        origin: `<site>/<table>`.
        whole: whether the walk begins with the log's first event.
        part: whether it takes a part of the log, and others the rest.
        packed: keeps the coups that are not at hand, by id; None for a temporary file.
    """

    def __init__(
        self,
        log: Path,
        origin: str,
        *,
        whole: bool = True,
        part: bool = False,
        packed: MutableMapping[str, bytes] | None = None,
    ) -> None:
        self._reader_of = cache(_Parsed(editions_at_hand(log, PROFILES), _reader).get)
        books = _Parsed(editions_at_hand(log, RULEBOOKS), _rulebook)
        if packed is None and whole:
            packed = _OnDisk(_unnamed_file())
        self._judge = LogJudge(origin, books, self._raw_says, packed, whole=whole, part=part)

    @property
    def counts(self) -> JudgedCounts:
        """What was judged so far."""
        return self._judge.counts

    def take(self, position: int, envelope: Envelope | Entry, event: TableEvent) -> None:
        """Judge the next event.

        Raises:
            BadFile: the record does not follow from itself; names the position.
        """
        try:
            self._judge.take(position, envelope, event)
        except EvidenceFault as fault:
            raise _bad(fault) from fault

    def finish(self) -> None:
        """Judge what waits for the end of its commit.

        Raises:
            BadFile: as `take`.
        """
        try:
            self._judge.finish()
        except EvidenceFault as fault:
            raise _bad(fault) from fault

    def _raw_says(self, event: ShoeEvent) -> bool | None:
        reader = self._reader_of(event.profile_hash)
        return None if reader is None else reader.says(event)


class _Outcome(NamedTuple):
    """What the judge of a part has left: counts, the file of its coups, and what waits."""

    counts: JudgedCounts
    store: Path
    places: dict[str, int]
    deferred: tuple[tuple[int, bytes], ...]


class _PartJudging(Judging):
    """Judges a part of a log; its coups are in the file `store` afterwards."""

    def __init__(self, log: Path, origin: str, store: Path) -> None:
        self._store, self._kept = store, _OnDisk(store.open("wb+", buffering=0))
        super().__init__(log, origin, part=True, packed=self._kept)

    def outcome(self) -> _Outcome:
        """Return what is left for `_JobsJudging.join`."""
        self._judge.close()
        self._kept.close()
        waits = ((each.position, _encoded(each)) for each in self._judge.deferred)
        return _Outcome(self.counts, self._store, self._kept.places, tuple(waits))


class _JobsJudging:
    """Judges a log whose parts are verified by processes of their own.

    Args:
        log: its file.

    Attributes:
        counts: what was judged, once the parts are joined.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self.counts = JudgedCounts()

    def of_part(self, origin: str, store: Path) -> PartJudge:
        """Return the judge of one part."""
        return _PartJudging(self._log, origin, store)

    def join(self, origin: str, outcomes: Sequence[Any]) -> None:
        """Judge what is said of the coups of one part in another.

        Raises:
            BadFile: the record does not follow from itself.
        """
        stores = [_OnDisk(each.store.open("rb"), each.places) for each in outcomes]
        coups = ChainMap[str, bytes]({}, *stores)
        if len(coups) < sum(map(len, stores)):
            raise BadFile("a coup begins twice")
        judge = Judging(self._log, origin, packed=coups)
        for each in outcomes:
            for position, stored in each.deferred:
                entry = decode_entry(stored)
                judge.take(position, entry, entry.data)
        judge.finish()
        counts = (*(each.counts for each in outcomes), judge.counts)
        # Faults that are known of an old build are never judged in parts.
        settlements, commissions, decoded, not_decoded, not_judged = (
            sum(each[index] for each in counts) for index in range(5)
        )
        cited = {digest: name for each in counts for digest, name in each.cited.items()}
        self.counts = JudgedCounts(
            settlements, commissions, decoded, not_decoded, not_judged, cited=cited
        )
        for store in stores:
            store.close()


def verify_and_judge(
    log: Path,
    progress: Progress | None,
    *,
    jobs: int,
    held: Sequence[KeptCheckpoint],
    keys: Collection[VerifierKey],
    archive: Path | None = None,
    alone: bool = False,
) -> tuple[VerificationResult, JudgedCounts]:
    """Verify a log and judge its events; one process does it again where several find a fault.

    Args:
        log: its file.
        progress: called now and then.
        jobs: how many processes work at a time.
        held: as `events.log.verify.verify` has them, and those that follow.
        keys: public keys to trust.
        archive: the folder of the closed files.
        alone: leave those; a file alone is not judged.

    Raises:
        InputError: there is no such file, it cannot be read, or it is not a SQLite file.
    """
    if jobs > 1 and not alone:
        divided = _JobsJudging(log)
        found = verify_in_parts(
            log, jobs, progress, held=held, keys=keys, archive=archive, judging=divided
        )
        if found is not None:
            return found, divided.counts
    judges: list[Judging] = []

    def judging(origin: str) -> Judging:
        judges.append(Judging(log, origin))
        return judges[0]

    found = verify(
        log, progress, held=held, keys=keys, archive=archive, alone=alone, judging=judging
    )
    return found, judges[0].counts if judges else JudgedCounts()


def opening_judge(log: Path, origin: str) -> Callable[[bool], Judging]:
    """Return what makes the judge of the events that the opening of a log checks."""
    return lambda whole: Judging(log, origin, whole=whole)


def _reader(source: bytes) -> RawReader:
    return RawReader(parse_profile(source, source="a kept profile"))


def _rulebook(source: bytes) -> Rulebook:
    return parse_rulebook("a kept rulebook", source)


class _Parsed(Mapping[str, _T]):
    """Editions by hash, each parsed when it is first asked for.

    An edition that this build cannot use is as good as missing.
    """

    def __init__(self, sources: Mapping[str, bytes], parse: Callable[[bytes], _T]) -> None:
        self._sources = sources
        self._parse = parse
        self._parsed: dict[str, _T | None] = {}

    def __getitem__(self, digest: str) -> _T:
        if digest not in self._parsed:
            self._parsed[digest] = None
            with suppress(InputError):
                self._parsed[digest] = self._parse(self._sources[digest])
        found = self._parsed[digest]
        if found is None:
            raise KeyError(digest)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def _encoded(record: EvidenceEvent) -> bytes:
    """Return an event as it would be stored today."""
    said = record.envelope
    return encode_envelope(
        record.event,
        index=0,
        stream=said.stream,
        position=said.position,
        at=said.at,
        actor=said.actor,
        cause=said.cause,
        correlation=said.correlation,
    )


def _unnamed_file() -> IO[bytes]:
    """Return a new temporary file, in memory where no folder for one can be written."""
    try:
        return TemporaryFile(buffering=0)
    except FileNotFoundError:
        return fdopen(memfd_create("coups"), "wb+", buffering=0)


def _no_room(error: OSError) -> OSError:
    """Return the error with the folder where room is missing."""
    return OSError(error.errno, error.strerror, gettempdir())


def _bad(fault: EvidenceFault) -> BadFile:
    _, _, position = fault.part.rpartition(" ")
    return BadFile(fault.reason, int(position) if position.isdigit() else None)


class _OnDisk(MutableMapping[str, bytes]):
    """A mapping whose values are in a file, so that a long log needs little memory.

    A value that is set again is written anew; its place is remembered, and the old one left.

    Args:
        file: an empty one, or one that was written before; it is closed with the mapping.
        places: where each value of the file begins.
    """

    def __init__(self, file: IO[bytes], places: dict[str, int] | None = None) -> None:
        self.places = {} if places is None else places
        self._end = 0
        self._file = file
        self._closing = finalize(self, file.close)  # nobody closes the temporary one

    def close(self) -> None:
        """Close the file."""
        self._closing()

    def __getitem__(self, name: str) -> bytes:
        begins, file = self.places[name], self._file.fileno()
        size = int.from_bytes(pread(file, _SIZE_BYTES, begins), "big")
        return pread(file, size, begins + _SIZE_BYTES)

    def __setitem__(self, name: str, data: bytes) -> None:
        record = len(data).to_bytes(_SIZE_BYTES, "big") + data
        try:
            written = self._file.write(record)
        except OSError as error:
            raise _no_room(error) from error
        if written < len(record):
            raise _no_room(OSError(ENOSPC, strerror(ENOSPC)))
        self.places[name] = self._end
        self._end += written

    def __delitem__(self, name: str) -> None:
        del self.places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)
