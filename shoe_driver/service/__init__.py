"""The driver's service: port reader, link supervisor, recorder, event sender.

Only the composition root imports it.
"""

__all__: list[str] = []
