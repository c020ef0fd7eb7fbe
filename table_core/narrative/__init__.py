"""A coup told in words: every event, wager and report as a sentence.

Imported by history, projections and pages; pure.
"""

__all__: list[str] = []
