"""Cosignatures, against a checkpoint of a public log with its public witnesses' own lines."""

import hashlib
from base64 import b64decode, b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from events.errors import InputError
from events.proof.note import SigningKey, parse_note, signed_note
from property.witness.cosignature import cosign, cosigned_at, parse_witness_key, witness_key

# A staging log of certificate transparency on 24 May 2026, as four witnesses have cosigned it.
PUBLIC = """\
arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
— witness1.smartit.nu/witness1 pIyCDwAAAABqEiEghIp82KWebrw7/oHQwlTAm3g2RKS4+eebl8eO0WH+/iEcxZ75W3u5hNI7TOQtmJbqmNWVuE0tgh0XwzdZsDsUAQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
— witness.stagemole.eu Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/TmN9DAg==
"""  # noqa: E501 - lines of a signed note are as long as they are
WITNESSES = (
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
    "witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO",
    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
)
THEN_S = 0x6A122120
NOBODYS = "rgdd.se/poc-witness+db03732e+BCjJKlo6BU0xfIb8LutqerIFTWIXEA0L5n3tW3QyPFgG"

KEY = SigningKey("harbour/witness", bytes(range(32)))
NOTE = signed_note("harbour/b7\n12\n" + "A" * 43 + "=\n", [SigningKey("harbour/b7", bytes(32))])


@pytest.mark.parametrize("line", WITNESSES)
def test_what_a_public_witness_has_cosigned_is_found_with_its_time(line: str) -> None:
    key = parse_witness_key(line)
    assert str(key) == line
    assert cosigned_at(parse_note(PUBLIC.encode()), key) == THEN_S


def test_who_has_not_cosigned_is_not_found() -> None:
    assert cosigned_at(parse_note(PUBLIC.encode()), parse_witness_key(NOBODYS)) is None


@pytest.mark.parametrize("change", [("1432088532", "1432088533"), ("U7WM", "U7WN")])
def test_a_cosignature_is_of_one_text_alone(change: tuple[str, str]) -> None:
    note = parse_note(PUBLIC.replace(*change, 1).encode())
    assert cosigned_at(note, parse_witness_key(WITNESSES[2])) is None


def test_a_cosignature_is_of_one_time_alone() -> None:
    later = PUBLIC.replace("2net5wAAAABqEiEg", "2net5wAAAABqEiEh")
    assert cosigned_at(parse_note(later.encode()), parse_witness_key(WITNESSES[2])) is None


def test_ours_is_what_the_specification_says_computed_apart() -> None:
    made = cosign(NOTE, parse_note(NOTE).text, KEY, 1_780_000_000)
    assert made.startswith(NOTE)
    name, tail = made[len(NOTE) :].decode().removeprefix("— ").rstrip("\n").split(" ")
    line = b64decode(tail, validate=True)
    public = Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
    assert name == "harbour/witness"
    assert line[:4] == hashlib.sha256(b"harbour/witness\n\x04" + public).digest()[:4]
    assert int.from_bytes(line[4:12], "big") == 1_780_000_000
    text = NOTE.partition(b"\n\n")[0] + b"\n"
    Ed25519PublicKey.from_public_bytes(public).verify(
        line[12:], b"cosignature/v1\ntime 1780000000\n" + text
    )
    assert cosigned_at(parse_note(made), witness_key(KEY)) == 1_780_000_000


def test_a_logs_own_signature_is_no_cosignature_and_the_reverse() -> None:
    same = SigningKey("harbour/witness", KEY.seed)
    signed = signed_note(parse_note(NOTE).text, [same])
    assert cosigned_at(parse_note(signed), witness_key(same)) is None
    assert witness_key(same).key_id != same.verifier.key_id


def test_one_wrong_line_of_a_witness_makes_the_other_worth_nothing() -> None:
    text = parse_note(NOTE).text
    twice = cosign(cosign(NOTE, text, KEY, 1_780_000_000), text, KEY, 1_780_000_007)
    assert cosigned_at(parse_note(twice), witness_key(KEY)) == 1_780_000_007
    forged = bytearray(b64decode(twice.rsplit(b" ", 1)[1]))
    forged[-1] ^= 1
    bad = twice.rsplit(b" ", 1)[0] + b" " + b64encode(forged) + b"\n"
    assert cosigned_at(parse_note(bad), witness_key(KEY)) is None


@pytest.mark.parametrize("at_s", [0, -1, 1 << 63])
def test_a_time_that_is_none_is_refused(at_s: int) -> None:
    with pytest.raises(ValueError, match="no time of a cosignature"):
        cosign(NOTE, parse_note(NOTE).text, KEY, at_s)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "harbour/witness",
        str(KEY.verifier),
        WITNESSES[2].replace("da77ade7", "da77ade8"),
        WITNESSES[2].replace("remora", "romera"),
        WITNESSES[2][:-4],
        "+" + WITNESSES[2].partition("+")[2],
    ],
)
def test_what_is_no_witnesss_key_is_refused(line: str) -> None:
    with pytest.raises(InputError, match="no witness's key"):
        parse_witness_key(line)
