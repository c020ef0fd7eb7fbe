"""Ask the public advisory database about the lock, and say plainly where nothing was asked.

    python -m tests.tools.audit PIP_AUDIT LOCK

pip-audit ends well also where the database knew none of the packages, as a mirror of an index does
not: then it has audited nothing. So its document is read, and not its exit code. Ours is 0: every
package was asked about, and none has a known advisory; 1: some have, a line each; 3: not audited.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

CLEAN: Final = 0
FOUND: Final = 1
NOT_AUDITED: Final = 3
_TIMEOUT_S: Final = 300


class Outcome(NamedTuple):
    """An exit code, and what is said."""

    code: int
    lines: tuple[str, ...]


def judged(document: dict[str, Any] | None, why: str) -> Outcome:
    """What an audit has found.

    Args:
        document: as pip-audit wrote it; None where it wrote none.
        why: the last line that it said, for the case that there is no document.
    """
    packages = (document or {}).get("dependencies", [])
    if not packages:
        return _not_audited(why or "pip-audit named no package")
    found = [
        f"audit: {each['name']} {each['version']}: {flaw['id']}, mended in "
        f"{', '.join(flaw['fix_versions']) or 'no version yet'}"
        for each in packages
        for flaw in each.get("vulns", ())
    ]
    if found:
        return Outcome(FOUND, tuple(found))
    skipped = [each for each in packages if "skip_reason" in each]
    if skipped:
        return _not_audited(f"{len(skipped)} of {len(packages)}: {skipped[0]['skip_reason']}")
    return Outcome(CLEAN, (f"audit: {len(packages)} packages, none with a known advisory",))


def _not_audited(why: str) -> Outcome:
    return Outcome(NOT_AUDITED, (f"audit: NOT DONE, the advisory database cannot be asked: {why}",))


def main(arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    program, lock = arguments
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "audit.json"
        options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off"]
        options += ["--format", "json", "--output", str(out), "--requirement", lock]
        try:
            done = subprocess.run(
                [program, *options],
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            outcome = _not_audited(str(error))
        else:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            outcome = judged(json.loads(out.read_text()) if out.exists() else None, last)
    for line in outcome.lines:
        sys.stderr.write(f"{line}\n")
    return outcome.code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
