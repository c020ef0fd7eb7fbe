"""Reports over a ledger, and its reconciliation with the log.

Imported by commands; reads, and never books.
"""

__all__: list[str] = []
