"""The corpus: a log of every version that was ever released, and what it must come to.

`tests/corpus/<version>/` has `table.sqlite`, `types.json` (the shape of every version of every
type) and `expected.json` (events, chain, the fold's version, the state); what for is said in
docs/develop/changing-events.md. Only `record` and `refresh` write; `make corpus` calls them.
"""

import shutil
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from events.log.store import EventLog
from events.types import Report, ShoeReported, TableEvent, decode_data, decode_envelope
from events.types.earlier import UPCASTS
from events.types.registry import KINDS
from table_core.fold.dispatch import FOLD_VERSION, fold_all
from table_core.fold.snapshot import encode_state
from table_core.state.table import TableState
from tests.support.log.corpus_game import ORIGIN, play

ROOT: Final = Path(__file__).parents[3]
CORPUS: Final = ROOT / "tests" / "corpus"

_LOG: Final = "table.sqlite"
_TYPES: Final = "types.json"
_EXPECTED: Final = "expected.json"
_FOR_PEOPLE: Final = frozenset({"title", "description"})

Versions = set[tuple[str, int]]


class CorpusError(Exception):
    """What is recorded and what this build makes of it do not go together; says what to do."""


class Expected(Struct, frozen=True, kw_only=True):
    """What a log comes to.

    Args:
        events: how many there are.
        chain: the chain's hash at the last, hex.
        fold: the version of the fold that made the state.
        state: the table, as a snapshot has it.
    """

    events: int
    chain: str
    fold: int
    state: dict[str, Any]


class Reading(NamedTuple):
    """A log as this build reads it; the types and versions in it, and what its shoe has said."""

    found: Expected
    versions: Versions
    reports: set[type[Report]]


def present_version() -> str:
    """Which version the tree is going to be."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return str(project["project"]["version"])


def folders(corpus: Path = CORPUS) -> list[Path]:
    """A folder for each version, by name."""
    return sorted(path for path in corpus.iterdir() if path.is_dir())


def read_log(folder: Path) -> Reading:
    """Fold a copy of the folder's log; opening it checks every event and the chain."""
    versions: Versions = set()
    with TemporaryDirectory() as there:
        copy = Path(shutil.copy(folder / _LOG, there))
        with EventLog.open(copy, ORIGIN) as log:
            envelopes = [decode_envelope(stored.stored) for stored in log.read()]
            versions |= {(envelope.type, envelope.v) for envelope in envelopes}
            events = [decode_data(envelope) for envelope in envelopes]
            reports = (e.source.report for e in events if isinstance(e, ShoeReported))
            said: set[type[Report]] = {type(report) for report in reports}
            state = fold_all(TableState(), events)
            found = Expected(
                events=log.position,
                chain=log.head.hex(),
                fold=FOLD_VERSION,
                state=msgspec.json.decode(encode_state(state)),
            )
    return Reading(found, versions, said)


def expected_of(folder: Path) -> Expected:
    """What the folder says."""
    return msgspec.json.decode((folder / _EXPECTED).read_bytes(), type=Expected)


def missing_types(versions: Versions) -> list[str]:
    """Types of this build, in any of their versions, that no log has."""
    return [f"{name} version {v}" for name, v in sorted(_shapes().keys() - versions)]


def shapes_of(folder: Path) -> dict[str, Any]:
    """`<type>/<version>` to its shape, as the folder has it."""
    found: dict[str, Any] = msgspec.json.decode((folder / _TYPES).read_bytes())
    return found


def shape_faults(folder: Path) -> list[str]:
    """Which types have another shape by now, or are gone, though their version is the same."""
    now = _described()
    return [
        f"{name}: {'has another shape: it needs a new version' if name in now else 'is gone'}"
        for name, shape in sorted(shapes_of(folder).items())
        if now.get(name) != shape
    ]


def refresh(folder: Path) -> None:
    """Record the state that a log folds to, where the fold's version was raised since.

    Raises:
        CorpusError: it folds to another state, and the fold's version is the same.
    """
    expected, found = expected_of(folder), read_log(folder).found
    if found == expected:
        return
    if found.fold == expected.fold or found.chain != expected.chain:
        raise CorpusError(
            f"{folder.name}: its log comes to another state by fold version {found.fold}; find out "
            "why, and raise FOLD_VERSION in table_core/fold/dispatch.py where it is meant"
        )
    _write(folder / _EXPECTED, msgspec.to_builtins(found))


def record(folder: Path) -> Versions:
    """Play the game anew into the folder of the version that is being made.

    Returns:
        The types and versions that stand in its log.

    Raises:
        CorpusError: what is there does not come to what it says, or a type has changed under its
            version; nothing was recorded.
    """
    if folder.exists():
        refresh(folder)
        faults = shape_faults(folder)
        if faults:
            raise CorpusError(f"{folder.name}: {'; '.join(faults)}")
    with TemporaryDirectory() as there:
        made = Path(there) / _LOG
        with EventLog.open(made, ORIGIN) as log:
            play(log)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, folder / _LOG)
    found, versions, _ = read_log(folder)
    _write(folder / _EXPECTED, msgspec.to_builtins(found))
    _write(folder / _TYPES, _described())
    return versions


def _write(path: Path, document: object) -> None:
    data = msgspec.json.encode(document, order="deterministic")
    path.write_bytes(msgspec.json.format(data, indent=1) + b"\n")


# ---- shapes ----


def _shapes() -> dict[tuple[str, int], type[TableEvent]]:
    classes: Iterable[type[TableEvent]] = (*KINDS, *(upcast.shape for upcast in UPCASTS))
    return {(kind.TYPE, kind.VERSION): kind for kind in classes}


def _described() -> dict[str, Any]:
    shapes = {
        f"{name}/{version}": _inlined(msgspec.json.schema(kind))
        for (name, version), kind in _shapes().items()
    }
    described: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(shapes))  # as it is read
    return described


def _inlined(schema: Mapping[str, Any]) -> Any:
    """A JSON schema without what only people read, and without the names of our classes."""
    definitions = schema.get("$defs", {})

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(each) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return plain(definitions[node["$ref"].rpartition("/")[2]])
        return {key: part(key, each) for key, each in node.items() if key not in _FOR_PEOPLE}

    def part(key: str, value: Any) -> Any:
        if key == "properties":  # fields, whatever they are called
            return {name: plain(field) for name, field in value.items()}
        if key == "mapping":  # tag to a reference, which stands beside it in full
            return sorted(value)
        return plain(value)

    return plain(dict(schema))
