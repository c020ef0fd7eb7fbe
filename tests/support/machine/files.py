"""Files that tests read."""

from pathlib import Path

VECTORS = Path(__file__).parents[2] / "vectors"


def vector(name: str) -> bytes:
    """A file of expected values that were computed outside the product."""
    return (VECTORS / name).read_bytes()
