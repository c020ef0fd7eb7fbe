"""How questions are asked: what is given becomes parameters, and nonsense is refused by name."""

from datetime import UTC, date, datetime

import pytest

from events.errors import InputError
from property.archive.questions import ARCHIVE_QUERIES, parse_parameters


def test_what_is_not_given_is_not_asked_for() -> None:
    found = parse_parameters(ARCHIVE_QUERIES["coups"], {"card": "", "most": ""})
    assert found["card"] is None
    assert found["site"] is found["table_name"] is None
    assert found["most"] == 200


def test_every_question_of_events_can_be_limited_and_exported_whole() -> None:
    for name, question in ARCHIVE_QUERIES.items():
        names = {option.name for option in question.options}
        assert names >= {"day", "table", "since", "until"} or name == "editions"
        found = parse_parameters(question, {}, every=True)
        assert (found["rows"], found.get("most", 2**31 - 1)) == (None, 2**31 - 1)
    assert parse_parameters(ARCHIVE_QUERIES["coups"], {"most": "7"}, every=True)["most"] == 7


def test_values_are_read_by_their_kinds() -> None:
    given = {
        "card": "10d",
        "result": "tie",
        "dealer": "mary",
        "table": "harbour/b7",
        "since": "2026-11-27T21:40:07Z",
        "until": "2026-11-28T00:00:00+11:00",
        "most": "7",
    }
    found = parse_parameters(ARCHIVE_QUERIES["coups"], dict(given))
    assert (found["card"], found["result"], found["dealer"]) == ("TD", "tie", "mary")
    assert (found["site"], found["table_name"], found["most"]) == ("harbour", "b7", 7)
    assert found["since"] == datetime(2026, 11, 27, 21, 40, 7, tzinfo=UTC)
    assert found["until"].astimezone(UTC) == datetime(2026, 11, 27, 13, tzinfo=UTC)
    assert parse_parameters(ARCHIVE_QUERIES["win"], {"day": "2026-11-27"})["day"] == date(
        2026, 11, 27
    )


def test_a_text_is_asked_for_as_the_archive_shows_it() -> None:
    for given, asked in (("p-17\0", r"p-17\u0000"), (r"p-17\u0000", r"p-17\u0000"), ("莊", "莊")):
        assert parse_parameters(ARCHIVE_QUERIES["coups"], {"patron": given})["patron"] == asked


def test_a_time_without_a_zone_is_utc() -> None:
    found = parse_parameters(ARCHIVE_QUERIES["runs"], {"since": "2026-11-27T21:40"})
    assert found["since"] == datetime(2026, 11, 27, 21, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("coups", {"card": "1X"}, "card: '1X'"),
        ("coups", {"result": "red"}, "there are banker, player, tie, void"),
        ("coups", {"table": "b7"}, "<site>/<table>"),
        ("coups", {"since": "yesterday"}, "since: 'yesterday': no time; write it as 2026"),
        ("coups", {"most": "0"}, "1 to 10,000"),
        ("coups", {"most": "00000000199999"}, "1 to 10,000"),
        ("coups", {"most": "9" * 5_000}, "1 to 10,000"),
        ("coups", {"most": "many"}, "most: 'many': 1 to 10,000"),
        ("win", {"day": "27.11.2026"}, "day: '27.11.2026': no date; write it as 2026"),
        ("win", {"card": "9D"}, "no such option; it has day, table, since, until"),
        ("runs", {"cards": "99999999999"}, "1 to 10,000"),
    ],
)
def test_nonsense_is_refused_with_what_would_be_right(
    name: str, given: dict[str, str | None], says: str
) -> None:
    with pytest.raises(InputError, match=says.replace("(", r"\(")):
        parse_parameters(ARCHIVE_QUERIES[name], given)
