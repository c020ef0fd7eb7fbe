"""The driver: it stores bytes from a dealing shoe and sends them to the core as numbered events.

It imports only `events`; the composition root, the simulators and commands import it.
"""

__all__: list[str] = []
