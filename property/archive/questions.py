"""The archive's named queries, for the command and the page alike. Pure.

A query reads a view or a function of the archive (`property/migrations/sql`). This module holds its
SQL and its options. An option without a value does not filter.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, NamedTuple

from events.cards import parse_card
from events.errors import InputError
from events.free_text import escape_nul, whole_number
from property.health.verdict import ORDER_ALARM
from property.hub.subjects import split_origin

__all__ = ["ARCHIVE_QUERIES", "ArchiveQuery", "QueryOption", "is_unlimited", "parse_parameters"]

_Kind = Literal["card", "date", "number", "result", "table", "text", "time"]
_RESULTS: Final = ("banker", "player", "tie", "void")
# Most rows of one answer. A longer answer needs a shorter period.
_ROWS_MOST: Final = 10_000
_EVERY: Final = 2**31 - 1  # PostgreSQL's largest integer


class QueryOption(NamedTuple):
    """An option of a query.

    Args:
        name: the option's, and its parameter's in the SQL.
        kind: the kind of its value.
        says: its description for a person.
        default: the value if the caller gives none.
    """

    name: str
    kind: _Kind
    says: str
    default: Any = None


class ArchiveQuery(NamedTuple):
    """A named query.

    Args:
        says: its description in one line.
        sql: has named parameters: the options, and `site` and `table_name` for a table.
        options: the options that it accepts.
        recent_days: where neither a time nor a day is given, it is asked of the newest so many.
    """

    says: str
    sql: str
    options: tuple[QueryOption, ...] = ()
    recent_days: int = 0


# Such a question reads all that was dealt, or everybody who played: nobody wants years of it.
_RECENT_DAYS: Final = 31
_TABLE: Final = QueryOption("table", "table", "this table only, <site>/<table>")
_SINCE: Final = QueryOption("since", "time", "from then on", datetime.min.replace(tzinfo=UTC))
_UNTIL: Final = QueryOption("until", "time", "before then", datetime.max.replace(tzinfo=UTC))
_DAY: Final = QueryOption("day", "date", "this business day only")
_MOST: Final = QueryOption("most", "number", "the newest so many", 200)
_LIMITS: Final = (_DAY, _TABLE, _SINCE, _UNTIL)
_OF_TABLE: Final = """
    (%(site)s::text IS NULL OR site = %(site)s)
    AND (%(table_name)s::text IS NULL OR "table" = %(table_name)s)
