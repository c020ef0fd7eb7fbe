"""The double-entry ledger: accounts, postings from events, and the store on SQLite or PostgreSQL.

The rest of the cage imports it; it imports nothing of the cage.
"""

__all__: list[str] = []
