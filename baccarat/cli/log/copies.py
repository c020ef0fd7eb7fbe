"""`baccarat log backup` and `restore`: copy a log, and verify each copy before it gets its name."""

from functools import partial
from pathlib import Path

import click

from baccarat.cli.main import EXIT_DONE, EXIT_NO, print_error
from baccarat.cli.progress import show_progress, stderr_is_terminal
from baccarat.cli.shown import say
from baccarat.history.log_judging import Judging
from baccarat.rulebooks.editions import keep_profiles, keep_rulebooks
from events.errors import LogError
from events.log.backup import Inspect, back_up, restore
from events.log.editions import damaged_editions
from table_core.service.snapshots import inspect_log

__all__ = ["backup_command", "restore_command"]


@click.command("backup")
@click.argument("log", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def backup_command(log: Path, file: Path) -> int:
    """Copy LOG (table.sqlite), which may be in use, to a new FILE, and prove the copy.

    The copy is re-hashed, folded and judged again before it gets its name. The rulebooks that the
    log is judged by and the wire profiles that its shoe was read by go beside it. Exit code 0: the
    copy is there; 1: it is not, because the log is not sound or the disk refuses, or what lies
    beside the log is damaged and was left out; 2: there is no such log, or there is such a file
    already.
    """
    try:
        back_up(log, file, _inspection(log))
        keep_rulebooks(file)
        keep_profiles(file)
    except LogError as error:
        return _refuse("no backup", error)
    say(f"{file}: a verified copy of {log}, {file.stat().st_size:,} bytes")
    return _damage(log)


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Move the log that is there out of the way.")
def restore_command(file: Path, log: Path, replace: bool) -> int:
    """Put FILE, a backup, in place as LOG (table.sqlite), once it is proved.

    A log that is there stays there, unless --replace says to move it out of the way; it is never
    deleted. Stop the table first. Exit code 0: done; 1: FILE is torn or not this table's, or a
    table has the log, or the disk refuses, or what lies beside FILE is damaged and was left out;
    2: bad usage.
    """
    try:
        replaced = restore(file, log, _inspection(file), replace=replace)
    except LogError as error:
        return _refuse("nothing restored", error)
    if replaced is not None:
        say(f"{replaced}: the log that was there")
    say(f"{log}: restored from {file} and verified")
    return _damage(file)


def _inspection(source: Path) -> Inspect:
    """Return the inspection of a copy, judged by the editions of its source.

    It has a progress line where a person waits.
    """
    progress = show_progress if stderr_is_terminal() else None
    return partial(inspect_log, progress=progress, judging=partial(Judging, source))


def _damage(source: Path) -> int:
    lines = damaged_editions(source)
    for line in lines:
        say(f"baccarat: left out: {line}; put it back from an earlier backup", err=True)
    return EXIT_NO if lines else EXIT_DONE


def _refuse(what: str, error: LogError) -> int:
    print_error(f"{what}: {error}")
    return EXIT_NO
