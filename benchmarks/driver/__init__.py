"""The shoe driver measured alone: framing, latency, memory. The benchmark rows import it."""

__all__: list[str] = []
