"""A site's name, logo and colours on every page, from its configuration."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from events.errors import ConfigError

__all__ = ["COLOURS", "NO_SITE", "SiteLook", "read_logo"]

COLOURS: Final = ("felt", "ink", "accent", "player", "banker", "tie")
"""The colours that a site may set, each a custom property of the style sheets."""
# Loaded once at every screen.
_LOGO_MOST: Final = 512 * 1024
_KINDS: Final[Mapping[str, str]] = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webp": "image/webp",
}


class SiteLook(Struct, frozen=True, kw_only=True):
    """How a site's pages look.

    Args:
        name: of the house; empty for none.
        logo: the picture's bytes; None shows the name instead.
        logo_kind: its media type.
        colours: `#rrggbb` by a name of `COLOURS`.
    """

    name: str = ""
    logo: bytes | None = None
    logo_kind: str = ""
    colours: Mapping[str, str] = {}

    def css(self) -> str:
        """Return the style sheet that sets the colours."""
        lines = "".join(f"  --{name}: {colour};\n" for name, colour in self.colours.items())
        return f":root {{\n{lines}}}\n"

    def mark(self) -> str:
        """Return what tells this look from another; empty for none."""
        if self == NO_SITE:
            return ""
        return hashlib.sha256(msgspec.msgpack.encode(self)).hexdigest()[:8]


NO_SITE: Final = SiteLook()
"""The pages as they ship."""


def read_logo(path: Path) -> tuple[bytes, str]:
    """Return a logo and its media type.

    Raises:
        ConfigError: the file cannot be read, is too large, or is no picture of a known kind.
    """
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(f"logo: {path} is no picture: give one of {', '.join(_KINDS)}")
    try:
        picture = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"logo: {path} cannot be read: {error.strerror}") from error
    if len(picture) > _LOGO_MOST:
        raise ConfigError(f"logo: {path} has {len(picture)} bytes: at most {_LOGO_MOST}")
    return picture, kind
