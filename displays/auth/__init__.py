"""Authentication: accounts, passwords, sessions, and rate limits of logins.

The consoles and the web application import it.
"""

__all__: list[str] = []
