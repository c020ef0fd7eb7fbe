"""A site's authority: what it issues, what it refuses, and what stays when it renews."""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from baccarat.cli.main import main
from baccarat.site.pki import Pki
from events.errors import InputError

NOW = datetime.now(UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Pki(tmp_path / "pki", NOW).begin("harbour")
    return tmp_path / "pki"


def key_of(path: Path) -> bytes:
    """The public part of a private key, to compare."""
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def believed(folder: Path, name: str, host: str) -> bool:
    """By the library's own verifier of chains, which is not what issued it."""
    store = Store([x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())])
    verifier = PolicyBuilder().store(store).time(NOW).build_server_verifier(x509.DNSName(host))
    try:
        verifier.verify(x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes()), [])
    except VerificationError:
        return False
    return True


def test_a_servers_certificate_holds_for_its_names_and_a_clients_for_none(folder: Path) -> None:
    Pki(folder, NOW).issue("broker", ["b7.example", "127.0.0.1"])
    Pki(folder, NOW).issue("b7")
    assert believed(folder, "broker", "b7.example")
    assert not believed(folder, "broker", "b8.example")
    assert not believed(folder, "b7", "b7")
    for path in folder.glob("*.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("hosts", "client", "purposes"),
    [(["b7.example"], False, {"serverAuth"}), ([], False, {"clientAuth"}),
     (["hub1.example"], True, {"serverAuth", "clientAuth"})],
)  # fmt: skip
def test_a_certificate_is_for_its_purpose_also_when_it_is_renewed(
    folder: Path, hosts: list[str], client: bool, purposes: set[str]
) -> None:
    Pki(folder, NOW).issue("one", hosts, client=client)
    for _ in range(2):
        found = Pki(folder, NOW).certificate("one").extensions
        usage = found.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert {each._name for each in usage} == purposes
        Pki(folder, NOW).renew("one")


@pytest.mark.parametrize(
    "host", ["a b", "", "b7,b8", "-b7", "b7-", "b7..example", "https://b7", "b7:8883", "a" * 64]
)
def test_a_host_that_nobody_could_reach_is_refused(folder: Path, host: str) -> None:
    with pytest.raises(InputError, match="write a DNS name or an IP address"):
        Pki(folder, NOW).issue("broker", ["b7.example", host])
    assert not (folder / "broker.key").exists()


@pytest.mark.parametrize("host", ["b7", "hub1.site_2.example", "*.example", "a" * 63])
def test_a_host_is_any_name_of_a_machine(folder: Path, host: str) -> None:
    Pki(folder, NOW).issue("broker", [host, "::1"])
    assert (folder / "broker.pem").exists()


def test_renewing_keeps_the_names_and_changes_the_key(folder: Path) -> None:
    Pki(folder, NOW - timedelta(days=100)).issue("broker", ["b7.example"], days=110)
    before = key_of(folder / "broker.key")
    assert main(["pki", "renew", str(folder)]) == 0
    assert believed(folder, "broker", "b7.example")
    assert key_of(folder / "broker.key") != before
    ends = Pki(folder, NOW).certificate("broker").not_valid_after_utc
    assert ends > NOW + timedelta(days=300)
    assert main(["pki", "renew", str(folder)]) == 0  # and nothing that has time
    assert Pki(folder, NOW).certificate("broker").not_valid_after_utc == ends


def test_a_certificate_with_a_name_that_is_none_is_not_renewed_and_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:  # a version that did not look
        earlier.setattr("baccarat.site.pki._is_host", lambda _: True)
        path = Pki(folder, NOW).issue("broker", ["b7 example"])
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"broker\.pem: names 'b7 example', which is no DNS name"):
        Pki(folder, NOW).renew("broker")
    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_who_could_read_a_key_still_can_when_it_is_renewed(folder: Path) -> None:
    Pki(folder, NOW).issue("broker", ["b7.example"])
    os.chown(folder / "broker.key", 65534, 65534)
    Pki(folder, NOW).renew("broker")
    found = (folder / "broker.key").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65534, 65534, 0o600)


def test_an_authority_is_never_made_over_and_issues_nothing_when_it_has_ended(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "ca.key").read_bytes()
    assert main(["pki", "init", str(folder), "--site", "harbour"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (folder / "ca.key").read_bytes() == before
    old = Pki(tmp_path / "old", NOW - timedelta(days=20))
    old.begin("harbour", days=10)
    with pytest.raises(InputError, match="has expired"):
        Pki(tmp_path / "old", NOW).issue("b7")
    (folder / "ca.key").unlink()
    with pytest.raises(InputError, match="only the authority issues"):
        Pki(folder, NOW).issue("b7")


@pytest.mark.parametrize("name", ["ca", "../b7", "B7", ""])
def test_a_name_that_would_be_another_file_is_refused(folder: Path, name: str) -> None:
    before = sorted(folder.iterdir())
    assert main(["pki", "issue", str(folder), name]) == 2
    assert sorted(folder.iterdir()) == before


def test_a_renewal_that_was_cut_off_between_its_two_files_is_done_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pki(folder, NOW).issue("broker", ["b7.example"])
    moved: list[str] = []

    def cut_off(self: Path, target: Path) -> Path:
        if moved:
            raise KeyboardInterrupt
        moved.append(target.name)
        os.rename(self, target)  # noqa: PTH104 - what stands for it must not call itself
        return target

    with monkeypatch.context() as power:
        power.setattr(Path, "replace", cut_off)
        with pytest.raises(KeyboardInterrupt):
            Pki(folder, NOW).renew("broker")
    assert moved == ["broker.pem"]
    Pki(folder, NOW).renew("broker")
    assert believed(folder, "broker", "b7.example")
    certificate = Pki(folder, NOW).certificate("broker")
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert certificate.public_key().public_bytes(*form) == key_of(folder / "broker.key")
    assert not list(folder.glob(".*"))
