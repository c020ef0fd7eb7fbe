"""Profiles are data: the shipped one says what the page says, and a wrong one is refused."""

import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from events.errors import ConfigError, InputError
from events.types import CutCardReported, LockChanged
from shoe_driver.codes.enq import EnqCodes, EnqTable
from shoe_driver.framing.grammar import NumberSpec
from shoe_driver.profiles.catalogue import load_profile, profile_names, profile_text
from shoe_driver.profiles.profile import parse_profile, profile_complaints

SHIPPED = profile_text("enq-bcc").decode()
FIRST_FORM = profile_text("enq-bcc", 1).decode()


def test_the_shipped_profile_says_what_the_page_says() -> None:
    profile = load_profile("enq-bcc")
    assert (profile.id, profile.framer, profile.check) == ("enq-bcc", "delimited", "xor8")
    assert (profile.loss_detection, profile.disclosure, profile.result) == (
        "weak",
        "auto",
        "required",
    )
    assert profile.serial.baud == 4800
    assert profile.repeat is not None
    assert (profile.repeat.copies, profile.repeat.window_ms) == (3, 250)
    assert profile.wire.number == NumberSpec(base=10, width=1, first=1, last=9, boot=0)
    assert isinstance(profile.codes, EnqTable)
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
    table = load_profile(str(path)).codes
    assert isinstance(table, EnqTable)
    codes = EnqCodes(table)
    assert codes.meaning(b"C") == CutCardReported()
    assert codes.meaning(b"K") == LockChanged(locked=True)


def test_an_unknown_name_says_which_there_are() -> None:
    known = ", ".join(profile_names())
    with pytest.raises(InputError, match=rf"no wire profile 'enq'; there are {known}, "):
        load_profile("enq")
    with pytest.raises(InputError, match=r"missing\.toml: No such file"):
        load_profile("/nowhere/missing.toml")


WRONG = {
    "no TOML": (("framer = ", "framer: "), "profile x: "),
    "missing key": (('check = "xor-hex"', ""), "check is missing"),
    "unknown key": (
        ("baud = 4800", "baud = 4800\nparity = 1"),
        "serial.parity: no such key; there are baud",
    ),
    "baud of nothing": (("baud = 4800", "baud = 0"), "serial.baud is 0; use 1 or more"),
    "no copies": (("copies = 3", "copies = 0"), "repeat.copies is 0"),
    "window of nothing": (("window_ms = 250", "window_ms = 0"), "repeat.window_ms is 0"),
    "data without end": (("data_bytes = 16", "data_bytes = 100"), "use 0 to 64"),
    "a number twice": (('"123456789"', '"1234567891"'), "each once"),
    "no numbers": (('"123456789"', '""'), "some others"),
    "disclosure": (('"auto"', '"sometimes"'), "disclosure: Invalid enum value 'sometimes'"),
    "kind of two": (("S = {", "SS = {"), "codes.kinds.SS: a kind is one printable ASCII character"),
    "framer": (('framer = "enq"', 'framer = "stx"'), "no framer 'stx'; there are cobs, enq, line"),
    "framer of a list": (('framer = "enq"', 'framer = ["enq"]'), "no framer ['enq']; there are"),
    "check": (
        ('"xor-hex"', '"crc"'),
        "no check 'crc'; there are crc-16-ccitt-false, none, xor-hex",
    ),
    "report": (('"shoe_ready"', '"shoe_sleeps"'), "codes.kinds.P: "),
    "report without its field": (
        ('report = "shoe_ready"', 'report = "lock_changed"'),
        "codes.kinds.P: ",
    ),
    "report without its data": (
        ('"card_drawn", data = ["target", "card"]', '"card_drawn", data = ["card"]'),
        "codes.kinds.D: card_drawn is made of data",
    ),
    "check of another framer": (('"xor-hex"', '"none"'), "framer 'enq' goes with 'xor-hex'"),
    "proof of what cannot be proved": (('"weak"', '"full"'), "'weak' at most"),
    "text for a number": (("baud = 4800", 'baud = "4800"'), "serial.baud: Expected `int`"),
    "a key that is no number": (('1 = "cannot_read"', 'x = "cannot_read"'), "codes.errors.x: "),
    "no section": (("[serial]", "[cereal]"), "cereal: no such key"),
    "a section that is none": (("[serial]\nbaud = 4800", "[[serial]]\nbaud = 4800"), "[serial]"),
    "no name": (('id = "enq-bcc"', 'id = "a shoe"'), "id: use a short name"),
    "copies that are resent": (
        ("[codes.kinds]", "[resend]\nrepair_ms = 1\n[codes.kinds]"),
        "[resend] makes no sense with framer 'enq'",
    ),
    "rank": (('1 = "A"', '1 = "1"'), "codes.suits, codes.ranks"),
}


