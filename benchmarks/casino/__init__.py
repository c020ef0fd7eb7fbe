"""Many tables on one machine: how they are played and measured.

Imported by the benchmark rows, and by `baccarat sim casino` as a plugin.
"""

__all__: list[str] = []
