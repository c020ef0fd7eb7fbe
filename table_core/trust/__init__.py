"""How far a table trusts what comes over the bus: who may do what, and what proves a message.

The table's process imports it, and the composition root says what the site's files hold.
"""

__all__: list[str] = []
