"""The command line: a file or a folder a noun. Only `baccarat.__main__` and tests import it."""

__all__: list[str] = []
