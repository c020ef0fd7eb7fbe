"""Rulebooks by name, by path and by hash, wherever they are kept.

Services, configuration and commands import it.
"""

__all__: list[str] = []
