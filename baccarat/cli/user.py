"""`baccarat user`: manage the logins of the consoles, and show their record."""

import secrets
import sys
import time
from pathlib import Path
from unicodedata import normalize

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.config.table import load_config
from baccarat.site.logins import missing_record, verify_logins
from displays.auth.accounts import (
    CONSOLE_ROLES,
    UserAccount,
    check_account,
    load_accounts,
    save_accounts,
)
from displays.auth.passwords import hash_password
from events.errors import InputError

__all__ = ["add", "break_glass", "list_users", "record", "remove", "user"]

_REASON_MOST = 200
_PASSWORD_BYTES = 15

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.group()
def user() -> None:
    """Make and change the users file that `[displays] users` names."""


@user.command()
@_FILE
@click.argument("name", type=NAME)
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
    account = UserAccount(
        password=hash_password(_password()),
        roles=tuple(sorted(set(roles))),
        changed=round(time.time()),
    )
    save_accounts(file, accounts | {name: account})
    say(f"{name} may log in as {', '.join(account.roles)}", err=True)


@user.command()
@_FILE
@click.argument("name", type=NAME)
def remove(file: Path, name: str) -> None:
    """Take NAME out of FILE; a running console lets them do nothing more."""
    accounts = dict(load_accounts(file))
    if accounts.pop(name, None) is None:
        raise InputError(f"{file}: there is no {name}")
    save_accounts(file, accounts)
    say(f"{name} may not log in any more", err=True)


@user.command("break-glass")
@_FILE
@click.argument("name", type=NAME)
@click.option("--reason", required=True, help="Why nobody else can log in; it goes on record.")
@click.option("--hours", type=click.IntRange(1, 24), default=1, show_default=True)
def break_glass(file: Path, name: str, *, reason: str, hours: int) -> None:
    """Let NAME log in as a supervisor for some hours, by a password that is printed once.

    For a site where nobody can log in any more. The console takes it at once, and records it with
    the reason where `displays.record` names a file.
    """
    check_account(name, ("supervisor",))
    reason = normalize("NFC", reason.strip())
    if not reason.isprintable() or not 1 <= len(reason) <= _REASON_MOST:
        raise InputError(f"--reason: 1 to {_REASON_MOST} printable characters")
    accounts = dict(load_accounts(file)) if file.exists() else {}
    if name in accounts:
        raise InputError(f"{file}: {name} is there already; choose a name of its own")
    password, now_s = secrets.token_urlsafe(_PASSWORD_BYTES), round(time.time())
    account = UserAccount(
        password=hash_password(password),
        roles=("supervisor",),
        changed=now_s,
        until=now_s + hours * 3600,
        reason=reason,
    )
    save_accounts(file, accounts | {name: account})
    say(password)
    say(f"{name} may log in as supervisor for {hours} h; remove it when it is over", err=True)


@user.command("record")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="JSON lines on stdout.")
def record(config: Path, *, as_json: bool) -> int:
    """Show and verify the record of logins of the table of CONFIG.

    The table notes in its own log how far the record reaches. Where that log is on this machine,
    lines that were cut off or written again show too. Times that go back, and entries that the
    table noted late, are named. Exit code 1: a line was changed, taken out, put in or cut off,
    changes accounts in silence, or CONFIG no longer names the record.
    """
    table = load_config(config, rules=False)
    path = table.beside(table.displays.record) if table.displays else None
    if path is None:
        if missing := missing_record(table):
            say(f"{config}: {missing}", err=True)
            return EXIT_NO
        raise InputError(f"{config}: displays.record names no file")
    try:
        found = verify_logins(table, path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    for each in found.entries:
        text = f"{each.at[:19]}Z  {each.what:<16} {each.user:<16} {each.place} {each.text}"
        say(msgspec.json.encode(each).decode() if as_json else text.rstrip())
    for doubt in found.doubts:
        say(f"{path}: {doubt}", err=True)
    if found.fault:
        say(f"{path}: {found.says}", err=True)
        return EXIT_NO
    head = f"the newest hash is {found.head.hex()}; {found.says}"
    say(f"{path}: {len(found.entries)} entries, each follows from the one before; {head}", err=True)
    return EXIT_DONE


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
