"""The framers: each cuts a stream of bytes into frames, wherever it was split."""

__all__: list[str] = []
