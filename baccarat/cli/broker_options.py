"""The options by which a command without a table's configuration reaches a site's broker."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

__all__ = ["broker_options"]

_OPTIONS: Final = {
    "ca": "With mqtts: the PEM file of the site's CA.",
    "cert": "With mqtts: the PEM file of our own certificate.",
    "key": "With mqtts: the PEM file of its key.",
    "password_file": "A file that holds the login's password.",
}


def broker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them as `files`."""

    @wraps(command)
    def with_files(**given: Any) -> Any:
        from baccarat.services.broker_at import LoginFiles  # noqa: PLC0415 - not for `--help`

        named: dict[str, Path | None] = {name: given.pop(name) for name in _OPTIONS}
        return command(**given, files=LoginFiles(**named))

    for name, says in reversed(_OPTIONS.items()):
        flag, kind = f"--{name.replace('_', '-')}", click.Path(path_type=Path)
        with_files = click.option(flag, name, metavar="FILE", type=kind, help=says)(with_files)
    return with_files
