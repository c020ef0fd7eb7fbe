"""`baccarat shoe profiles`: list the wire profiles that ship, or check a site's own."""

from typing import Any

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.shown import say
from baccarat.read_files import read_file
from shoe_driver.profiles.catalogue import load_profile, profile_names
from shoe_driver.profiles.profile import Profile, parse_profile, profile_complaints

__all__ = ["profiles"]

_SHOWN = ("id", "framer", "check", "loss_detection", "disclosure", "result")


@click.command()
@click.option("--check", "file", metavar="FILE", help="Say what is wrong with a site's own file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def profiles(file: str | None, *, as_json: bool) -> int:
    """List the wire profiles that ship with the product.

    With --check, a line for each mistake in FILE. Exit code 0: it can be used; 1: it cannot;
    2: there is no such file.
    """
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
    if as_json:
        document = None if profile is None else _document(profile)
        verdict = {"ok": profile is not None, "profile": document, "wrong": wrong}
        click.echo(msgspec.json.encode(verdict))
    elif profile is not None:
        say(f"{file}: ok, {profile.id}, {profile.framer}, hash {profile.digest}")
    for complaint in () if as_json else wrong:
        say(f"{file}: {' '.join(complaint.split())}")
    return EXIT_NO if wrong else EXIT_DONE


def _document(profile: Profile) -> dict[str, Any]:
    shown = {key: getattr(profile, key) for key in _SHOWN}
    return shown | {"baud": profile.serial.baud, "hash": profile.digest}
