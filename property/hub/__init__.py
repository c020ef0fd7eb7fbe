"""The JetStream hub: subjects, streams, server configuration, and the messages that it carries.

Uplink, archive and witness import it.
"""

__all__: list[str] = []
