"""The steps by which the archive's schema grows; alembic runs them."""

__all__: list[str] = []
