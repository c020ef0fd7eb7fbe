"""The driver as a service: port, recorder, event sender. Imported by the composition root alone."""

__all__: list[str] = []
