"""MQTT: the bus, one connection, topics, presence.

Imported by shells of every room; topics are pure.
"""

__all__: list[str] = []
