"""What is printed: pages for paper, and text for a terminal. Imported by commands and services."""

__all__: list[str] = []
