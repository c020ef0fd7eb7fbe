"""The world's auditor, written independently of the core: its own rules, chips and verdicts.

The world imports it; it never imports `table_core`.
"""

__all__: list[str] = []
