"""What a site installs around the tables: who may do what on the broker, certificates, health."""

__all__: list[str] = []
