"""The pages of dealer and supervisor, and the commands they send to the table.

Imported by the web application.
"""

__all__: list[str] = []
