"""Two thousand forgeries by somebody who can write every file but the keys: none goes unnoticed."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from table_core.evidence.bundle import read_evidence, verify_evidence
from table_core.evidence.comparison import compare_evidence
from tests.support.log.attacker import bases, forge, is_as_it_was, noticed, part_of, record

FORGERIES = int(os.environ.get("FORGERIES", "2000"))

pytestmark = pytest.mark.soak


def test_no_forgery_goes_unnoticed(tmp_path: Path) -> None:
    found: Counter[tuple[str, str]] = Counter()
    missed: list[tuple[int, str, str]] = []
    whole = bases(tmp_path / "bases")
    before = [record(base) for base in whole]
    for seed in range(FORGERIES):
        which = seed % len(whole)  # each kind comes to each log
        name, forged = forge(whole[which], tmp_path / "forged", seed)
        unchanged = is_as_it_was(forged, before[which])
        by = noticed(forged) or ("unchanged" if unchanged else None)
        found[name, by or "NOBODY"] += 1
        if by is None:
            missed.append((seed, name, whole[which].folder.name))
    print(*(f"{name}: {by} {count}" for (name, by), count in sorted(found.items())), sep="\n")  # noqa: T201 - what a soak says
    assert missed == []
    assert sum(found.values()) == FORGERIES


def test_no_part_of_evidence_passes_for_the_whole(tmp_path: Path) -> None:
    files = [
        (base, path) for base in bases(tmp_path) for path in base.folder.glob("evidence-*.json")
    ]
    for seed in range(FORGERIES // 4):
        base, path = files[seed % len(files)]
        whole = path.read_bytes()
        forged = part_of(random.Random(seed), whole)
        if forged != whole and verify_evidence(forged, base.keys).ok:
            told = compare_evidence(read_evidence(whole), read_evidence(forged))
            assert told.result == "contradicting", (seed, path.name)
