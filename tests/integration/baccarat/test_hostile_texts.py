"""Texts that harm: refused at the door, or booked and shown harmless wherever an old log goes."""

import csv
import json
import re
from collections.abc import Mapping
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Final

import msgspec
import pytest
from rich.table import Table

from baccarat.cli.shown import add_shown_row
from baccarat.cli.whole_table import print_whole
from baccarat.contract.samples import samples
from baccarat.contract.schemas import definitions
from baccarat.services.registry import configure_logging
from baccarat.site.metrics import TableHealth
from benchmarks.instruments.postgres import Postgres
from events.commands.registry import COMMANDS
from events.commands.text_lengths import COMMAND_LENGTHS
from events.errors import InputError
from events.free_text import (
    FORBIDDEN_CHARACTERS,
    find_forbidden,
    may_hold_forbidden,
    show_text,
)
from events.log.verify import verify
from events.mqtt.topics import Topics
from events.structured_log import structlog
from table_core.process.table_writer import parse_command
from tests.support.cage.ledgers import agrees, book_log, messages_of
from tests.support.clock import FakeClock
from tests.support.machine.commands import here, said
from tests.support.property.logs import archived, carried_in, into_archive
from tests.support.property.site import PropertySite
from tests.support.table.hostile import ACCEPTED, REFUSED, places, spoilt_body, write_hostile_log

