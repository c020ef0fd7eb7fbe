"""The ledger's schema, step by step: alembic's scripts, which travel with the package."""

__all__: list[str] = []
