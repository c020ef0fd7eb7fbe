"""What the public may see of the table's state. Imported by the web application."""

__all__: list[str] = []