KINDS: Final = {
    "nothing": "",
    "formulas": "=1+1",
    "refused": "".join(more for what, more in REFUSED.items() if what != "huge"),
    "accepted": "".join(ACCEPTED.values()),
    "huge": REFUSED["huge"],
}
QUERIES: Final = ("alarms", "coups", "commission", "runs", "tables", "two-tables", "win")
_HARMFUL: Final = re.compile(f"[{FORBIDDEN_CHARACTERS}]")
_COUPS: Final = tuple(f"20261127-01/{number}" for number in (1, 2, 4))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A log for each kind of text."""
    folder = tmp_path_factory.mktemp("hostile")
    made = {kind: folder / str(at) / "table.sqlite" for at, kind in enumerate(KINDS)}
    for kind, path in made.items():
        write_hostile_log(path, f"site/{kind}", KINDS[kind])
        book_log(str(path.with_name("cage.sqlite")), path)
    return made


def test_a_command_with_such_a_text_in_any_field_is_refused_or_harmless() -> None:
    tried = 0
    bodies = samples(definitions())
    for name, kind in COMMANDS.items():
        for what, more in {**REFUSED, **ACCEPTED}.items():
            if what == "huge":  # as is a little too long, a thousand times slower
                continue
            for path in places(bodies[f"request.{name}"][0]):
                body = spoilt_body(bodies[f"request.{name}"][0], path, more)
                document = json.dumps(body).encode()
                command = parse_command(name, document)
                if isinstance(command, kind):
                    tried += 1
                    found = any(find_forbidden(command, lengths=COMMAND_LENGTHS))
                    assert found == (what in REFUSED), (name, what, body)
                    assert may_hold_forbidden(document.decode()) or not found
    assert tried > 1000


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_log_with_such_texts_is_booked_to_the_unit(
    kind: str, logs: Mapping[str, Path]
) -> None:
    log = logs[kind]
    verdict = verify(log)
    assert verdict.ok, verdict
    found = agrees(str(log.with_name("cage.sqlite")), log)
    assert (found.settlements, found.unbooked) == (3, 0)


def test_postgresql_books_archives_and_shows_all_of_them(
    logs: Mapping[str, Path], postgres: Postgres, tmp_path: Path
) -> None:
    ledger, archive = postgres.database(), postgres.database()
    for log in logs.values():
        book_log(ledger, log)
    for log in logs.values():
        agrees(ledger, log)
    into_archive(archive, *logs.values())
    for kind, log in logs.items():
        head, rows = archived(archive, f"site/{kind}")
        assert [row.stored for row in rows] == [each.stored for each in carried_in(log)]
        assert head.position == len(rows)
    site = PropertySite(tmp_path, archive)
    for name in QUERIES:
        shown = site.ask("query", name)
        assert shown.code == 0, shown.err
        assert not _HARMFUL.search(shown.out.replace("\n", "")), name
        assert shown.out.count("\n") < 200, name


@cache
def texts_of(log: Path) -> dict[str, str]:
    """What each command prints that tells a person of a log or its ledger."""
    ledger, found = log.with_name("cage.sqlite"), {}
    for words in (
        ("replay", log),
        *(("replay", log, "--coup", coup) for coup in _COUPS),
        *(("replay", log, "--at", position) for position in (12, 50)),
        ("log", "stats", log),
        ("log", "show", log),
        ("log", "export", log),
        ("cage", "report", "--ledger", ledger, "--by", "day"),
        ("cage", "balance", "--ledger", ledger),
        ("cage", "statement", "--ledger", ledger),
    ):
        found[" ".join(str(word) for word in words if word not in {log, ledger})] = said(
            here(*words)
        )
    # The day was written without a shoe: what it dealt has no report, and the judge says so.
    found["log verify"] = here("log", "verify", log).out
    found["cage reconcile"] = here("cage", "reconcile", log, "--ledger", ledger).out
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_draws_on_a_terminal(kind: str, logs: Mapping[str, Path]) -> None:
    """Each output has as many lines as that of the same day with no such text in it."""
    for (what, right), shown in zip(
        texts_of(logs["nothing"]).items(), texts_of(logs[kind]).values(), strict=True
    ):
        assert shown.count("\n") == right.count("\n"), what
        assert not _HARMFUL.search(shown.replace("\n", "")), what


@pytest.mark.parametrize("kind", KINDS)
def test_pages_and_tables_hold_no_control_no_markup_and_no_formula(
    kind: str, logs: Mapping[str, Path], tmp_path: Path
) -> None:
    log = logs[kind]
    ledger, pages = log.with_name("cage.sqlite"), (tmp_path / "a.html", tmp_path / "b.html")
    assert here("replay", log, "--coup", _COUPS[-1], "--html", pages[0]).code == 0
    said(here("cage", "report", "--ledger", ledger, "--by", "day", "--html", pages[1]))
    for page in pages:
        text = page.read_text("utf-8")
        assert not _HARMFUL.search(text.replace("\n", ""))
        assert "<script" not in text
    report = ("report", "--by", "day", "--csv")
    csv.field_size_limit(2**24)
    for words in (("export", "--csv"), (*report, "patrons")):
        table, right = (
            list(csv.reader(StringIO(said(here("cage", *words, "--ledger", each)))))
            for each in (ledger, logs["nothing"].with_name("cage.sqlite"))
        )
        assert [len(row) for row in table] == [len(row) for row in right]
        for cell in (cell for row in table for cell in row):
            assert not _HARMFUL.search(cell)
            assert not re.match(r"[=+@]|-(?!\d)", cell), cell


@pytest.mark.parametrize("kind", KINDS)
def test_json_keeps_such_a_text_to_the_letter(kind: str, logs: Mapping[str, Path]) -> None:
    log, more = logs[kind], KINDS[kind]
    story = json.loads(said(here("replay", log, "--coup", _COUPS[-1], "--json")))
    assert story["reason"] == f"{more}a patron fell ill{more}"
    rows = said(here("cage", "export", "--json", "--ledger", log.with_name("cage.sqlite")))
    # On the bus a message is one line of ASCII controls less, whoever prints it as it comes.
    assert not any(re.search(rb"[\x00-\x1f]", body) for body in messages_of(log).values())
    patrons = {json.loads(row)["patron"] for row in rows.rstrip("\n").split("\n")} - {""}
    assert patrons == {f"{more}{patron}{more}" for patron in ("p-4", "p-17")}


@pytest.mark.parametrize("kind", KINDS)
def test_error_lines_log_lines_tables_and_labels_are_lines(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"a{KINDS[kind][:200]}b"
    for words in (("log", "show", text), ("config", "check", text), ("evidence", text)):
        if "\0" not in text:
            assert not _HARMFUL.search(here(*words).err.replace("\n", ""))
    table = Table("what")
    add_shown_row(table, text)
    print_whole(table)
    shown = capsys.readouterr().out
    assert not _HARMFUL.search(shown.replace("\n", ""))
    logs = structlog.get_config()
    configure_logging("test")
    try:
        structlog.get_logger().info("table.said", text=text)
    finally:
        structlog.configure(**logs)  # the next test has another stderr
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["text"] == text
    assert not _HARMFUL.search(line)
    health = TableHealth("t1", {}, FakeClock())
    acked = {"name": text, "waiting_s": 0, "position": 0}
    health.on_state(msgspec.json.encode({"alarms": [{"name": text}], "consumers": [acked]}))
    samples = [sample for family in health.metrics() for sample in family.samples]
    labels = [each for sample in samples for each in sample.labels.values()]
    assert show_text(text) in labels
    assert not any(map(_HARMFUL.search, labels))
    if not text.isalnum() or not text.isascii():
        with pytest.raises(InputError):
            Topics("site", text).validate()
