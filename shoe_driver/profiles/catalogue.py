"""Wire profiles by name: those that ship with the product, and a site's own by path."""

from importlib import resources
from pathlib import Path

from events.errors import InputError
from shoe_driver.profiles.profile import Profile, parse_profile

__all__ = ["load_profile", "profile_names", "profile_text"]

_SUFFIX = ".toml"
_SHIPPED = resources.files("shoe_driver") / "profiles"


def profile_names() -> tuple[str, ...]:
    """The profiles that ship with the product, sorted."""
    names = (entry.name for entry in _SHIPPED.iterdir())
    return tuple(sorted(n.removesuffix(_SUFFIX) for n in names if n.endswith(_SUFFIX)))


def profile_text(name: str) -> bytes:
    """The bytes of a profile's file.

    Args:
        name: of a shipped profile, or the path of a site's own, which ends in `.toml`.

    Raises:
        InputError: there is none of that name; says which there are.
    """
    if name in profile_names():
        return (_SHIPPED / f"{name}{_SUFFIX}").read_bytes()
    if not name.endswith(_SUFFIX):
        known = ", ".join(profile_names())
        raise InputError(f"no wire profile {name!r}; there are {known}, or give a path to a .toml")
    try:
        return Path(name).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"wire profile {name}: {reason}") from error


def load_profile(name: str) -> Profile:
    """Read a profile by name or path.

    Raises:
        InputError: there is none, or (ConfigError) it is wrong.
    """
    return parse_profile(profile_text(name), source=name)
