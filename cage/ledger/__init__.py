"""The double-entry ledger: accounts, postings from events, and the store on SQLite or PostgreSQL.

Imported by the rest of the cage; imports nothing of it.
"""

__all__: list[str] = []
