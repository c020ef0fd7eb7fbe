"""Benchmarks: each performance figure next to its floor, from the same run; see the README."""

__all__: list[str] = []
