"""A progress line on stderr for a person who waits; nothing without a terminal."""

import sys
from typing import Final

import click

__all__ = ["show_progress", "stderr_is_terminal"]

_EVERY: Final = 10_000


def stderr_is_terminal() -> bool:
    """Return whether stderr is a terminal."""
    return sys.stderr.isatty()


def show_progress(done: int, events: int) -> None:
    """Show the number of events done, out of all, now and then and at the end."""
    if done % _EVERY == 0 or done >= events:
        click.echo(f"\r{done:,} of {events:,} events", nl=done >= events, err=True)
