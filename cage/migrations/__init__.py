"""Alembic's scripts that migrate the ledger's schema. They ship with the package."""

__all__: list[str] = []
