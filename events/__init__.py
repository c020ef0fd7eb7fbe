"""The shared language of all rooms: cards, money, event and command types, the event log, MQTT.

Every room may import it; it imports no other room. `types`, `commands`, cards, money and errors are
pure; `log`, `mqtt` and `tls` do I/O.
"""

__all__: list[str] = []
