"""TLS contexts from certificate files that may be renewed while the service runs.

A renewal replaces the certificate and its key one after the other. A service manager's credential
is a copy from the start of the service, so until a restart a new certificate may lie next to an old
key. So a pair is read into memory, tried there, and used only if it fits. While the files do not
fit, the previous pair stays in use.
"""

import asyncio
import os
import socket
import ssl
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from events.errors import ConfigError
from events.structured_log import structlog

__all__ = ["CertificatePair", "ClientTls", "read_first_pair", "read_pair", "tls_refusal"]

# `baccarat pki renew` waits for no disk between its two renames.
_FIRST_READS: Final = 4
_READ_AGAIN_S: Final = 0.05
# OpenSSL's reasons for a certificate and a key that do not fit, of one kind or of two.
_MISFITS: Final = frozenset({"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"})

_log: Final = structlog.get_logger()


class CertificatePair(NamedTuple):
    """A certificate chain and its key that fit, as PEM; `exposed` if anybody may read the key file.

    The pair stays in memory, so the pair that was tried is the pair that is used.
    """

    cert: bytes
    key: bytes
    exposed: bool

    def load_into(self, context: ssl.SSLContext) -> None:
        """Make a context present this certificate."""
        _load(context, self.cert, self.key)


def read_pair(cert: Path, key: Path, section: str = "") -> CertificatePair:
    """Read a certificate and its key as they are now.

    Args:
        cert: PEM file of the certificate chain, our own certificate first.
        key: PEM file of its private key, without a passphrase.
        section: the configuration section that names the files, for messages.

    Raises:
        ConfigError: a file cannot be used, or they do not fit; says which, why, and what would be
            right.
    """
    prefix = f"{section}." if section else ""
    chain, _ = _read(cert, f"{prefix}cert", 'cert = "b7.pem"')
    private, mode = _read(key, f"{prefix}key", 'key = "b7.key"')
    name = f"{prefix}key: {key}"
    try:
        with _in_memory(chain) as path:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError as error:
        raise ConfigError(
            f"{prefix}cert: {cert} holds no certificate; give the PEM file that begins with "
            "-----BEGIN CERTIFICATE-----"
        ) from error
    try:
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), chain, private)
    except _LockedError as error:
        raise ConfigError(
            f"{name} has a passphrase, which nobody is there to type; "
            f"take it off with `openssl pkey -in {key.name} -out plain.key`"
        ) from error
    except ssl.SSLError as error:
        if error.reason in _MISFITS:
            raise ConfigError(
                f"{name} is not the key of {cert}: give the pair that was made together"
            ) from error
        raise ConfigError(
            f"{name} holds no private key; give the PEM file that begins with "
            "-----BEGIN PRIVATE KEY-----"
        ) from error
    return CertificatePair(chain, private, exposed=bool(mode & stat.S_IROTH))


def read_first_pair(cert: Path, key: Path, section: str = "") -> CertificatePair:
    """Read the first pair of a service; if a renewal is under way, try again. Blocks.

    Raises:
        ConfigError: as `read_pair`, if the files still do not fit after the last attempt.
    """
    for _ in range(_FIRST_READS - 1):
        try:
            return read_pair(cert, key, section)
        except ConfigError:
            time.sleep(_READ_AGAIN_S)
    return read_pair(cert, key, section)


def tls_refusal(host: str, port: int, context: ssl.SSLContext, timeout_s: float) -> str | None:
    """Connect once, and return what TLS says against it; None where it says nothing. Blocks.

    A server that refuses our certificate says so after the handshake, so this waits for it.

    Args:
        host: the server's.
        port: its TCP port.
        context: of the client.
        timeout_s: seconds to connect, and then to wait.

    Raises:
        OSError: it cannot be reached.
    """
    with socket.create_connection((host, port), timeout=timeout_s) as line:
        try:
            with context.wrap_socket(line, server_hostname=host) as wrapped:
                wrapped.settimeout(timeout_s)
                wrapped.recv(1)
        except ssl.SSLCertVerificationError as error:
            return f"its certificate is not believed: {error.verify_message}"
        except ssl.SSLError as error:
            reason = (error.reason or str(error)).lower().replace("_", " ")
            said = reason.partition("alert ")[2]
            return f"it refuses our certificate: {said}" if "certificate" in said else reason
        except (TimeoutError, ConnectionResetError):
            return None
    return None


