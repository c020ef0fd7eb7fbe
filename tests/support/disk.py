"""A disk that is full: the kernel refuses to let any file of this process grow."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def disk_full_at(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
