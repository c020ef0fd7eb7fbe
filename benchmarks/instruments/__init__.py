"""What measures: floors, watchers, clocks, private servers, and the figures made of samples.

Imported by every benchmark; imports none.
"""

__all__: list[str] = []
