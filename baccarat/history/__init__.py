"""A log's past for people and for proof: the history process, evidence, and what a replay reads.

Imported by services and commands.
"""

__all__: list[str] = []
