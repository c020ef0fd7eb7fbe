"""Find wire profiles by name: the shipped ones, and a site's own by path."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from events.errors import InputError
from events.log.editions import shipped_editions
from shoe_driver.profiles.profile import Profile, parse_profile

__all__ = ["load_profile", "profile_names", "profile_text", "shipped_texts"]

_SUFFIX = ".toml"


def profile_names() -> tuple[str, ...]:
    """Return the names of the shipped profiles, sorted."""
    return tuple(_editions())


def profile_text(name: str, edition: int | None = None) -> bytes:
    """Return the bytes of a profile's file.

    Args:
        name: a shipped profile, or the path of a site's own, which ends in `.toml`.
        edition: of a shipped one, from 1; None is the newest.

    Raises:
        InputError: there is none of that name or edition; lists the known ones.
    """
    if name in _editions():
        editions = _editions()[name]
        if edition is not None and not 1 <= edition <= len(editions):
            raise InputError(f"profile {name} has no edition {edition}; use 1 to {len(editions)}")
        return editions[-1 if edition is None else edition - 1]
    if not name.endswith(_SUFFIX):
        known = ", ".join(profile_names())
        raise InputError(f"no wire profile {name!r}; there are {known}, or give a path to a .toml")
    try:
        return Path(name).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"wire profile {name}: {reason}") from error


def shipped_texts() -> tuple[bytes, ...]:
    """Return the bytes of every shipped edition, older ones too."""
    return tuple(text for editions in _editions().values() for text in editions)


def load_profile(name: str) -> Profile:
    """Read a profile by name or path.

    Raises:
        InputError: there is none, or (ConfigError) it is wrong.
    """
    return parse_profile(profile_text(name), source=name)


@cache
def _editions() -> Mapping[str, tuple[bytes, ...]]:
    return shipped_editions(resources.files("shoe_driver") / "profiles")
