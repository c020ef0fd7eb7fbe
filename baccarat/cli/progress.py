"""A progress line on stderr for a person who waits; nothing without a terminal."""

import sys

import click

__all__ = ["show_progress", "stderr_is_terminal"]


def stderr_is_terminal() -> bool:
    """Return whether stderr is a terminal."""
    return sys.stderr.isatty()


def show_progress(done: int, events: int) -> None:
    """Show the number of events done, out of all."""
    click.echo(f"\r{done:,} of {events:,} events", nl=done >= events, err=True)
