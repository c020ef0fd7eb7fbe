"""The public projection of the table's state. The web application and the live state import it."""

__all__: list[str] = []
