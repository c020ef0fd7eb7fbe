"""Brokers on this machine alone: the embedded nats-server, the distribution's mosquitto.

Imported by the demo, benchmarks and tests.
"""

__all__: list[str] = []
