"""How late bytes may be: the time at which they are read is not the time at which they were sent.

An adapter gathers bytes, TCP sends a lost packet again after 0.2 s and then ever later, a process
or its disk stands still for seconds. The bytes of one line come in order all the same, and what
they say must not depend on how long they were on the way. Five seconds are more than such a way
takes, and less than a table takes to deal the same place of two coups.
"""

from typing import Final

__all__ = ["LATE_MS"]

LATE_MS: Final = 5_000
