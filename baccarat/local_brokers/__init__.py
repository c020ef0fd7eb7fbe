"""Brokers on this machine alone: the embedded nats-server, the distribution's mosquitto.

The demo, benchmarks and tests import it.
"""

__all__: list[str] = []
