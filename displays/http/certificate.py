"""The server's TLS certificate: loads it with helpful errors, and again after a renewal."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from events.errors import ConfigError
from events.structured_log import structlog
from events.tls import CertificatePair, read_first_pair, read_pair

__all__ = ["Certificate"]

_log: Final = structlog.get_logger()


class Certificate:
    """The server's certificate, key and TLS context.

    Args:
        cert: PEM file of the certificate chain, the server's own first.
        key: PEM file of its private key, without a passphrase.
        section: of the configuration, for messages.

    Raises:
        ConfigError: a file cannot be used; the text names its configuration key, the reason, and
            the remedy.

    Attributes:
        context: the server's TLS context, for TLS 1.2 or newer.
    """

    def __init__(self, cert: Path, key: Path, section: str) -> None:
        self._cert, self._key, self._section = cert, key, section
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        self.context.set_alpn_protocols(["http/1.1"])
        self._refused = ""
        self._pair = self._found(read_first_pair)
        self._pair.load_into(self.context)

    def renew(self) -> None:
        """Load the files again after a change; keep the old ones while the new are unusable.

        Unusable files are logged once.
        """
        try:
            pair = self._found(read_pair)
        except ConfigError as error:
            if str(error) != self._refused:
                _log.warning("certificate.refused", reason=str(error), used="the one before")
            self._refused = str(error)
            return
        self._refused = ""
        if pair != self._pair:
            pair.load_into(self.context)
            self._pair = pair
            _log.info("certificate.renewed")

    def _found(self, read: Callable[[Path, Path, str], CertificatePair]) -> CertificatePair:
        pair = read(self._cert, self._key, self._section)
        if pair.exposed:
            raise ConfigError(
                f"{self._section}.key: {self._key} can be read by everybody: chmod 600 it, and "
                "make a new key"
            )
        return pair