@pytest.mark.parametrize(("change", "complaint"), WRONG.values(), ids=WRONG)
def test_a_wrong_profile_is_refused_in_one_line(change: tuple[str, str], complaint: str) -> None:
    text = FIRST_FORM.replace(*change)
    assert text != FIRST_FORM
    with pytest.raises(ConfigError) as refusal:
        parse_profile(text.encode(), source="x")
    assert str(refusal.value).startswith("profile x: ")
    assert complaint in str(refusal.value)


def changed(name: str, *changes: tuple[str, str]) -> bytes:
    text = profile_text(name, 1).decode()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    return text.encode()


OTHERS = {
    "copies of lines": (
        "text-line",
        [("[line]", '[repeat]\ncopies = 3\nwindow_ms = 1\nboot = "0"\ncycle = "1"\n[line]')],
        "[repeat] makes no sense with framer 'line': a line has no number, so a copy",
    ),
    "lines that prove": ("text-line", [('"none"   # no', '"weak"   # no')], "loss_detection: "),
    "lines with a result": ("text-line", [('result = "none"', 'result = "required"')], "result: "),
    "lines told later": ("text-line", [('"immediate"', '"deferred"')], "disclosure: "),
    "no variant": (
        "text-line",
        [('variant = "bracket"', "")],
        "codes.variant: use bracket or scan",
    ),
    "variant of a table": (
        "text-line",
        [('variant = "bracket"', "variant = {}")],
        "codes.variant: use bracket or scan",
    ),
    "a mode of nothing": (
        "text-line",
        [('= "burn"', '= "fire"')],
        "codes.modes.Manual Burn Cards:",
    ),
    "a line end for a prefix": ("text-line", [('prefix = ""', 'prefix = "\\n"')], "line.prefix"),
    "no room": ("text-line", [("data_bytes = 80", "data_bytes = 300")], "use 1 to 256"),
    "a line of prefix": (
        "text-line",
        [("data_bytes = 80", "data_bytes = 2"), ('prefix = ""', 'prefix = "[["')],
        "leave no room",
    ),
    "a site's line": (
        "text-line",
        [("[codes.modes]", '[codes.lines]\nX = { report = "no" }\n[codes.modes]')],
        "codes.lines.X: ",
    ),
    "no face": ("text-line-scan", [('"0001" = "AS"', '"0001" = "1S"')], "codes.faces.0001: '1S'"),
    "runs away": (
        "text-line-scan",
        [("'[0-9]{4}'", "'([0-9]+)+'")],
        "codes.pattern: a group cannot be repeated",
    ),
    "no pattern": ("text-line-scan", [("'[0-9]{4}'", "'[0-9'")], "codes.pattern: unterminated"),
    "another group": (
        "text-line-scan",
        [("'[0-9]{4}'", "'(?P<card>[0-9])'")],
        "codes.pattern: the one group",
    ),
    "no resend": ("ref-crc", [("[resend]\nrepair_ms = 2000", "")], "[resend] is missing"),
    "a beat of nothing": ("ref-crc", [("repair_ms = 2000", "repair_ms = 0")], "resend.repair_ms"),
}


@pytest.mark.parametrize(("name", "changes", "complaint"), OTHERS.values(), ids=OTHERS)
def test_what_makes_no_sense_for_a_framer_is_said(
    name: str, changes: list[tuple[str, str]], complaint: str
) -> None:
    found = profile_complaints(changed(name, *changes))
    assert [text for text in found if complaint in text], found


