"""Reports over a ledger, and its reconciliation with the log.

Commands import it; it reads the ledger and never books.
"""

__all__: list[str] = []
