"""The shared language and the log: what every room of the table says to the others.

This room imports no other. Its pure modules (cards, money, messages, codec, chain) hold no I/O;
`log` is the SQLite file, `bus` the MQTT port.
"""

__all__: list[str] = []
