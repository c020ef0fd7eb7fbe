"""Framers and checks: a stream of bytes cut into frames. Imported by profiles and link; pure."""

__all__: list[str] = []
