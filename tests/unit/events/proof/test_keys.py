"""Key files: made once, readable by their owner alone; and public keys given on a command line."""

import json
import os
import stat
from pathlib import Path

import pytest

from baccarat.cli.main import main
from events.errors import InputError
from events.proof.keys import load_signing_key, make_signing_key, read_verifier_key
from events.proof.note import parse_note, parse_verifier_key, signed_by, signed_note
from property.witness.cosignature import parse_witness_key


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(["keys", *args])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_new_key_is_its_owners_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "table.key"
    before = os.umask(umask)
    try:
        made = make_signing_key(path, "sydney/t1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_signing_key(path) == made
    assert path.read_text() == f"{made.secret}\n"


def test_no_two_keys_are_alike_and_none_is_overwritten(tmp_path: Path) -> None:
    first = make_signing_key(tmp_path / "a", "a")
    assert make_signing_key(tmp_path / "b", "a").seed != first.seed
    with pytest.raises(InputError, match="never overwritten"):
        make_signing_key(tmp_path / "a", "a")
    assert load_signing_key(tmp_path / "a") == first


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o777, 0o620])
def test_a_key_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "table.key"
    make_signing_key(path, "a")
    path.chmod(mode)
    with pytest.raises(InputError, match=f"{mode:04o}") as refusal:
        load_signing_key(path)
    assert "\n" not in str(refusal.value)


def test_a_witnesss_key_is_shown_in_its_own_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "witness.key"
    made = make_signing_key(path, "harbour/witness")
    code, out, _ = run(capsys, "show", str(path), "--witness")
    key = parse_witness_key(out)
    assert (code, key.name, key.public) == (0, "harbour/witness", made.verifier.public)


def test_the_command_makes_and_shows_one_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "table.key")
    code, out, err = run(capsys, "new", path, "--name", "sydney/t1")
    assert (code, err, out.count("\n")) == (0, "", 1)
    key = parse_verifier_key(out)
    assert key.name == "sydney/t1"
    assert run(capsys, "show", path) == (0, out, "")
    code, told, _ = run(capsys, "show", path, "--json")
    assert json.loads(told) == {"name": "sydney/t1", "id": key.key_id.hex(), "key": str(key)}
    note = parse_note(signed_note("a\n", [load_signing_key(Path(path))]))
    assert signed_by(note, [key]) == {key}


def test_a_keys_name_is_its_files_unless_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, "new", str(tmp_path / "table-1.key"))
    assert out.startswith("table-1+")


def test_what_the_command_cannot_do_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.key"
    make_signing_key(kept, "a")
    open_to_all = tmp_path / "open.key"
    make_signing_key(open_to_all, "a")
    open_to_all.chmod(0o644)
    (tmp_path / "junk").write_bytes(b"\xff\x00" * 50)
    (tmp_path / "junk").chmod(0o600)
    for args in (
        ("new", str(kept)),
        ("new", str(tmp_path / "none" / "a.key")),
        ("new", str(tmp_path / "b.key"), "--name", "two words"),
        ("new", str(tmp_path / "b.key"), "--name", "a+b"),
        ("show", str(tmp_path / "none")),
        ("show", str(tmp_path)),
        ("show", str(open_to_all)),
        ("show", str(tmp_path / "junk")),
    ):
        code, out, err = run(capsys, *args)
        assert (code, out, err.count("\n")) == (2, "", 1), args
        assert "PRIVATE+KEY+a" not in err
    assert not (tmp_path / "b.key").exists()


def test_a_public_key_is_given_as_a_line_or_as_its_file(tmp_path: Path) -> None:
    key = make_signing_key(tmp_path / "k", "a/b").verifier
    (tmp_path / "k.pub").write_text(f"{key}\n")
    assert read_verifier_key(str(key)) == read_verifier_key(str(tmp_path / "k.pub")) == key
    for wrong in ("", "nothing", str(tmp_path), str(tmp_path / "k"), f"{key}x", "a\0b"):
        with pytest.raises(InputError) as refusal:
            read_verifier_key(wrong)
        assert "PRIVATE+KEY+a" not in str(refusal.value)
