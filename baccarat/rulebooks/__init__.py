"""Rulebooks by name, by path and by hash, wherever they are kept.

Imported by services, configuration and commands.
"""

__all__: list[str] = []
