"""`baccarat replay LOG`: the table at any moment, one coup step by step, and what-if."""

from collections.abc import Mapping
from pathlib import Path

import click
import msgspec
from msgspec.structs import asdict

from baccarat.cli import shown
from baccarat.cli.output_files import write_whole
from baccarat.cli.value_types import NAME
from baccarat.history.log_facts import missing_rulebook, parse_at, replay, state_at, view_of
from baccarat.pages.coup_page import coup_page
from baccarat.pages.narrative_text import list_text, state_text, story_text, what_if_text
from baccarat.rulebooks.editions import available_rulebooks_with_warnings
from displays.http.words import DEFAULT_LANGUAGE, LANGUAGES, load_words
from events.cards import Card
from events.errors import InputError
from events.log.reader import LogReader, reading
from events.money import Currency
from table_core.history.what_if import parse_change, what_if
from table_core.narrative.coup import CoupNarrative, narrate_coup
from table_core.projections.table_document import encode_state_view
from table_core.replay.commission_in_doubt import CommissionInDoubt
from table_core.replay.coup_events import CoupCollector, CoupList, CoupRecord
from table_core.rules.rulebook import Rulebook
from table_core.texts.calls import CoupCall, coup_calls
from table_core.texts.sentences import say

__all__ = ["replay_command"]


class _Told(CoupNarrative, frozen=True, kw_only=True):
    """A coup's narrative, and what the dealer called at each step."""

    calls: tuple[CoupCall, ...]


_IN_DOUBT = "an earlier build may have told the commission of these coups wrong; look at them"
_LISTED_MOST = 12  # coups listed in the error when the requested one does not exist


@click.command("replay")
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--coup", metavar="ID", type=NAME, help="One coup as a timeline, such as 20261127-01/31."
)
@click.option("--at", metavar="POSITION|TIME", help="The table as of a position or a time.")
@click.option("--what-if", "changes", multiple=True, metavar="POSITION=FACE",
              help="The same coup with another card at that position; repeatable.")  # fmt: skip
@click.option("--calls", is_flag=True, help="With --coup: also what the dealer calls.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the coup as a page that can be printed.")  # fmt: skip
@click.option("--language", type=click.Choice(list(LANGUAGES)), default=DEFAULT_LANGUAGE,
              show_default=True, help="Of the page that --html writes.")  # fmt: skip
@click.option("--rulebook", "files", multiple=True, metavar="FILE.toml",
              help="One that is neither beside LOG nor shipped; repeatable.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def replay_command(  # noqa: PLR0913, PLR0917 - an argument an option
    log: Path,
    coup: str | None,
    at: str | None,
    changes: tuple[str, ...],
    calls: bool,
    html: Path | None,
    language: str,
    files: tuple[str, ...],
    as_json: bool,
) -> None:
    """Read a table's LOG (table.sqlite) again: what happened, and why.

    Without an option: the list of its coups. The log stays as it is, and may be in use; every event
    is held against the hash chain on the way. What-if reckons beside the log and changes nothing.
    """
    asked = _changes(changes)
    if at is not None and (coup is not None or asked or html is not None):
        raise InputError("--at shows the table, and --coup, --what-if and --html a coup: not both")
    if html is not None and coup is None:
        raise InputError("--html prints one coup: name it with --coup ID")
    books = available_rulebooks_with_warnings(log, files).books
    with reading(log) as source:
        if at is not None:
            found = view_of(state_at(source, parse_at(at)), source, books)
            _print(encode_state_view(found) if as_json else state_text(found))
        elif coup is None and not asked:
            _list(source, books, as_json=as_json)
        else:
            record = _record(source, _coup_at(source, min(asked)) if coup is None else coup)
            _print_coup(record, source, books, asked, html, language, calls=calls, as_json=as_json)


def _print_coup(
    record: CoupRecord,
    source: LogReader,
    books: Mapping[str, Rulebook],
    asked: Mapping[int, Card],
    html: Path | None,
    language: str,
    *,
    calls: bool,
    as_json: bool,
) -> None:
    name, digest = record.coup.rulebook, record.coup.rulebook_hash
    book = books.get(digest)
    found = None
    if asked:
        if book is None:
            raise InputError(missing_rulebook(name, digest))
        found = what_if(record, asked, book)
    story = narrate_coup(record, origin=source.origin, rulebooks=books)
    if html is not None:
        write_whole(html, coup_page(story, found, language).encode(), "--html")
        shown.say(f"{html}: the page of coup {record.coup.id}", err=True)
    told = coup_calls(record)
    if as_json:
        _print(msgspec.json.encode(found or _Told(**asdict(story), calls=told)))
    elif found is not None:
        _print(what_if_text(found, story.money))
    elif html is None:
        said = {each.position: _said(each, story.money) for each in told if calls}
        _print(story_text(story, said))


def _said(step: CoupCall, currency: Currency) -> str:
    words = load_words(DEFAULT_LANGUAGE)
    return " ".join(say(call, words, currency) for call in step.calls)


def _list(source: LogReader, books: Mapping[str, Rulebook], *, as_json: bool) -> None:
    found, doubt, head = CoupList(), CommissionInDoubt(), ""
    for moment in replay(source):
        found.take(moment)
        doubt.take(moment.before.commission, moment.fact.event)
        head = moment.fact.digest
    if as_json:
        document = {
            "origin": source.origin,
            "events": source.end,
            "head": head,
            "coups": found.lines,
            "commission_in_doubt": doubt.coups,
        }
        _print(msgspec.json.encode(document))
    else:
        _print(list_text(found.lines, source.end, head, books))
        if doubt.coups:
            shown.say(f"{_IN_DOUBT}: {', '.join(doubt.coups)}", err=True)


def _record(source: LogReader, coup: str) -> CoupRecord:
    collector, coups = CoupCollector(coup), CoupList()
    for moment in replay(source):
        collector.take(moment)
        coups.take(moment)
    record = collector.record()
    if record is None:
        names = [line.coup for line in coups.lines]
        there = (
            ", ".join([*names[:_LISTED_MOST], *(["..."] if len(names) > _LISTED_MOST else [])])
            or "none"
        )
        raise InputError(
            f"--coup {coup!r}: no such coup in this log; there are {len(names)}: {there}"
        )
    return record


def _coup_at(source: LogReader, position: int) -> str:
    """Return the id of the coup that a position belongs to."""
    for moment in replay(source):
        if moment.fact.position == position:
            coup = moment.after.coup
            own = moment.fact.correlation or (coup.id if coup and moment.after.in_progress else "")
            if own:
                return own
            raise InputError(f"--what-if {position}: that position belongs to no coup")
    raise InputError(f"--what-if {position}: the log ends at position {source.end}")


def _changes(texts: tuple[str, ...]) -> dict[int, Card]:
    found: dict[int, Card] = {}
    for text in texts:
        position, card = parse_change(text)
        if position in found:
            raise InputError(f"--what-if {text}: position {position} is given twice")
        found[position] = card
    return found


def _print(text: str | bytes) -> None:
    click.echo(text)
