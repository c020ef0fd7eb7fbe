"""Many tables: each log's uplink to a JetStream hub, the archive in PostgreSQL, the witness."""

__all__: list[str] = []
