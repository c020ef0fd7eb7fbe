"""The performance figures, each beside its floor measured in the same run; see the README."""

__all__: list[str] = []
