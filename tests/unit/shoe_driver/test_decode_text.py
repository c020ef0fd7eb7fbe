"""`text-line` by its page: brackets, scans, and lines that must not become cards."""

import pytest

from events.errors import ConfigError
from events.types import ShoeEvent
from shoe_driver.codes.scan import checked_pattern
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile, profile_text
from shoe_driver.profiles.profile import Profile, parse_profile
from tests.support.shoe.shoe_bytes import said

BRACKET = load_profile("text-line")
SCAN = load_profile("text-line-scan")


def bare(profile: Profile, *pieces: bytes) -> list[str]:
    decoder = Decoder(profile)
    return said([e for piece in pieces for e in decoder.feed_bare(piece)] + decoder.finish())


# Lines, and what they say. A raw line is told in hex.
LINES = """
[Game]<Card:4S>                     | card_drawn 4S
[Game]<Card:S4>                     | card_drawn 4S
[Game]<Card:TH>                     | card_drawn TH
[Game]<Card:10H>                    | card_drawn TH
[Game]<Card:H10>                    | card_drawn TH
[Game]<Card:HT>                     | card_drawn TH
[Game]<Card:AC>                     | card_drawn AC
[Game]<Card:1C>                     | card_unreadable
[Game]<Card:4s>                     | card_unreadable
[Game]<Card:>                       | card_unreadable
[Game]<Card:4S4>                    | card_unreadable
[Game]<Game>                        | card_unreadable
[Game]                              |
[Manual Burn Cards]<Card:H3>        | mode_changed Manual Burn Cards; burn_card 3H
[Manual Burn Cards]<Manual Burn Cards> | mode_changed Manual Burn Cards; burn_card
[Manual Burn Cards]                 | mode_changed Manual Burn Cards
[Test]<Card:4S>                     | mode_changed Test; raw
[Game]<Something>                   | raw
[Game]<Card:4S                      | raw
<Card:4S>                           | raw
4S                                  | raw
<W0x01>                             | raw
<Alarm:E3 Card Not Read>            | error_raised cannot_read; error_cleared cannot_read
<Alarm:E9 Door>                     | error_raised alarm_e9 latched
<Alarm:E9>                          | error_raised alarm_e9 latched
"""


@pytest.mark.parametrize("row", LINES.strip().splitlines())
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"], ids=["CR", "LF", "CRLF"])
def test_lines_in_brackets(row: str, end: str) -> None:
    line, wanted = (cell.strip() for cell in row.split("|"))
    raw = f"unknown_report {line.encode().hex().upper()}"
    told = bare(BRACKET, (line + end).encode())
    assert told == [raw if each == "raw" else each for each in filter(None, wanted.split("; "))]


# A capture as a site might make it, typed by hand, and what it means.
CAPTURE = b"""\
[Manual Burn Cards]<Card:D7>\r
[Manual Burn Cards]<Card:10C>\r
[Game]<Card:4S>\r
[Game]<Card:4S>\r
<Alarm:E3 Card Not Read>\r
[Game]<Game>\r
<W0x01>\r
[Game]<Card:QD>\r
"""
MEANING = [
    "mode_changed Manual Burn Cards",
    "burn_card 7D",
    "burn_card TC",
    "mode_changed Game",
    "card_drawn 4S",
    "card_drawn 4S",
    "error_raised cannot_read",
    "error_cleared cannot_read",
    "card_unreadable",
    "unknown_report 3C57307830313E",
    "card_drawn QD",
]


def test_a_capture_at_every_split_point() -> None:
    assert bare(BRACKET, CAPTURE) == MEANING
    for place in range(1, len(CAPTURE)):
        assert bare(BRACKET, CAPTURE[:place], CAPTURE[place:]) == MEANING
    assert bare(BRACKET, *(bytes([byte]) for byte in CAPTURE)) == MEANING


