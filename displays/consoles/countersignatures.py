"""Second signatures that a person gave by password at somebody else's page. Pure but for the clock.

A command with `signed` names two people. Where a site asks for it, the second one signs with name
and password in the form itself. The signature is good for one session and two minutes.
"""

from collections.abc import Sequence
from typing import Final

from events.clock import Clock

__all__ = ["GOOD_SECONDS", "Countersignatures"]

# A count is read aloud, checked and sent in this time.
GOOD_SECONDS: Final = 120
_US: Final = 1_000_000


class Countersignatures:
    """The second signatures that are good now.

    Args:
        clock: for their age.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until_us: dict[tuple[str, str], int] = {}

    def add(self, session: str, name: str) -> None:
        """Record a signature.

        Args:
            session: the secret of the session at whose page it was given.
            name: of the person who signed.
        """
        now = self._clock.mono_us()
        self._until_us = {key: until for key, until in self._until_us.items() if until > now}
        self._until_us[session, name] = now + GOOD_SECONDS * _US

    def missing(self, session: str, person: str, signed: Sequence[str]) -> tuple[str, ...]:
        """Return those of `signed` that neither are the person nor have signed."""
        now = self._clock.mono_us()
        return tuple(
            name
            for name in signed
            if name != person and self._until_us.get((session, name), 0) <= now
        )
