"""A small certificate authority for one site: its own certificate, and those it issues.

`cryptography` does the hard part. Keys are ECDSA on P-256, which every TLS library supports. A leaf
is for servers or for clients, and contains the names it may be reached by. Issuing and renewing
need the authority's key, which belongs on no controller.
"""

import ipaddress
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from baccarat.atomic_files import FileWrite, write_all_atomically
from events.errors import InputError

__all__ = ["CA_DAYS", "LEAF_DAYS", "Pki"]

CA_DAYS: Final = 3650
LEAF_DAYS: Final = 397
# The clocks of a controller and of the issuing machine need not agree to the second.
_EARLIER: Final = timedelta(hours=1)
# A name of letters, digits and hyphens (RFC 1123); the first part may be a star.
_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
    r"(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*"
)
_NAME_BYTES: Final = 64  # the most of a common name, in UTF-8 (X.520)
_SERVER_AUTH: Final = ExtendedKeyUsageOID.SERVER_AUTH
_CLIENT_AUTH: Final = ExtendedKeyUsageOID.CLIENT_AUTH


class Pki:
    """The authority in a folder: `ca.pem`, `ca.key`, and `<name>.pem` with `<name>.key`.

    Args:
        folder: of its files.
        now: the time, in UTC.
    """

    def __init__(self, folder: Path, now: datetime) -> None:
        self._folder = folder
        self._now = now

    def begin(self, site: str, days: int = CA_DAYS) -> Path:
        """Create the authority.

        Raises:
            InputError: there is one already; or the site's name is too long.
        """
        name = _name(f"{site} tables")
        self._folder.mkdir(parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(name, name, key.public_key(), days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(issues=True), critical=True)
        )
        self._write("ca", key, builder.sign(key, hashes.SHA256()), replace=False)
        return self._folder / "ca.pem"

    def issue(
        self,
        name: str,
        hosts: Sequence[str] = (),
        days: int = LEAF_DAYS,
        *,
        client: bool = False,
        replace: bool = False,
    ) -> Path:
        """Issue a certificate.

        Args:
            name: its common name and its files'.
            hosts: names and addresses it may be reached by; without any it is a client's.
            days: its validity.
            client: whether it may be shown as a client's as well; nodes that connect to one another
                need that. Nobody should log in by a web server's certificate.
            replace: replace an existing key and certificate with new ones.

        Raises:
            InputError: the authority is not there, or has expired; the name is taken; a host is
                neither a name nor an address; the name is too long.
        """
        authority, signer = self._authority()
        key = ec.generate_private_key(ec.SECP256R1())
        purposes = [
            *([_SERVER_AUTH] if hosts else []),
            *([_CLIENT_AUTH] if client or not hosts else []),
        ]
        builder = (
            self._builder(_name(name), authority.subject, key.public_key(), days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(issues=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
                critical=False,
            )
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        self._write(name, key, builder.sign(signer, hashes.SHA256()), replace=replace)
        return self._folder / f"{name}.pem"

    def renew(self, name: str, days: int = LEAF_DAYS) -> Path:
        """Issue a certificate again, with a new key, the same names and the same purposes.

        Raises:
            InputError: it, or the authority, is not there; or one of its names is not valid.
        """
        before, hosts = self.certificate(name).extensions, self.hosts(name)
        client = not hosts
        with suppress(x509.ExtensionNotFound):
            client = _CLIENT_AUTH in before.get_extension_for_class(x509.ExtendedKeyUsage).value
        for host in hosts:
            if not _is_host(host):
                raise InputError(
                    f"{self._folder / name}.pem: names {host[:80]!r}, which is no DNS name and no "
                    "IP address; take it and its key away, and `baccarat pki issue` makes others"
                )
        return self.issue(name, hosts, days, client=client, replace=True)

    def hosts(self, name: str) -> list[str]:
        """Return the names and addresses of a certificate; none if it is a client's.

        Raises:
            InputError: it is not there, or is not a certificate.
        """
        try:
            found = self.certificate(name).extensions.get_extension_for_class(
                x509.SubjectAlternativeName
            )
        except x509.ExtensionNotFound:
            return []
        return [str(each.value) for each in found.value]

    def certificates(self) -> dict[str, x509.Certificate]:
        """Return name to certificate, with the authority's own."""
        return {
            path.stem: self.certificate(path.stem) for path in sorted(self._folder.glob("*.pem"))
        }

    def certificate(self, name: str) -> x509.Certificate:
        """Return one certificate.

        Raises:
            InputError: it is not there, or is not a certificate.
        """
        path = self._folder / f"{name}.pem"
        try:
            return x509.load_pem_x509_certificate(path.read_bytes())
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        except ValueError as error:
            raise InputError(f"{path}: no certificate: {error}") from error

    def _authority(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        path = self._folder / "ca.key"
        authority = self.certificate("ca")
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}; only the authority issues") from error
        except ValueError as error:
            raise InputError(f"{path}: no private key: {error}") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise InputError(f"{path}: not the key of an authority that `baccarat pki` made")
        if authority.not_valid_after_utc < self._now:
            raise InputError(f"{self._folder / 'ca.pem'}: has expired; make a new authority")
        return authority, key

    def _builder(
        self, name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - _EARLIER)
            .not_valid_after(self._now + timedelta(days=days))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )

    def _write(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        certificate: x509.Certificate,
        *,
        replace: bool,
    ) -> None:
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        public = certificate.public_bytes(serialization.Encoding.PEM)
        # Write the certificate first: a power cut between the two leaves a certificate, which has
        # everything needed to renew it.
        files = (
            FileWrite(self._folder / f"{name}.pem", public, 0o644),
            FileWrite(self._folder / f"{name}.key", private, 0o600),
        )
        taken = [each.path for each in files if each.path.exists()]
        if taken and not replace:
            raise InputError(f"{taken[0]}: is there already; say `renew` to replace a certificate")
        write_all_atomically(files)


def _name(common: str) -> x509.Name:
    over = len(common.encode()) - _NAME_BYTES
    if over > 0:
        raise InputError(
            f"{common!r}: a certificate's name has at most {_NAME_BYTES} bytes of UTF-8; "
            f"make it shorter by {over}"
        )
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return _HOST.fullmatch(host) is not None and not host.rpartition(".")[2].isdecimal()
    return True


def _general(host: str) -> x509.GeneralName:
    if not _is_host(host):
        raise InputError(f"host {host[:80]!r}: write a DNS name or an IP address, one at a time")
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, issues: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not issues,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=issues,
        crl_sign=issues,
        encipher_only=False,
        decipher_only=False,
    )
