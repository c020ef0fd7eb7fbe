"""The shoe driver measured alone: framing, latency, memory. Imported by the benchmark rows."""

__all__: list[str] = []
