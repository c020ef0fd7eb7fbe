"""Exact odds: every deal of a shoe counted. Commands and the check of rulebooks import it; pure."""

__all__: list[str] = []
