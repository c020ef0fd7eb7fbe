"""Ports by URL: serial, TCP, file. Imported by the service and by commands that open a line."""

__all__: list[str] = []
