"""Exact odds: every deal of a shoe counted. Only commands import it; pure."""

__all__: list[str] = []
