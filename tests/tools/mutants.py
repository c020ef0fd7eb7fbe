"""Mutation testing: `make mutants`. Every small change of the pure rooms; is each one noticed?

A mutant survives where no test fails. Those that may are in `tests/mutation/survivors.toml`, each
with its reason. It is a fault when one survives that is not in it, when one that is in it is
noticed after all, when one in it is no mutant any more, and when less than 95 % are noticed.
"""

import argparse
import importlib
import multiprocessing
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.tools.mutant_runs import Covered, Verdict, cover, try_mutants
from tests.tools.mutant_targets import TARGETS, Target
from tests.tools.mutations import Mutant, mutants_of

_HERE: Final = Path(__file__).parents[2]
_SURVIVORS: Final = _HERE / "tests" / "mutation" / "survivors.toml"
_ENOUGH_PER_CENT: Final = 95
_AT_A_TIME: Final = 60

# Loaded before anything is forked: what every test needs and is none of ours.
_LOADED: Final = (
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "hypothesis.strategies",
    "msgspec.json",
    "pytest_asyncio.plugin",
    "pytest_timeout",
    "structlog",
)

Key = tuple[str, str, str, str, int]
"""What a mutant is called: `Mutant.key`."""


def main(arguments: Sequence[str]) -> int:
    """Try the mutants of the chosen targets; the exit code."""
    options = _options(arguments)
    chosen = _chosen(options.names)
    mutants = [(t, m) for t in chosen for m in _mutants(t, options.only)]
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    rng = random.Random(seed)
    if options.minutes:
        rng.shuffle(mutants)
        sys.stdout.write(f"{len(mutants)} mutants for {options.minutes} minutes, seed {seed}\n")
    batches = _batches(mutants)
    if options.minutes:
        rng.shuffle(batches)
    verdicts = []
    for verdict in _tried(batches, options.jobs, options.minutes * 60):
        verdicts.append(verdict)
        if not verdict.killed or options.verbose:
            sys.stdout.write(f"{verdict.result:9} {verdict.mutant} {verdict.by}\n")
            sys.stdout.flush()
    sys.stdout.write("".join(f"{line}\n" for line in _table(verdicts, len(mutants))))
    known = {mutant.key for _, mutant in mutants}
    listed = listed_survivors(_SURVIVORS.read_text())
    if options.only:  # then most of those that are listed are not among the mutants
        listed = {key: why for key, why in listed.items() if key in known}
    files = {path for target in chosen for path in target.files}
    wrong = list(complaints(verdicts, known, files, listed))
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    return 1 if wrong else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="targets by a part of their names; else all swept")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--minutes", type=int, default=0, help="a sample, for as long as this")
    parser.add_argument("--seed", type=int, help="of the sample")
    parser.add_argument("--only", help="mutants that read like this alone")
    parser.add_argument("--verbose", action="store_true", help="tell of those that are noticed too")
    return parser.parse_args(arguments)


def _chosen(names: Sequence[str]) -> list[Target]:
    """Those that are named; else all that have been swept, and a word on the others."""
    if names:
        return [target for target in TARGETS if any(name in target.name for name in names)]
    for target in TARGETS:
        if not target.swept:
            sys.stdout.write(f"not swept yet, tried only by name: {target.name}\n")
    return [target for target in TARGETS if target.swept]


def listed_survivors(text: str) -> dict[Key, str]:
    """The mutants that may survive, and why."""
    return {
        (
            entry["file"],
            entry["where"],
            entry["line"],
            entry["becomes"],
            entry.get("nth", 1),
        ): entry["why"]
        for entry in tomllib.loads(text).get("survivor", [])
    }


def complaints(
    verdicts: Sequence[Verdict], known: set[Key], files: set[str], listed: Mapping[Key, str]
) -> Iterator[str]:
    """What is wrong.

    Args:
        verdicts: of the mutants that were tried.
        known: all mutants of these files, tried or not.
        files: that were looked at.
        listed: those that may survive.
    """
    for verdict in verdicts:
        if not verdict.killed and verdict.mutant.key not in listed:
            yield f"UNLISTED  {verdict.mutant}"
        if verdict.killed and verdict.mutant.key in listed:
            yield f"NOTICED   {verdict.mutant}: {verdict.by}; take it off the list"
    for key in listed:
        if key[0] in files and key not in known:
            yield f"GONE      {key[0]} {key[1]}: {key[2]}  ->  {key[3]}: no such mutant"
    killed = sum(verdict.killed for verdict in verdicts)
    if verdicts and 100 * killed < _ENOUGH_PER_CENT * len(verdicts):
        yield f"TOO FEW   {killed} of {len(verdicts)} were noticed; {_ENOUGH_PER_CENT} % are wanted"


def _mutants(target: Target, only: str | None) -> list[Mutant]:
    return [
        mutant
        for path in target.files
        for mutant in mutants_of(path, (_HERE / path).read_bytes())
        if only is None or only in str(mutant)
    ]


def _table(verdicts: Sequence[Verdict], of: int) -> Iterator[str]:
    counts: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        counts.setdefault(verdict.mutant.path, Counter())[verdict.result] += 1
        counts.setdefault(f"of {of}", Counter())
    counts[f"of {of}"] = sum(counts.values(), Counter())
    yield f"{'':40} {'mutants':>8} {'killed':>8} {'by time':>8} {'survived':>8} {'%':>6}"
    for path, count in sorted(counts.items()):
        tried, killed = count.total(), count["killed"] + count["timed out"]
        share = 100 * killed / tried if tried else 100.0
        yield (
            f"{path:40} {tried:8} {killed:8} {count['timed out']:8} {tried - killed:8} {share:6.1f}"
        )


# ---- workers ----


_Batch = tuple[Target, list[Mutant]]


def _batches(mutants: Iterable[tuple[Target, Mutant]]) -> list[_Batch]:
    """Mutants of one target, some at a time, so that its tests are collected once for all."""
    gathered: dict[Target, list[Mutant]] = {}
    for target, mutant in mutants:
        gathered.setdefault(target, []).append(mutant)
    return [
        (target, group[at : at + _AT_A_TIME])
        for target, group in gathered.items()
        for at in range(0, len(group), _AT_A_TIME)
    ]


def _tried(batches: Sequence[_Batch], jobs: int, limit_s: float) -> Iterator[Verdict]:
    """Verdicts as they come, until the time is over."""
    begin = time.monotonic()
    for name in _LOADED:
        importlib.import_module(name)
    wanted: dict[str, set[str]] = {}
    for target, _ in batches:
        for name in target.test_files:
            wanted.setdefault(name, set()).update(target.files)
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        known = {each.file: each for each in pool.imap_unordered(_cover, sorted(wanted.items()))}
        tasks = [(batch, [known[name] for name in target.test_files]) for target, batch in batches]
        for verdicts in pool.imap_unordered(_try, tasks):
            yield from verdicts
            if limit_s and time.monotonic() - begin > limit_s:
                return


def _cover(task: tuple[str, set[str]]) -> Covered:
    return cover(*task)


def _try(task: tuple[list[Mutant], list[Covered]]) -> list[Verdict]:
    return list(try_mutants(*task))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
