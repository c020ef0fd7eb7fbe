"""`baccarat pki init|issue|renew|show`: a small certificate authority for one site."""

import re
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.site.pki import CA_DAYS, LEAF_DAYS, Pki
from events.errors import InputError

__all__ = ["due", "init", "issue", "pki", "renew", "show"]

_FOLDER = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")


def _days(most: int) -> click.IntRange:
    return click.IntRange(1, most)


@click.group()
def pki() -> None:
    """Certificates for a site's broker, services and screens."""


@pki.command()
@_FOLDER
@click.option("--site", required=True, type=NAME, help="Whose authority it is.")
@click.option("--days", type=_days(CA_DAYS * 2), default=CA_DAYS, show_default=True)
def init(folder: Path, site: str, days: int) -> None:
    """Make an authority in FOLDER."""
    made = _pki(folder, begun=False).begin(site, days)
    say(f"{made}: give it to whoever must trust the site", err=True)
    say(f"{folder / 'ca.key'}: keep it away from the tables' network", err=True)


@pki.command()
@_FOLDER
@click.argument("name", type=NAME)
@click.option("--host", "hosts", multiple=True, help="A server's name or address; repeatable.")
@click.option("--client", is_flag=True, help="With --host: a client's too, as for a hub's node.")
@click.option("--days", type=_days(LEAF_DAYS * 5), default=LEAF_DAYS, show_default=True)
def issue(folder: Path, name: str, hosts: tuple[str, ...], days: int, *, client: bool) -> None:
    """Issue a certificate for NAME: a server's with --host, a client's without.

    A server's certificate does not work as a client's unless --client says so.
    """
    if not _NAME.match(name) or name == "ca":
        raise InputError(f"{name!r}: use lower-case letters, digits, dots, - and _, and not `ca`")
    say(str(_pki(folder).issue(name, hosts, days, client=client)))


@pki.command()
@_FOLDER
@click.argument("names", nargs=-1, type=NAME)
@click.option("--within", type=_days(LEAF_DAYS), default=30, help="Those that end within N days.")
@click.option("--days", type=_days(LEAF_DAYS * 5), default=LEAF_DAYS, show_default=True)
def renew(folder: Path, names: tuple[str, ...], within: int, days: int) -> None:
    """Issue NAMES again, or all that end soon, with new keys."""
    authority = _pki(folder)
    if not names:
        names = due(authority, within)
        if not names:
            say(f"nothing to renew: no certificate ends within {within} days", err=True)
    for name in names:
        say(str(authority.renew(name, days)))


@pki.command()
@_FOLDER
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def show(folder: Path, *, as_json: bool) -> None:
    """What there is, and until when it holds."""
    found = {
        name: each.not_valid_after_utc.isoformat()
        for name, each in _pki(folder).certificates().items()
    }
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    for name, until in found.items():
        say(f"{until[:10]}  {name}")


def due(authority: Pki, within: int) -> tuple[str, ...]:
    """Return the certificates that end within so many days, but for the authority's own."""
    now = datetime.now(UTC)
    return tuple(
        name
        for name, each in authority.certificates().items()
        if name != "ca" and (each.not_valid_after_utc - now).days < within
    )


def _pki(folder: Path, *, begun: bool = True) -> Pki:
    if begun and not (folder / "ca.pem").exists():
        raise InputError(f"{folder}: no authority; make one with `baccarat pki init`")
    return Pki(folder, datetime.now(UTC))
