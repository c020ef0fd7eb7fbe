"""Signed notes, held against Go's own example, against OpenSSL, and against every changed byte."""

import hashlib
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import InputError
from events.proof.note import (
    SigningKey,
    VerifierKey,
    parse_note,
    parse_signing_key,
    parse_verifier_key,
    signed_by,
    signed_note,
    split_notes,
)
from tests.support.table.evidence import openssl_says

# The example of golang.org/x/mod/sumdb/note.
GO_PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
GO_TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
GO_NOTE = (
    f"{GO_TEXT}\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZ"
    "SNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
).encode()

KEYS = [SigningKey(f"key-{n}", bytes([n]) * 32) for n in range(3)]


def test_the_example_of_go_is_read_verified_and_made_again_to_the_byte() -> None:
    public, private = parse_verifier_key(GO_PUBLIC), parse_signing_key(GO_PRIVATE)
    assert private.verifier == public
    assert (str(public), private.secret) == (GO_PUBLIC, GO_PRIVATE)
    assert signed_by(parse_note(GO_NOTE), [public]) == {public}
    assert signed_note(GO_TEXT, [private]) == GO_NOTE


def test_the_key_of_gos_checksum_database_has_its_id() -> None:
    line = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
    assert parse_verifier_key(f"{line}\n").key_id.hex() == "033de0ae"


@pytest.mark.process
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_openssl_finds_each_signature_good_and_no_other(key: SigningKey, tmp_path: Path) -> None:
    text = f"site/t1\n17\n{key.name}\n"
    note = parse_note(signed_note(text, [key]))
    (signature,) = note.signatures
    public = key.verifier.public
    assert openssl_says(tmp_path, public, text.encode(), signature.value)
    assert not openssl_says(tmp_path, public, text.encode() + b"\n", signature.value)
    identity = hashlib.sha256(key.name.encode() + b"\x0a\x01" + public).digest()[:4]
    assert signature.key_id == key.verifier.key_id == identity


def test_lines_of_unknown_keys_are_tolerated_and_a_wrong_line_of_a_known_one_is_not() -> None:
    note = parse_note(signed_note("a\n", KEYS))
    known = [key.verifier for key in KEYS]
    assert signed_by(note, known) == set(known)
    assert signed_by(note, known[:1]) == {known[0]}
    assert signed_by(note, []) == frozenset()
    first, *others = note.signatures
    wrong = note._replace(signatures=(first._replace(value=others[0].value), *others))
    assert signed_by(wrong, known[1:]) == set(known[1:])
    assert signed_by(wrong, known) == frozenset()


def test_every_change_of_one_byte_of_a_note_leaves_it_unsigned() -> None:
    whole = signed_note("site/t1\n17\nroot\n", KEYS[:1])
    rng = random.Random(6962)
    for at in range(len(whole)):
        changed = whole[:at] + bytes([whole[at] ^ rng.randrange(1, 256)]) + whole[at + 1 :]
        with suppress(InputError):
            assert signed_by(parse_note(changed), [KEYS[0].verifier]) == frozenset(), at


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"text\n",
        b"text\n\n",
        b"\n\n\xe2\x80\x94 a AAAAAAA=\n",
        b"text\n\n- a AAAAAAA=\n",
        "text\n\n\u2014 a AAAAAAA=".encode(),
        "text\n\n\u2014 a  AAAAAAA=\n".encode(),
        "text\n\n\u2014 a+b AAAAAAA=\n".encode(),
        "text\n\n\u2014 a AAAAAAB=\n".encode(),
        "text\n\n\u2014 a AAAA\n".encode(),
        "text\n\n\u2014 a AAAAAAA=\nmore\n".encode(),
        "te\rxt\n\n\u2014 a AAAAAAA=\n".encode(),
        b"text\xff\n\n\xe2\x80\x94 a AAAAAAA=\n",
        b"text\n\n" + "\u2014 a AAAAAAA=\n".encode() * 101,
    ],
)
def test_what_is_no_note_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(InputError) as refusal:
        parse_note(data)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "name",
        "name+c74f20a3",
        "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        GO_PUBLIC.replace("c74f20a3", "c74f20a4"),
        GO_PUBLIC.replace("c74f20a3", "C74F20A3"),
        GO_PUBLIC.replace("Neumann", "neumann"),
        GO_PUBLIC.replace("Peter", "Peter "),
        GO_PUBLIC[:-4],
        GO_PUBLIC.replace("+AR", "+AB"),
        GO_PUBLIC.replace("+AR", "+BR"),
        f"{GO_PUBLIC}+more",
        GO_PRIVATE,
    ],
)
def test_what_is_no_public_key_is_refused(line: str) -> None:
    with pytest.raises(InputError):
        parse_verifier_key(line)


def test_a_private_key_is_shown_nowhere() -> None:
    key = parse_signing_key(GO_PRIVATE)
    shown = f"{key} {key!r} {[key]}"
    assert GO_PRIVATE[-20:] not in shown
    assert str(key.seed) not in shown
    for line in (GO_PUBLIC, GO_PRIVATE.replace("c74f20a3", "c74f20a4"), GO_PRIVATE[:-1]):
        with pytest.raises(InputError) as refusal:
            parse_signing_key(line)
        assert GO_PRIVATE[-20:-1] not in str(refusal.value)


@given(st.lists(st.integers(0, 2), max_size=6), st.lists(st.integers(0, 2), min_size=7, max_size=7))
def test_notes_one_behind_the_other_come_apart(which: list[int], blanks: list[int]) -> None:
    notes = tuple(signed_note(f"n{n}\n\nx\n", KEYS[: n + 1]) for n in which)
    joined = b"".join(b"\n" * b + note for note, b in zip(notes, blanks, strict=False))
    assert split_notes(joined + b"\n" * blanks[-1]) == notes


def test_what_stands_between_notes_is_not_thrown_away() -> None:
    note = signed_note("a\n", KEYS[:1])
    assert split_notes(b"junk\n" + note + b"more") == (b"junk\n" + note, b"more")


def test_the_name_belongs_to_the_key() -> None:
    one, other = VerifierKey("a", bytes(32)), VerifierKey("b", bytes(32))
    assert one.key_id != other.key_id
