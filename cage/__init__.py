"""The reference consumer of a table: its settlement feed kept as a double-entry ledger."""

__all__: list[str] = []
