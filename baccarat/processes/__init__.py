"""Child processes, and supervisors that keep them running.

Services, the demo and benchmarks import it; it knows no configuration.
"""

__all__: list[str] = []
