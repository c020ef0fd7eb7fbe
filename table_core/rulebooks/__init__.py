"""The rulebooks that ship, one TOML file each, and their reader.

Imported by composition roots, services and commands.
"""

__all__: list[str] = []
