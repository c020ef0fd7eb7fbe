"""Who may log in: accounts, passwords, sessions, and how often a login may be tried.

Imported by the consoles and the web application.
"""

__all__: list[str] = []
