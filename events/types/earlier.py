"""Earlier versions of events: the shape of each, and how it becomes the next. Pure.

Nothing but the reading of old logs uses these classes, and none is ever edited. No type has an
earlier version yet; docs/changing-an-event.md says how it gets one.
"""

from typing import Final

from events.types.upcasting import Upcast

__all__ = ["UPCASTS"]

UPCASTS: Final[tuple[Upcast, ...]] = ()
"""From every older version, which a log may hold as well."""
