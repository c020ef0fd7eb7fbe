"""The server's certificate: loaded with words that help, and again when it was renewed."""

import ssl
import stat
from pathlib import Path
from typing import Final

import structlog

from events.errors import ConfigError

__all__ = ["Certificate"]

_log: Final = structlog.get_logger()


class Certificate:
    """What TLS is served with.

    Args:
        cert: PEM file of the certificate chain, the server's own first.
        key: PEM file of its private key, without a passphrase.
        section: of the configuration, for what is said.

    Raises:
        ConfigError: one of them cannot be used; names the key of the configuration, why, and what
            would be right.

    Attributes:
        context: for the server; TLS 1.2 or newer.
    """

    def __init__(self, cert: Path, key: Path, section: str) -> None:
        self._cert, self._key, self._section = cert, key, section
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        self.context.set_alpn_protocols(["http/1.1"])
        self._stamps = self._load(self.context)

    def renew(self) -> None:
        """Take the files again where they have changed; the old ones serve while the new do not.

        A pair is tried aside first, because it is written one file after the other.
        """
        try:
            if self._look() == self._stamps:
                return
            self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
            self._stamps = self._load(self.context)
        except ConfigError as error:
            _log.warning("certificate.refused", reason=str(error))
        else:
            _log.info("certificate.renewed")

    def _look(self) -> tuple[int, ...]:
        return (
            _stamp(self._cert, f"{self._section}.cert", 'cert = "b7.pem"'),
            _stamp(self._key, f"{self._section}.key", 'key = "b7.key"'),
        )

    def _load(self, context: ssl.SSLContext) -> tuple[int, ...]:
        stamps = self._look()
        name = f"{self._section}.key: {self._key}"
        if self._key.stat().st_mode & stat.S_IROTH:
            raise ConfigError(f"{name} can be read by everybody: chmod 600 it, and make a new key")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(self._cert)
        except ssl.SSLError as error:
            raise ConfigError(
                f"{self._section}.cert: {self._cert} holds no certificate; give the PEM file that "
                "begins with -----BEGIN CERTIFICATE-----"
            ) from error
        try:
            context.load_cert_chain(self._cert, self._key, password=self._no_passphrase)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise ConfigError(
                    f"{name} is not the key of {self._cert}: give the pair that was made together"
                ) from error
            raise ConfigError(
                f"{name} holds no private key; give the PEM file that begins with "
                "-----BEGIN PRIVATE KEY-----"
            ) from error
        return stamps

    def _no_passphrase(self) -> str:
        """Else OpenSSL asks for one at the terminal, and the service waits for ever."""
        raise ConfigError(
            f"{self._section}.key: {self._key} has a passphrase, which nobody is there to type; "
            f"take it off with `openssl pkey -in {self._key.name} -out plain.key`"
        )


def _stamp(path: Path, key: str, example: str) -> int:
    try:
        with path.open("rb"):
            return path.stat().st_mtime_ns
    except OSError as error:
        raise ConfigError(f"{key}: {path}: {error.strerror}; give a file, as {example}") from error
