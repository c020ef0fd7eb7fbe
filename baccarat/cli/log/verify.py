"""`baccarat log verify`: prove that nobody edited a log."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.progress import show_progress, stderr_is_terminal
from events.errors import InputError
from events.free_text import show_lines, show_text
from events.log.verify import VerificationResult, not_ok, parse_kept_checkpoints
from events.proof.checkpoint import KeptCheckpoint
from events.proof.keys import read_verifier_key
from property.witness.cosignature import WitnessKey, cosigned_at, parse_witness_key

if TYPE_CHECKING:
    from table_core.evidence.log_judge import JudgedCounts

__all__ = ["verify_command"]

# Years of checkpoints at some two hundred bytes each, and too small for a log given by mistake.
_MAX_FILE: Final = 64 * 1024 * 1024
_CONTRACT: Final = (
    *("ok", "events", "root", "first_bad", "reason"),
    *("signed_to", "keys", "unsigned_settlements"),
)


@click.command("verify")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--checkpoint", "files", type=click.Path(path_type=Path), multiple=True,
              metavar="FILE", help="Checkpoints kept elsewhere, one or several.")  # fmt: skip
@click.option("--key", "keys", multiple=True, metavar="PUB",
              help="A public key that is believed, or its file; else those in LOG.")  # fmt: skip
@click.option("--witness", metavar="KEY",
              help="A witness's public key, or its file: it must have cosigned.")  # fmt: skip
@click.option("--rulebook", "rulebooks", multiple=True, metavar="FILE",
              help="One that the house approved, and this build does not ship.")  # fmt: skip
@click.option("--archive", type=click.Path(path_type=Path), metavar="DIR",
              help="The closed files, where they are not in `archive` beside LOG.")  # fmt: skip
@click.option("--alone", is_flag=True, help="LOG without its closed files, on its own word.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N",
              help="Processes at a time; by default as many as there are processors.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def verify_command(  # noqa: PLR0913, PLR0917 - each is an option
    log: Path,
    files: tuple[Path, ...],
    keys: tuple[str, ...],
    witness: str | None,
    rulebooks: tuple[str, ...],
    archive: Path | None,
    alone: bool,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Prove that nobody edited LOG, a table's log file (table.sqlite).

    Every settlement and commission is judged again, and the shoe's raw bytes are read again, by the
    rulebooks and profiles that are kept beside LOG. Each rulebook is named, and whether this build
    ships it or --rulebook gives it; for the rules of others only LOG itself vouches. A log that
    goes on from closed files is verified with all of them: from its first event on. The file stays
    as it is, and may be in use.
    Only a checkpoint from elsewhere can tell that LOG was cut or rewritten whole; only a key from
    elsewhere, that its checkpoints were. Exit code 0: all is well; 1: it is not, and the first bad
    position is named; 2: there is no such log, or it cannot be read or copied.
    """
    from baccarat.history.log_judging import verify_and_judge  # noqa: PLC0415 - not for `--help`
    from baccarat.rulebooks.known import known_rulebooks  # noqa: PLC0415 - not for `--help`

    known = known_rulebooks(rulebooks)
    held = [held for file in files for held in _checkpoints_in(file)]
    if witness is not None and not held:
        raise InputError("--witness: name the cosigned checkpoints by --checkpoint")
    verdict, judged = verify_and_judge(
        log,
        show_progress if stderr_is_terminal() and not as_json else None,
        jobs=jobs or len(os.sched_getaffinity(0)),
        held=held,
        keys=frozenset(map(read_verifier_key, keys)),
        archive=archive,
        alone=alone,
    )
    if witness is not None and verdict.ok:
        verdict = _require_cosigned(verdict, held, _witness_key(witness))
    if as_json:
        said = verdict._asdict()
        counts = judged._asdict()
        cited = counts.pop("cited")
        told = {name: said[name] for name in _CONTRACT} | {"judged": counts}
        told["hand_overs"] = [each._asdict() for each in verdict.hand_overs]
        told["rulebooks"] = [
            {"id": name, "hash": digest, "known": known.get(digest)}
            for digest, name in cited.items()
        ]
        click.echo(msgspec.json.encode(told))
    else:
        click.echo(_as_text(log, verdict, judged, known, keyed=bool(keys)))
    return EXIT_DONE if verdict.ok else EXIT_NO


def _witness_key(given: str) -> WitnessKey:
    """Read a witness's public key, given as the line itself or as a file that contains it."""
    path = Path(given)
    try:
        line = path.read_text("utf-8", "replace") if path.is_file() else given
        return parse_witness_key(line)
    except (OSError, InputError) as error:
        raise InputError(f"--witness {given[:80]}: {error}") from error


def _require_cosigned(
    verdict: VerificationResult, held: Sequence[KeptCheckpoint], key: WitnessKey
) -> VerificationResult:
    """Return the verdict on a sound log, limited to what its checkpoints' cosignatures cover."""
    bare = [each.where for each in held if cosigned_at(each.note, key) is None]
    if not bare:
        return verdict
    return verdict._replace(ok=False, reason=f"{bare[0]} is not cosigned by {key.name}")


def _checkpoints_in(file: Path) -> tuple[KeptCheckpoint, ...]:
    try:
        with file.open("rb") as opened:
            data = opened.read(_MAX_FILE + 1)
    except OSError as error:
        raise InputError(f"--checkpoint {file}: {error.strerror}") from error
    if len(data) > _MAX_FILE:
        raise InputError(f"--checkpoint {file}: more than {_MAX_FILE:,} bytes are no checkpoints")
    return parse_kept_checkpoints(str(file), data)


def _as_text(
    log: Path,
    verdict: VerificationResult,
    judged: "JudgedCounts",
    known: Mapping[str, str],
    *,
    keyed: bool,
) -> str:
    if verdict.ok:
        from baccarat.rulebooks.known import rulebook_line  # noqa: PLC0415 - not for `--help`

        by = "" if keyed else ", by the keys that the log itself names"
        signed = f"{verdict.checkpoints:,} checkpoints agree{by}"
        signed = (
            signed if verdict.checkpoints else "no checkpoint: it may have been cut or rewritten"
        )
        whole = [f"{log}: ok, {verdict.events:,} events", f"root {verdict.root}", signed]
        whole += (rulebook_line(name, digest, known) for digest, name in judged.cited.items())
        whole += _left_open(verdict, judged)
        if verdict.base == 1:
            return show_lines(whole)
        told = "alone, from its own word for what is before; the closed files were not looked at"
        return show_lines([*whole, f"verified from position {verdict.base:,}, {told}"])
    return show_text(f"{log}: {not_ok(verdict.first_bad, verdict.reason)}")


def _left_open(verdict: VerificationResult, judged: "JudgedCounts") -> list[str]:
    """Return a line for each thing that was not proved or is known to be wrong."""
    signed = f"signed to {verdict.signed_to:,} of {verdict.events:,}"
    unsigned = f"{signed}: {verdict.unsigned_settlements:,} settlements"
    rows = (
        (verdict.signed_to < verdict.events and not verdict.unsigned_settlements, signed),
        (verdict.unsigned_settlements, f"{unsigned} behind that are not covered"),
    )
    handed = [
        f"at position {each.position:,} the key {each.before} handed over to {each.after}"
        for each in verdict.hand_overs
    ]
    return [*(line for count, line in rows if count), *judged.left_open, *handed]