def test_every_mistake_is_said_at_once() -> None:
    text = changed(
        "enq-bcc",
        ("baud = 4800", 'baud = "fast"'),
        ("copies = 3", "copys = 3"),
        ('S = { report = "shoe_booted" }', "S = 1"),
        ('disclosure = "auto"', ""),
    )
    assert profile_complaints(text) == (
        "disclosure is missing",
        "serial.baud: Expected `int`, got `str`",
        "repeat.copys: no such key; there are copies, window_ms, boot, cycle",
        "repeat.copies is missing",
        "codes.kinds.S: a table [codes.kinds.S] belongs here",
    )
    later = changed(
        "enq-bcc", ("baud = 4800", "baud = 0"), ("S = {", "SS = {"), ("P = {", "PP = {")
    )
    assert len(profile_complaints(later)) == 2
    assert "codes.kinds.SS" in profile_complaints(later)[1]
    assert "codes.kinds.PP" in profile_complaints(later)[1]


@pytest.mark.parametrize("name", profile_names())
def test_what_ships_is_right_and_named_as_its_file(name: str) -> None:
    assert profile_complaints(profile_text(name)) == ()
    assert load_profile(name).id == name


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ConfigError, match="profile x: "):
        parse_profile(b"\xff\xfe", source="x")


def test_the_first_form_means_what_the_second_says() -> None:
    for name in profile_names():
        first, newest = (
            parse_profile(profile_text(name, edition), source=name) for edition in (1, 2)
        )
        assert replace(first, digest="", first_names=None) == replace(newest, digest=""), name


SECOND = {
    "no form": ("form = 2", "form = 3", "form: Invalid enum value 3"),
    "no framer": ('kind = "delimited" ', 'kind = "stx" ', "framer.kind: Invalid enum value 'stx'"),
    "a key too many": ('start = "05"', 'start = "05"\nsize = 3', "framer.size makes no sense"),
    "a key too few": ('end = "03"', "", "framer.end is missing"),
    "no hex": ('start = "05"', 'start = "ENQ"', "framer.start: 'ENQ' is no hex"),
    "no shape": ('"30-39"', '"39-30"', "framer.shape: '39-30': 39-30 goes backwards"),
    "too long": ("most = 22", "most = 999", "framer.most is 999; use 1 to 512"),
    "no check": ('kind = "xor8" ', 'kind = "xor" ', "no check 'xor'; there are none, sum8"),
    "no variant": ("hex = true", 'variant = "x"', "check.variant: xor8 has no 'x'"),
    "no base": ("base = 10", "base = 99", "number.base is 99; use 2 to 36"),
    "no width": ("width = 1", "width = 0", "number.width is 0; use 1 to 9"),
    "a boot that is none": ("boot = 0", "boot = 5", "number.boot: use a number outside"),
    "beyond the width": ("last = 9", "last = 10", "number: use 0 <= first <= last <= 9"),
    "too many promises": ('"weak"', '"full"', "numbers without an acknowledgement are 'weak'"),
    "copies resent": (
        "[repeat]",
        '[acknowledge]\nack = "06"\nresends = 1\nwindow_ms = 9\n[repeat]',
        "[repeat] makes no sense with [acknowledge]",
    ),
    "an empty question": ("[repeat]", '[poll]\nrequest = ""\nevery_ms = 9\n[repeat]', "poll.req"),
    "two beats of nothing": (
        "[repeat]",
        '[poll]\nrequest = "05"\nevery_ms = 0\n[repeat]',
        "poll.every_ms is 0",
    ),
    "bits": ("baud = 4800", "baud = 4800\ndata_bits = 5", "serial.data_bits: Invalid enum value 5"),
    "no codes": ('variant = "kinds"', 'variant = "kind"', "codes.variant: use bracket, fields,"),
}


@pytest.mark.parametrize(("before", "after", "complaint"), SECOND.values(), ids=SECOND)
def test_a_wrong_profile_of_form_2(before: str, after: str, complaint: str) -> None:
    assert before in SHIPPED
    found = profile_complaints(SHIPPED.replace(before, after, 1).encode())
    assert any(complaint in each for each in found), found
