"""The rulebooks that ship with the product, one TOML file each, and their reader.

Composition roots, services and commands may import it.
"""

__all__: list[str] = []
