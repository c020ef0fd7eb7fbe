"""`make corpus`: record the corpus of the version that `pyproject.toml` names, once.

A log that is there is recorded again only where it lacks a type of event. It gets the state that
it folds to now, where the fold's version was raised since. Exit code 1: something does not go
together, or a type of event is in no scene of `tests/support/log/corpus_game.py`.
"""

import sys

from tests.support.log.corpus import (
    CORPUS,
    CorpusError,
    folders,
    missing_types,
    present_version,
    read_log,
    record,
    refresh,
)


def main() -> int:
    """Record, and say what was recorded."""
    CORPUS.mkdir(exist_ok=True)
    present = CORPUS / present_version()
    try:
        versions: set[tuple[str, int]] = set()
        for folder in folders():
            refresh(folder)
            versions |= read_log(folder).versions
        if present not in folders() or missing_types(versions):
            versions |= record(present)
    except CorpusError as error:
        sys.stderr.write(f"corpus: {error}\n")
        return 1
    missing = missing_types(versions)
    if missing:
        sys.stderr.write(f"corpus: in no log, add a scene: {', '.join(missing)}\n")
        return 1
    sys.stdout.write(f"corpus: {present.name} has {len(versions)} types\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
