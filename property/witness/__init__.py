"""The witness: observes every log on the hub, keeps a book, and cosigns consistent checkpoints.

Only the composition root imports it.
"""

__all__: list[str] = []
