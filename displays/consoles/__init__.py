"""The consoles of dealer and supervisor: pages, and a client that sends commands to the table.

Only the web application imports it.
"""

__all__: list[str] = []
