"""Measuring instruments: floors, watchers, clocks, private servers, and figures from samples.

Every benchmark imports it; it imports none.
"""

__all__: list[str] = []
