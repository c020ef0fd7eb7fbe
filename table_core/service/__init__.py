"""The table as a service: `table_core.process` on asyncio, SQLite and a broker.

Only the composition root, simulators and tests import it.
"""

__all__: list[str] = []
