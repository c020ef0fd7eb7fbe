"""Child processes and how they are kept running.

Imported by services, the demo and benchmarks; knows no configuration.
"""

__all__: list[str] = []
