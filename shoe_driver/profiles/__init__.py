"""Wire profiles: their form, and those that ship. Imported by link, decoder and service."""

__all__: list[str] = []
