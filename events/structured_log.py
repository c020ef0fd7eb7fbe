"""structlog, imported as if rich were not installed.

structlog imports rich for tracebacks on a developer's console, if it can, and rich imports pygments
and attrs: 50 ms and 5 MB in every process. Our services write JSON lines, which need none of them.
Import `structlog` from here, so that the first import of a process is this one.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__: list[str] = []


@contextmanager
def _absent(name: str) -> Iterator[None]:
    """Let imports of a module fail meanwhile, in the way that the import system documents."""
    before = sys.modules.pop(name, None)
    sys.modules[name] = None  # type: ignore[assignment]  # "a ModuleNotFoundError is raised"
    try:
        yield
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before


with _absent("rich"):
    import structlog as structlog  # noqa: PLC0414 - the name is given on
