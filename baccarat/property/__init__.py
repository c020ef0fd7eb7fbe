"""The property's services, page and status put together from its configuration.

Imported by `baccarat property`.
"""

__all__: list[str] = []
