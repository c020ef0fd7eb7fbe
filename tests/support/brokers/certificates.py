"""Certificates of a CA that exists in one test alone."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec import Struct

from baccarat.site.pki import Pki


class Pair(Struct, frozen=True):
    """A self-signed certificate for 127.0.0.1 and its key, as PEM files."""

    cert: Path
    key: Path
    serial: int


def certify(folder: Path, name: str = "b7") -> Pair:
    """Make a pair that is valid today.

    Args:
        folder: for the files, which are replaced.
        name: of the files.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key", made.serial_number)
    pair.cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    write_key(pair.key, key)
    return pair


def write_key(path: Path, key: ec.EllipticCurvePrivateKey, passphrase: bytes | None = None) -> None:
    """Write a private key that its owner alone may read."""
    locked = (
        serialization.BestAvailableEncryption(passphrase)
        if passphrase
        else serialization.NoEncryption()
    )
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
    )
    path.chmod(0o600)


def pki_with(folder: Path, name: str = "b7", *hosts: str, owner: str = "harbour") -> Pki:
    """Begin a site's authority in a folder, and issue a certificate that holds from now on."""
    pki = Pki(folder, dt.datetime.now(dt.UTC))
    pki.begin(owner)
    pki.issue(name, hosts)
    return pki
