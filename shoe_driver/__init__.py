"""Bytes from a dealing shoe to numbered shoe events."""

__all__: list[str] = []
