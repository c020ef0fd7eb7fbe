"""Many tables on one property: uplinks to a JetStream hub, a PostgreSQL archive, the witness."""

__all__: list[str] = []
