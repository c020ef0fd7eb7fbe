"""A broker by its URL and files, for programs on machines that have no table's configuration."""

from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from baccarat.read_files import read_password
from events.errors import InputError
from events.mqtt.bus import BusSettings

__all__ = ["LoginFiles", "broker_at", "broker_url"]

_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}


class LoginFiles(Struct, frozen=True, kw_only=True):
    """The files of a login.

    Args:
        ca: PEM file of the site's CA; needed for TLS.
        cert: PEM file of our own certificate, if the broker asks for one.
        key: PEM file of its key; None where it is in `cert`.
        password_file: holds the login's password.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    password_file: Path | None = None


def broker_url(url: str, form: str, option: str = "--url") -> SplitResult:
    """Return the parts of an `mqtt://` or `mqtts://` URL.

    Args:
        url: as it was given.
        form: what would be right, for messages.
        option: by which it was given, for messages.

    Raises:
        InputError: it is not of that form.
    """
    try:
        parts = urlsplit(url)
        named = parts.scheme in _PORTS and parts.hostname and (parts.port or 1)
    except ValueError as error:
        raise InputError(f"{option}: {error}; write {form}") from error
    if not named:
        raise InputError(f"{option}: write {form}")
    return parts


def broker_at(parts: SplitResult, client_id: str, files: LoginFiles) -> BusSettings:
    """Return the settings of a connection.

    Args:
        parts: of `broker_url`.
        client_id: at the broker.
        files: of the login.

    Raises:
        InputError: files and URL do not fit, or the password cannot be read.
    """
    secure = parts.scheme == "mqtts"
    if secure and files.ca is None:
        raise InputError("mqtts: name the file of the site's CA, --ca ca.pem")
    if not secure and (files.ca or files.cert or files.key):
        raise InputError("--ca, --cert and --key are for TLS: write mqtts:// in --url")
    password = unquote(parts.password) if parts.password else None
    again = None
    if files.password_file is not None:
        again = partial(read_password, files.password_file)
        password = again()
    return BusSettings(
        host=str(parts.hostname),
        port=parts.port or _PORTS[parts.scheme],
        client_id=client_id,
        username=unquote(parts.username) if parts.username else None,
        password=password,
        read_password=again,
        ca=files.ca,
        cert=files.cert,
        key=files.key,
    )
