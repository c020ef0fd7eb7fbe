"""What the table's service does, without I/O: steps that read, append, publish and wait. Pure.

`table_core.service` runs them on asyncio and SQLite, and `simulators.world` on fakes.
"""

__all__: list[str] = []
