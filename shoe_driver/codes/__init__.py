"""The code tables: what the body of a frame means, for each framer's kind of body."""

__all__: list[str] = []
