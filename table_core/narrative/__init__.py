"""The narrative of a coup: every event, wager and report as a sentence.

History, projections and pages may import it. Pure.
"""

__all__: list[str] = []