"""


def _within(column: str, site: str = "site") -> str:
    """Return the condition that a time is within the limits; its site is where its day begins."""
    return f"""
        {column} >= %(since)s AND {column} < %(until)s
        AND (%(day)s::date IS NULL OR property.is_on(%(day)s, {site}, {column})) AND {_OF_TABLE}
    """


ARCHIVE_QUERIES: Final[dict[str, ArchiveQuery]] = {
    "tables": ArchiveQuery(
        "every table: how far it is archived, its feed, link, shoe and alarms",
        f"""
        SELECT site, "table", position, feed, last_event_at, stored_at, link, shoe, alarms,
            feed_alarms
        FROM property.live WHERE {_within("coalesce(last_event_at, '-infinity')")}
        ORDER BY site, "table"
        """,  # noqa: S608 - our own words
        _LIMITS,
    ),
    "alarms": ArchiveQuery(
        "what stands: of feeds, by the archive; of tables, by their own logs",
        f"""
        SELECT * FROM (
            SELECT site, "table", 'feed' AS of, kind AS alarm, reason AS text, position,
                raised_at AS at
            FROM property.feed_alarm WHERE cleared_at IS NULL
            UNION ALL
            SELECT site, "table", 'table', alarm, text, position, at FROM property.table_alarm
        ) AS standing WHERE {_within("at")} ORDER BY at DESC, site, "table"
        """,  # noqa: S608 - our own words
        _LIMITS,
    ),
    "coups": ArchiveQuery(
        "coups by card, result, dealer, patron and time, the newest first",
        """
        SELECT site, "table", coup, opened_at, settled_at, rulebook, winner, void, player, banker,
            player_total, banker_total, dealer, supervisor, patrons, revision
        FROM property.find_coups(%(card)s, %(result)s, %(dealer)s, %(patron)s, %(since)s,
            %(until)s, %(most)s, %(site)s, %(table_name)s, %(day)s)
        ORDER BY opened_at DESC, site, "table", position DESC
        """,
        (
            QueryOption("card", "card", "this card lay, such as 9D"),
            QueryOption("result", "result", "banker, player, tie or void"),
            QueryOption("dealer", "text", "this dealer dealt"),
            QueryOption("patron", "text", "this patron's wagers lay"),
            *_LIMITS,
            _MOST,
        ),
    ),
    "wagers": ArchiveQuery(
        "each wager's line as it was booked, the newest first, minor units; sign -1 takes back",
        """
        SELECT site, "table", at, coup, phase, revision, sign, rulebook, wager, seat, bet, patron,
            kind, result, stake, winnings, commission, paid
        FROM property.find_wagers(%(since)s, %(until)s, %(most)s, %(site)s, %(table_name)s, %(day)s)
        """,
        (*_LIMITS, _MOST),
    ),
    "commission": ArchiveQuery(
        "commission outstanding, by table and seat, minor units; limits are of its newest change",
        f"""
        SELECT site, "table", seat, accrued, reversed, outstanding, uncollected, at
        FROM property.commission WHERE outstanding <> 0 AND {_within("at")}
        ORDER BY site, "table", seat
        """,  # noqa: S608 - our own words
        _LIMITS,
    ),
    "win": ArchiveQuery(
        "handle, win, commission and theoretical win by table, business day and shift, minor units",
        f"""
        SELECT site, "table", day, shift, handle, win, commission, theoretical
        FROM property.win WHERE (%(day)s::date IS NULL OR day = %(day)s)
            AND day >= (%(since)s AT TIME ZONE 'UTC')::date
            AND day < %(until)s AT TIME ZONE 'UTC' AND {_OF_TABLE}
        ORDER BY day, shift, site, "table"
        """,  # noqa: S608 - our own words
        _LIMITS,
    ),
    "runs": ArchiveQuery(
        "the same cards in a row more than once, across shoes and tables; of 31 days unless since",
        """
        SELECT run, times, site, "table", shoe, coup, place
        FROM property.repeated_runs(%(cards)s, %(since)s, %(until)s, %(site)s, %(table_name)s,
            %(day)s)
        LIMIT %(rows)s
        """,
        (QueryOption("cards", "number", "so many cards in a row", 12), *_LIMITS),
        _RECENT_DAYS,
    ),
    "shuffles": ArchiveQuery(
        "shoes in the order of a shoe of another table, with the probability, the newest first",
        f"""
        SELECT site, "table", position, reason AS text, raised_at, cleared_at, cleared_by
        FROM property.feed_alarm WHERE kind = '{ORDER_ALARM}' AND {_within("raised_at")}
        ORDER BY raised_at DESC, site, "table" LIMIT %(rows)s
        """,  # noqa: S608 - our own words
        _LIMITS,
    ),
    "editions": ArchiveQuery(
        "the rulebooks and wire profiles that events cite by hash, the text of one with `hash`",
        """
        SELECT kind, name, hash, stored_at,
            CASE WHEN %(hash)s::text IS NOT NULL THEN convert_from(source, 'UTF8') END AS text
        FROM property.edition WHERE %(hash)s::text IS NULL OR hash = %(hash)s
        ORDER BY kind, name, stored_at, hash
        """,
        (QueryOption("hash", "text", "the edition of this SHA-256, with its file's text"),),
    ),
    "two-tables": ArchiveQuery(
        "the same patron reference at two tables at once; of the newest 31 days unless since",
        """
        SELECT patron, site, "table", coup, other_site, other_table, other_coup, since_at, until_at
        FROM property.two_tables(%(since)s, %(until)s, %(site)s, %(table_name)s, %(day)s)
        LIMIT %(rows)s
        """,
        _LIMITS,
        _RECENT_DAYS,
    ),
}
"""The queries by name, in display order."""


def is_unlimited(question: ArchiveQuery, given: Mapping[str, Any]) -> bool:
    """Return whether a question must be given a time from which on it is asked."""
    limits = (given.get("day"), given.get("since"), given.get("until"))
    return question.recent_days > 0 and limits == (None, _SINCE.default, _UNTIL.default)


def parse_parameters(
    question: ArchiveQuery, given: Mapping[str, str | None], *, every: bool = False
) -> dict[str, Any]:
    """Return the parameters of a query's SQL.

    Args:
        question: the query.
        given: option to its value as text; an absent or empty value does not filter.
        every: whether an answer has no most rows, unless some are given.

    Raises:
        InputError: a value is not of its kind, or an option does not exist.
    """
    unknown = sorted(set(given) - {option.name for option in question.options})
    if unknown:
        has = ", ".join(option.name for option in question.options)
        raise InputError(f"{unknown[0]}: this question has no such option; it has {has or 'none'}")
    found: dict[str, Any] = {"rows": None if every else _ROWS_MOST}
    for option in question.options:
        text = given.get(option.name)
        default = _EVERY if every and option is _MOST else option.default
        value: Any = _value(option, text) if text else default
        if option.kind == "table":
            found["site"], found["table_name"] = value or (None, None)
        else:
            found[option.name] = value
    return found


def _value(option: QueryOption, text: str) -> Any:
    try:
        return _READERS[option.kind](text)
    except (ValueError, InputError) as error:
        raise InputError(f"{option.name}: {text[:40]!r}: {error}") from error


def _card(text: str) -> str:
    return str(parse_card(text.upper()))


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError("no time; write it as 2026-11-27T21:40:07Z") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise InputError("no date; write it as 2026-11-27") from error


def _result(text: str) -> str:
    if text not in _RESULTS:
        raise InputError(f"there are {', '.join(_RESULTS)}")
    return text


def _number(text: str) -> int:
    number = whole_number(text, _ROWS_MOST)
    if not number:
        raise InputError(f"1 to {_ROWS_MOST:,}")
    return number


_READERS: Final[dict[_Kind, Callable[[str], Any]]] = {
    "card": _card,
    "date": _date,
    "number": _number,
    "result": _result,
    "table": split_origin,
    # In the archive's visible form: PostgreSQL refuses the NUL that a browser can send.
    "text": lambda text: escape_nul(text) if "\0" in text else text,
    "time": _time,
}
