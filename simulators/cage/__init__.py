"""A small cage that books each settlement once in effect. Imported by the demo and tests."""

__all__: list[str] = []
