"""The limit of lateness: how long after they were sent bytes may still be read.

An adapter buffers bytes, TCP resends a lost packet after 0.2 s and then ever later, and a process
or its disk may stop for seconds. The bytes of one line still come in order, and their meaning must
not depend on their delay. Five seconds are longer than such a delay, and shorter than the time in
which a table deals the same place of two coups.
"""

from typing import Final

__all__ = ["LATE_MS"]

LATE_MS: Final = 5_000
