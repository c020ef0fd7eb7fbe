"""`baccarat cage`: run, read, report and reconcile the cage's ledger.

The command line alone imports it, when the command is called.
"""

__all__: list[str] = []
