"""Alembic's scripts that migrate the archive's schema. They ship with the package."""

__all__: list[str] = []