class ClientTls:
    """TLS contexts for a client whose certificate files may be renewed between two connections.

    Args:
        ca: PEM file of the CA that the server's certificate must come from; None for no TLS.
        cert: PEM file of the client's own certificate, or None.
        key: PEM file of its key; None if the key is in `cert`.
    """

    def __init__(self, ca: Path | None, cert: Path | None = None, key: Path | None = None) -> None:
        self._ca, self._cert, self._key = ca, cert, key or cert
        self._good: ssl.SSLContext | None = None
        self._pair: CertificatePair | None = None
        self._trouble = ""

    @property
    def ends_s(self) -> int:
        """When the certificate in use ends, seconds since 1970; 0 where there is none."""
        # Most services need no more of it than OpenSSL does, and start sooner without it.
        from cryptography import x509  # noqa: PLC0415 - as explained above

        if self._pair is None:
            return 0
        ends = x509.load_pem_x509_certificate(self._pair.cert).not_valid_after_utc
        return int(ends.timestamp())

    def context(self) -> ssl.SSLContext | None:
        """Return the context for the next connection, from the files now or when they last fitted.

        Raises:
            ConfigError: a file cannot be used, and never could; says which, why, and what would be
                right.
        """
        if self._ca is None:
            return None
        try:
            made, pair = self._made(self._ca)
        except ConfigError as error:
            if self._good is None:
                raise
            if str(error) != self._trouble:
                _log.warning("certificate.refused", reason=str(error), used="the one before")
            self._trouble = str(error)
            return self._good
        if self._good is not None and (self._trouble or pair != self._pair):
            _log.info("certificate.renewed")
        self._good, self._pair, self._trouble = made, pair, ""
        return made

    async def settled(self) -> ssl.SSLContext | None:
        """Return `context()`; if a renewal is under way, try again first.

        For a caller that ends on a refusal.

        Raises:
            ConfigError: as `context`, if the files still do not fit after the last attempt.
        """
        for _ in range(_FIRST_READS - 1):
            with suppress(ConfigError):
                return self.context()
            await asyncio.sleep(_READ_AGAIN_S)
        return self.context()

    def _made(self, ca: Path) -> tuple[ssl.SSLContext, CertificatePair | None]:
        try:
            context = ssl.create_default_context(cafile=str(ca))
        except OSError as error:  # ssl.SSLError is an OSError
            raise ConfigError(f"ca: {ca}: {error.strerror or error}") from error
        if self._cert is None or self._key is None:
            return context, None
        pair = read_pair(self._cert, self._key)
        pair.load_into(context)
        return context, pair


class _LockedError(Exception):
    """The key has a passphrase."""


def _load(context: ssl.SSLContext, cert: bytes, key: bytes) -> None:
    with _in_memory(cert) as chain, _in_memory(key) as private:
        context.load_cert_chain(chain, private, password=_no_passphrase)


def _no_passphrase() -> str:
    """Refuse; otherwise OpenSSL asks at the terminal and the service waits for ever."""
    raise _LockedError


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """Yield the path of a file in memory: the library reads PEM from files only."""
    with os.fdopen(os.memfd_create("pem"), "wb") as file:
        file.write(data)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


def _read(path: Path, key: str, example: str) -> tuple[bytes, int]:
    try:
        with path.open("rb") as file:
            return file.read(), os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise ConfigError(f"{key}: {path}: {error.strerror}; give a file, as {example}") from error
