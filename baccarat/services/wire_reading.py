"""Compare what a shoe event says with its raw bytes, by the wire profile that it cites."""

from collections.abc import Callable
from pathlib import Path

from baccarat.rulebooks.editions import ProfileKeeper
from events.errors import ConfigError
from events.log.editions import PROFILES, editions_folder, read_editions
from events.types import IN_A_FRAME, ShoeEvent
from shoe_driver.profiles.profile import parse_profile
from shoe_driver.reread import RawReader

__all__ = ["WireReading"]


class WireReading:
    """Keeps the profile that each event cites, and reads the event's bytes by it.

    Args:
        log: the log's file.
        keeper: keeps a cited profile.
        is_proved: whether the driver's messages are proved by a key. Otherwise a profile that is
            nowhere kept would be a way to say anything, and its cards are not taken.
    """

    def __init__(self, log: Path, keeper: ProfileKeeper, is_proved: Callable[[], bool]) -> None:
        self._log, self._keeper, self._is_proved = log, keeper, is_proved
        self._readers: dict[str, RawReader] = {}

    def __call__(self, event: ShoeEvent) -> str | None:
        """Return how an event contradicts its bytes, for a person; None where it does not.

        Raises:
            LogUnwritable: the disk refused to keep the profile.
        """
        digest = event.profile_hash
        self._keeper(digest)
        if not isinstance(event.report, IN_A_FRAME):
            return None
        reader = self._readers.get(digest)
        if reader is None:
            source = read_editions(editions_folder(self._log, PROFILES)).sources.get(digest)
            try:
                profile = parse_profile(source, source=digest[:8]) if source else None
            except ConfigError:  # of a later build, or damaged
                profile = None
            if profile is None:
                return self._unknown(digest)
            reader = self._readers[digest] = RawReader(profile)
        return reader.contradiction(event)

    def _unknown(self, digest: str) -> str | None:
        if self._is_proved():
            return None
        folder = editions_folder(self._log, PROFILES)
        return (
            f"its wire profile {digest[:8]} is kept nowhere in a form that this build reads: "
            f"put its file into {folder}"
        )
