"""The serial edge and what runs beside it: files, ports, the bus. All the room's I/O is here."""

__all__: list[str] = []
