"""Framers and checks, which cut a stream of bytes into frames.

Profiles and link import them; they are pure.
"""

__all__: list[str] = []
