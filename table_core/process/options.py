"""Types of the service's configuration, in a light module because every service reads them."""

from typing import Literal

__all__ = ["RotationPolicy"]

RotationPolicy = Literal["never", "shoe", "day"]
"""When a log continues in a new file: never; after each shoe; or after the first shoe that ends on
a later day (UTC) than the file begins on."""
