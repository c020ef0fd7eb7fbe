"""Profiles are data: the shipped one says what the page says, and a wrong one is refused."""

import hashlib
from pathlib import Path

import pytest

from events.errors import ConfigError, InputError
from events.shoe import CutCard, LockChanged
from shoe_driver.codes import Codes
from shoe_driver.edge.catalogue import load_profile, profile_names, profile_text
from shoe_driver.profile import parse_profile

SHIPPED = profile_text("enq-bcc").decode()


def test_the_shipped_profile_says_what_the_page_says() -> None:
    profile = load_profile("enq-bcc")
    assert (profile.id, profile.framer, profile.check) == ("enq-bcc", "enq", "xor-hex")
    assert (profile.loss_detection, profile.disclosure, profile.result) == (
        "weak",
        "auto",
        "required",
    )
    assert profile.serial.baud == 4800
    assert (profile.repeat.copies, profile.repeat.window_ms) == (3, 250)
    assert (profile.repeat.boot, profile.repeat.cycle) == ("0", "123456789")
    assert sorted(profile.codes.kinds) == sorted("SPDIGEedi" + "R")


def test_the_digest_is_of_the_files_bytes() -> None:
    assert load_profile("enq-bcc").digest == hashlib.sha256(SHIPPED.encode()).hexdigest()


def test_what_a_sites_vendor_document_adds_goes_into_its_own_file(tmp_path: Path) -> None:
    added = """
[codes.kinds.C]
report = "cut_card"
[codes.kinds.K]
report = "lock_changed"
fields = { locked = true }
"""
    path = tmp_path / "site.toml"
    path.write_text(SHIPPED + added, encoding="utf-8")
    codes = Codes(load_profile(str(path)).codes)
    assert codes.meaning(b"C") == CutCard()
    assert codes.meaning(b"K") == LockChanged(locked=True)


def test_an_unknown_name_says_which_there_are() -> None:
    assert profile_names() == ("enq-bcc",)
    with pytest.raises(InputError, match=r"no wire profile 'enq'; there are enq-bcc"):
        load_profile("enq")
    with pytest.raises(InputError, match=r"missing\.toml: No such file"):
        load_profile("/nowhere/missing.toml")


WRONG = {
    "no TOML": (("framer = ", "framer: "), "profile x: "),
    "missing key": (('check = "xor-hex"', ""), "missing required field `check`"),
    "unknown key": (("baud = 4800", "baud = 4800\nparity = 1"), "unknown field `parity`"),
    "baud of nothing": (("baud = 4800", "baud = 0"), "serial.baud is 0; use 1 or more"),
    "no copies": (("copies = 3", "copies = 0"), "repeat.copies is 0"),
    "window of nothing": (("window_ms = 250", "window_ms = 0"), "repeat.window_ms is 0"),
    "data without end": (("data_bytes = 16", "data_bytes = 100"), "use 0 to 64"),
    "a number twice": (('"123456789"', '"1234567891"'), "each once"),
    "no numbers": (('"123456789"', '""'), "some others"),
    "disclosure": (('"auto"', '"sometimes"'), "Invalid enum value 'sometimes'"),
    "kind of two": (("S = {", "SS = {"), "codes.kinds.SS: a kind is one printable ASCII character"),
    "framer": (('framer = "enq"', 'framer = "stx"'), "no framer 'stx'; there are enq"),
    "check": (('"xor-hex"', '"crc"'), "no check 'crc'; there are xor-hex"),
    "report": (('"shoe_ready"', '"shoe_sleeps"'), "codes.kinds.P: "),
    "report without its field": (
        ('report = "shoe_ready"', 'report = "lock_changed"'),
        "codes.kinds.P: ",
    ),
    "report without its data": (
        ('"card_drawn", data = ["target", "card"]', '"card_drawn", data = ["card"]'),
        "codes.kinds.D: card_drawn is made of data",
    ),
    "rank": (('1 = "A"', '1 = "1"'), "codes.suits, codes.ranks"),
}


@pytest.mark.parametrize(("change", "complaint"), WRONG.values(), ids=WRONG)
def test_a_wrong_profile_is_refused_in_one_line(change: tuple[str, str], complaint: str) -> None:
    text = SHIPPED.replace(*change)
    assert text != SHIPPED
    with pytest.raises(ConfigError) as refusal:
        parse_profile(text.encode(), source="x")
    assert str(refusal.value).startswith("profile x: ")
    assert complaint in str(refusal.value)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ConfigError, match="profile x: "):
        parse_profile(b"\xff\xfe", source="x")
