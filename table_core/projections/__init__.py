"""What displays see: the state document, and the chips in it. Imported by the service; pure."""

__all__: list[str] = []
