"""`baccarat shoe profiles`: list the wire profiles that ship, or check a site's own."""

from typing import Any

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.shown import say
from baccarat.read_files import read_file
from shoe_driver.profiles.catalogue import load_profile, profile_names, profile_text
from shoe_driver.profiles.examination import cannot_promise, examine
from shoe_driver.profiles.profile import Profile, parse_profile, profile_complaints

__all__ = ["profiles"]

_SHOWN = ("id", "framer", "check", "loss_detection", "disclosure", "result")


@click.command()
@click.option("--check", "file", metavar="FILE", help="Say what is wrong with a site's own file.")
@click.option("--show", "name", metavar="NAME", help="Print a shipped profile's source.")
@click.option("--edition", type=click.IntRange(min=1), help="Of --show; by itself the newest.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def profiles(file: str | None, name: str | None, edition: int | None, *, as_json: bool) -> int:
    """List the wire profiles that ship with the product.

    With --check, a line for each mistake in FILE, and what the table cannot promise with it. Exit
    code 0: it can be used; 1: it cannot; 2: there is no such file. With --show, the source of one
    that ships: a copy of it is where a site's own begins.
    """
    if name is not None:
        click.echo(profile_text(name, edition).decode(), nl=False)
        return EXIT_DONE
    if file is not None:
        return _check(file, as_json=as_json)
    shipped = [load_profile(name) for name in profile_names()]
    if as_json:
        click.echo(msgspec.json.encode([_document(profile) for profile in shipped]))
        return EXIT_DONE
    rows = [_SHOWN, *(tuple(str(getattr(each, key)) for key in _SHOWN) for each in shipped)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        say("  ".join(cells).rstrip())
    return EXIT_DONE


def _check(file: str, *, as_json: bool) -> int:
    text = read_file(file)
    wrong = profile_complaints(text)
    profile = None if wrong else parse_profile(text, source=file)
    faults = [] if profile is None else list(examine(profile))
    wrong = (*wrong, *map(str, faults))
    promises = [] if profile is None else list(cannot_promise(profile))
    if as_json:
        document = None if profile is None else _document(profile)
        verdict = {
            "ok": not wrong,
            "profile": document,
            "wrong": wrong,
            "faults": faults,
            "cannot_promise": promises,
        }
        click.echo(msgspec.json.encode(verdict))
        return EXIT_NO if wrong else EXIT_DONE
    if profile is not None and not wrong:
        say(f"{file}: ok, {profile.id}, {profile.framer}, hash {profile.digest}")
    for complaint in wrong:
        say(f"{file}: {' '.join(complaint.split())}")
    for promise in promises:
        say(f"cannot promise: {promise}")
    return EXIT_NO if wrong else EXIT_DONE


def _document(profile: Profile) -> dict[str, Any]:
    shown = {key: getattr(profile, key) for key in _SHOWN}
    besides = {"hex": profile.wire.check.hex, "baud": profile.serial.baud, "hash": profile.digest}
    return shown | besides
