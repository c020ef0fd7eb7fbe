"""A site's installation around its tables: broker rights, certificates, health checks, metrics.

Services and commands import it.
"""

__all__: list[str] = []
