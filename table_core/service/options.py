"""What a configuration may say to the shell, as types: light, since every service reads them."""

from typing import Literal

__all__ = ["NewFile"]

NewFile = Literal["never", "shoe", "day"]
"""When a log goes on in a new file: never; behind each shoe; or behind the first shoe that ends on
a later day (UTC) than the file begins on."""
