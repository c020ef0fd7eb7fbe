"""A log's past, for people and for proof: the history process, evidence, and the input of a replay.

Services and commands import it.
"""

__all__: list[str] = []