def test_an_alarm_that_stands_is_over_at_the_next_card() -> None:
    told = bare(BRACKET, b"<Alarm:E9>\r<Alarm:E9>\r<Alarm:E8>\r[Game]<Game>\r[Game]<Card:4S>\r")
    assert told == [
        "error_raised alarm_e9 latched",
        "error_raised alarm_e9 latched",
        "error_raised alarm_e8 latched",
        "error_cleared alarm_e9",
        "error_cleared alarm_e8",
        "card_unreadable",
        "card_drawn 4S",
    ]


def timed(profile: Profile, *records: tuple[int, bytes | RecordKind]) -> list[ShoeEvent]:
    """Reads and happenings with the second of each."""
    decoder, events = Decoder(profile, "j"), []
    for second, what in records:
        kind, data = (what, b"") if isinstance(what, RecordKind) else (RecordKind.DATA, what)
        events += decoder.feed(Record(kind, second * 1_000_000, second * 10**9, data))
    return events


def test_a_partial_line_is_dropped_at_its_time_out_and_never_emitted() -> None:
    told = said(timed(SCAN, (0, b"00"), (1, RecordKind.QUIET), (2, b"01\r0002\r")))
    assert told == [
        "frame_rejected broken_line 3030 2",
        "report_lost line broken_line",
        "frame_rejected broken_line 30310D 3",
        "report_lost line broken_line",
        "card_drawn 2S",
    ]


def test_a_rejected_line_may_have_been_a_card_and_is_told_as_lost() -> None:
    assert bare(SCAN, b"0001\r00\xb01\r0002\r") == [
        "card_drawn AS",
        "frame_rejected not_text 3030B0310D 5",
        "report_lost line not_text",
        "card_drawn 2S",
    ]


def test_silence_says_nothing_where_no_line_ends_a_deal() -> None:
    decoder = Decoder(BRACKET)
    decoder.feed_bare(b"[Game]<Card:4S>\r")
    assert not decoder.in_deal
    assert not decoder.device_should_send


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("0001", "card_drawn AS"),
        ("0013", "card_drawn KS"),
        ("0014", "card_drawn AH"),
        ("0027", "card_drawn AD"),
        ("0052", "card_drawn KC"),
        ("0053", "card_unreadable"),
        ("0000", "card_unreadable"),
        ("52", "card_unreadable"),
        ("00522", "card_unreadable"),
        ("NOREAD", "card_unreadable"),
        ("4S", "card_unreadable"),
    ],
)
def test_a_scan_that_does_not_parse_is_never_turned_into_a_card(line: str, wanted: str) -> None:
    assert bare(SCAN, f"{line}\r\n".encode()) == [wanted]


def test_two_equal_faces_in_a_row_are_two_cards() -> None:
    assert bare(SCAN, b"0007\r\n0007\r\n0007\r\n") == ["card_drawn 7S"] * 3


def site(*changes: tuple[str, str]) -> Profile:
    text = profile_text("text-line-scan").decode()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    return parse_profile(text.encode(), source="site")


UNIQUE = site(
    ("'[0-9]{4}'", "'(?P<face>[0-9]{4})-[A-F0-9]{4}'"),
    ("unique_codes = false", "unique_codes = true"),
)
A, B, C = b"0007-00A1\r", b"0007-00A2\r", b"0008-00A3\r"

# What is scanned, at which second, and what is told.
SCANS = {
    "equal faces of two cards": ([(0, A), (1, B)], ["7S", "7S"]),
    "read twice": ([(0, A), (3, A)], ["7S"]),
    "read twice, much later": ([(0, A), (4, A)], ["7S", "conflict"]),
    "read again behind another": ([(0, A), (1, C), (2, A)], ["7S", "8S"]),
    "another shoe": ([(0, A), (1, C), (302, A)], ["7S", "8S", "7S"]),
    "not yet another shoe": ([(0, A), (200, C), (400, A)], ["7S", "8S", "conflict"]),
}


@pytest.mark.parametrize(("scans", "wanted"), SCANS.values(), ids=SCANS)
def test_codes_that_are_unique_per_card(scans: list[tuple[int, bytes]], wanted: list[str]) -> None:
    told = [text.split() for text in said(timed(UNIQUE, *scans))]
    assert [words[1] if words[0] == "card_drawn" else "conflict" for words in told] == wanted
    assert all(words[0] in ("card_drawn", "copy_conflict") for words in told)


