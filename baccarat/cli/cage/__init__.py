"""`baccarat cage`: run, read, report and reconcile the cage's ledger.

Imported by the command line alone, when called.
"""

__all__: list[str] = []
