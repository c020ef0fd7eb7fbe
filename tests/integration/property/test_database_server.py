"""A PostgreSQL server that cannot hold every text, or takes no writes, is refused at the start."""

from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from benchmarks.instruments.postgres import Postgres
from cage.ledger.database import create_ledger_engine, parse_ledger_url
from cage.ledger.store import LedgerStore
from events.errors import ArchiveError, LedgerError, TableError
from property.archive.database import connect_archive, migrate

ROLE = "teller"


def open_a_ledger(url: str) -> None:
    with closing(LedgerStore.open(parse_ledger_url(url), "north/7")):
        pass


OPENS = pytest.mark.parametrize(
    ("opens", "error"),
    [(open_a_ledger, LedgerError), (migrate, ArchiveError)],
    ids=["ledger", "archive"],
)


def told(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for each in statements:
            connection.execute(each.encode())


def as_role(url: str) -> str:
    return url.replace("://postgres@", f"://{ROLE}@")


@OPENS
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_is_not_utf_8_is_said_in_one_line(
    postgres: Postgres, opens: Callable[[str], None], error: type[TableError], encoding: str
) -> None:
    with pytest.raises(error, match=f"its encoding is {encoding}.*ENCODING 'UTF8'") as said:
        opens(postgres.database(encoding))
    assert "\n" not in str(said.value)


@OPENS
@pytest.mark.parametrize(
    ("statements", "match"),
    [
        (("ALTER DATABASE {} SET default_transaction_read_only = on",), "transactions are read"),
        (("UPDATE pg_database SET datcollversion = '0' WHERE datname = '{}'",), "collation"),
    ],
    ids=["read only", "collation"],
)
def test_a_server_that_would_fail_later_is_refused_now(
    postgres: Postgres,
    opens: Callable[[str], None],
    error: type[TableError],
    statements: tuple[str, ...],
    match: str,
) -> None:
    url = postgres.database()
    name = url.rpartition("?")[0].rpartition("/")[2]
    told(url, *(each.format(name) for each in statements))
    with pytest.raises(error, match=match):
        opens(url)


@OPENS
def test_a_login_that_may_make_no_tables_is_told_what_to_grant(
    postgres: Postgres, opens: Callable[[str], None], error: type[TableError]
) -> None:
    url = postgres.database()
    told(url, f"DROP ROLE IF EXISTS {ROLE}", f"CREATE ROLE {ROLE} LOGIN")
    with pytest.raises(error, match=f"{ROLE} may make no tables in it; GRANT CREATE ON"):
        opens(as_role(url))


async def test_a_session_speaks_utf_8_and_utc_whatever_the_login_says(postgres: Postgres) -> None:
    url = postgres.database()
    said = ("LATIN1", "Australia/Sydney")
    told(
        url,
        "CREATE ROLE clerk LOGIN SUPERUSER",
        f"ALTER ROLE clerk SET client_encoding = '{said[0]}'",
        f"ALTER ROLE clerk SET timezone = '{said[1]}'",
    )
    url = url.replace("://postgres@", "://clerk@")
    engine = create_ledger_engine(parse_ledger_url(url), create=False)
    asked = ("SHOW client_encoding", "SHOW timezone")
    with engine.connect() as ledger:
        of_ledger = [ledger.exec_driver_sql(each).scalar_one() for each in asked]
    async with await connect_archive(url) as archive:
        of_archive = [
            (await (await archive.execute(each)).fetchone() or ("",))[0] for each in asked
        ]
    with psycopg.connect(url) as plain:
        assert [plain.execute(each).fetchone() for each in asked] == [(each,) for each in said]
    assert of_ledger == of_archive == ["UTF8", "UTC"]
