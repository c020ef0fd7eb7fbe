"""`baccarat user add|remove|list FILE`: manage the logins of the consoles."""

import sys
from pathlib import Path

import click

from baccarat.cli.shown import say
from displays.auth.accounts import (
    CONSOLE_ROLES,
    UserAccount,
    check_account,
    load_accounts,
    save_accounts,
)
from displays.auth.passwords import hash_password
from events.errors import InputError

__all__ = ["add", "list_users", "remove", "user"]

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.group()
def user() -> None:
    """Make and change the users file that `[displays] users` names."""


@user.command()
@_FILE
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    type=click.Choice(sorted(CONSOLE_ROLES)),
    help="What they may do; may be repeated.",
)
@click.option("--replace", is_flag=True, help="Give a person that is there new roles and password.")
def add(file: Path, name: str, roles: tuple[str, ...], *, replace: bool) -> None:
    """Add NAME to FILE, which is made if it is not there.

    The password is asked for twice, or read from the first line of standard input.
    """
    check_account(name, roles)
    accounts = dict(load_accounts(file)) if file.exists() else {}
    if name in accounts and not replace:
        raise InputError(f"{file}: {name} is there already; say --replace to change them")
    account = UserAccount(password=hash_password(_password()), roles=tuple(sorted(set(roles))))
    save_accounts(file, accounts | {name: account})
    say(f"{name} may log in as {', '.join(account.roles)}", err=True)


@user.command()
@_FILE
@click.argument("name")
def remove(file: Path, name: str) -> None:
    """Take NAME out of FILE; a running console lets them do nothing more."""
    accounts = dict(load_accounts(file))
    if accounts.pop(name, None) is None:
        raise InputError(f"{file}: there is no {name}")
    save_accounts(file, accounts)
    say(f"{name} may not log in any more", err=True)


@user.command("list")
@_FILE
def list_users(file: Path) -> None:
    """Show who is in FILE, and as what."""
    for name, account in sorted(load_accounts(file).items()):
        say(f"{name:<20} {', '.join(account.roles)}")


def _password() -> str:
    if sys.stdin.isatty():
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    return sys.stdin.readline().rstrip("\r\n")
