"""Exact odds: every deal of a shoe counted. Imported by commands; pure."""

__all__: list[str] = []
