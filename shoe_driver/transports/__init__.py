"""Ports by URL: serial, TCP, pseudo-terminal, file.

The service and commands that open a port import it.
"""

__all__: list[str] = []