def test_after_the_machine_was_started_anew_codes_may_come_again() -> None:
    told = said(timed(UNIQUE, (9000, A), (9010, RecordKind.START), (5, A), (6, A)))
    assert told == ["card_drawn 7S", "card_drawn 7S"]


def test_a_new_segment_knows_when_the_last_scan_was() -> None:
    first = Decoder(UNIQUE, "j")
    first.feed(Record(RecordKind.DATA, 1_000_000, 1, A))
    assert first.carried(4_000_000) is None  # a copy may still come
    carried = first.carried(4_000_001)
    assert carried is not None
    for second, wanted in ((301, "copy_conflict"), (302, "card_drawn")):
        after = Decoder(UNIQUE, "j")
        after._protocol.recall(carried.memory)  # as the segment's second record does
        [told] = said(after.feed(Record(RecordKind.DATA, second * 1_000_000, 1, A)))
        assert told.split()[0] == wanted


def test_unique_codes_in_a_bare_capture() -> None:
    told = bare(UNIQUE, A + A + C + A)
    assert told == [
        "card_drawn 7S",
        "card_drawn 8S",
        "copy_conflict 0007-00A1 ('303030372D30304131',)",
    ]


@pytest.mark.parametrize(
    ("profile", "before", "after", "wanted"),
    [
        (UNIQUE, A + C, A, ["copy_conflict 0007-00A1 ('303030372D30304131',)"]),
        (BRACKET, b"[Manual Burn Cards]\r", b"[Manual Burn Cards]<Card:4S>\r", ["burn_card 4S"]),
        (
            BRACKET,
            b"<Alarm:E9>\r",
            b"[Game]<Card:4S>\r",
            ["error_cleared alarm_e9", "card_drawn 4S"],
        ),
    ],
)
def test_a_new_segment_knows_the_mode_the_alarms_and_the_codes(
    profile: Profile, before: bytes, after: bytes, wanted: list[str]
) -> None:
    first, second = Decoder(profile, "j"), Decoder(profile, "j")
    first.feed_bare(before)
    carried = first.carried(0)
    assert carried is not None
    second._protocol.recall(carried.memory)  # as the segment's second record does
    assert said(second.feed_bare(after)) == wanted


def test_a_site_gives_whole_lines_a_meaning() -> None:
    lines = '[codes.lines]\nCUT = { report = "cut_card" }\nNEW = { report = "shoe_booted" }\n'
    profile = site(
        ("unique_codes = false", "unique_codes = true"), ("[codes.faces]", lines + "[codes.faces]")
    )
    assert bare(profile, b"0001\rCUT\rNEW\r0001\r") == [
        "card_drawn AS",
        "cut_card",
        "shoe_booted",
        "card_drawn AS",
    ]


def test_prefix_and_suffix_as_a_reader_is_set_up() -> None:
    profile = site(('prefix = ""', 'prefix = "\\u0002"'), ('suffix = ""', 'suffix = "\\u0003"'))
    assert bare(profile, b"\x020001\x03\r\n") == ["card_drawn AS"]
    assert bare(profile, b"01\x03\r\n\x020001\x03\r\n")[-1] == "card_drawn AS"


@pytest.mark.parametrize(
    "pattern",
    [
        "[0-9]{4}",
        "(?P<face>[A2-9TJQK][SHDC])-[0-9]+",
        "0*(?P<face>[1-9][0-9]?)",
        r"\d{4}|\w{3}",
        r"CARD\.(?:A|B)[^-]+",
    ],
)
def test_patterns_that_a_code_needs(pattern: str) -> None:
    assert checked_pattern("x", pattern).pattern == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "(a|a)*b",
        "(?:a?){30}",
        "([0-9]+)+$",
        r"(a)\1",
        "(?=a)a",
        "(?i)a",
        "a*a*a*b",
        "a+a+a{2,}",
        "(",
        "a" * 201,
        "a{1,2}{3}",
        "a{99999}",
    ],
)
def test_patterns_that_could_run_away_are_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match=r"^x: "):
        checked_pattern("x", pattern)
