"""A small cage that books each settlement once in effect. The demo and tests import it."""

__all__: list[str] = []
