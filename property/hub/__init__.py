"""The JetStream hub: subjects, streams, the servers' configuration, and what travels over it.

Imported by uplink, archive and witness.
"""

__all__: list[str] = []
