"""A table's reference consumer: it books the settlement feed in a double-entry ledger."""

__all__: list[str] = []
