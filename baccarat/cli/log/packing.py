"""`baccarat log pack` and `unpack`: keep a log's closed files compressed, or as they were."""

from pathlib import Path

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO, print_error
from baccarat.cli.shown import say
from events.errors import LogError
from events.log.packing import Conversion, convert

__all__ = ["pack_command", "unpack_command"]


@click.command("pack")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each file.")
def pack_command(log: Path, as_json: bool) -> int:
    """Compress the closed files of LOG (table.sqlite), which may be in use.

    Each is verified, packed and compared with what was packed before the other form goes. Every
    command reads both forms. Exit code 0: all are packed; 1: a file is damaged and was left as it
    is, or the disk refuses; 2: there is no such log.
    """
    return _run(log, pack=True, as_json=as_json)


@click.command("unpack")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each file.")
def unpack_command(log: Path, as_json: bool) -> int:
    """Make SQLite files of the packed closed files of LOG (table.sqlite) again.

    Each is verified and compared before the other form goes. Exit codes are those of `log pack`.
    """
    return _run(log, pack=False, as_json=as_json)


def _run(log: Path, *, pack: bool, as_json: bool) -> int:
    done: list[Conversion] = []
    try:
        for each in convert(log, pack=pack):
            done.append(each)
            if as_json:
                row = {"file": each.path.name, "before": each.before, "after": each.after}
                click.echo(msgspec.json.encode(row))
            else:
                say(f"{each.path.name}: {each.before:,} bytes, now {each.after:,}")
    except LogError as error:
        print_error(f"not {'packed' if pack else 'unpacked'}: {error}")
        return EXIT_NO
    if not as_json:
        before, after = sum(each.before for each in done), sum(each.after for each in done)
        say(f"{len(done)} files: {before:,} bytes, now {after:,}")
    return EXIT_DONE
