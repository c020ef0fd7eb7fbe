"""A line on stderr that counts, for a person who waits; nothing where nobody looks."""

import sys

import click

__all__ = ["told_events", "watched"]


def watched() -> bool:
    """Whether somebody sees stderr."""
    return sys.stderr.isatty()


def told_events(done: int, events: int) -> None:
    """So many of all events are done."""
    click.echo(f"\r{done:,} of {events:,} events", nl=done >= events, err=True)
