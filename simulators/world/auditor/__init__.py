"""The world's auditor, written apart from the core: its own rules, chips and verdicts.

Imported by the world; never imports `table_core`.
"""

__all__: list[str] = []
