"""What a site installs around its tables: rights on the broker, certificates, health, metrics.

Imported by services and commands.
"""

__all__: list[str] = []
