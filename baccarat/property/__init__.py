"""The property's services, page and status, assembled from its configuration.

`baccarat property` imports it.
"""

__all__: list[str] = []
