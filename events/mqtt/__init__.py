"""MQTT: the bus, one connection, topic names, presence and requests.

Services of every room may import it; topic names are pure.
"""

__all__: list[str] = []
