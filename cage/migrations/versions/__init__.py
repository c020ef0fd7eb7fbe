"""One module a migration. Never edit a migration that has shipped; add the next one."""

__all__: list[str] = []
