"""Conformance of a shoe: what its link and its life should be, and what a capture shows of both.

The command line imports it, for `baccarat shoe conform`.
"""

__all__: list[str] = []
