"""No two documents contradict one another: what stands in two is compared with the product."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from typing import Any, Final

import click
import pytest

from baccarat.cli import main
from baccarat.cli.config.broker import broker
from baccarat.cli.main import cli
from baccarat.cli.property.hub import streams
from baccarat.config.form import TABLE
from baccarat.config.property_form import PROPERTY
from displays.auth.login_policy import LOCKED_SECONDS
from displays.live import SILENCE_SECONDS
from events.log.vouching import SIGNING_INTERVAL_S
from events.mqtt.presence import CLOCK_DIFFERENCE_SECONDS, STALE_SECONDS
from property.archive.partition_consumer import _GAP_MOST_S
from shoe_driver.profiles.catalogue import profile_names
from simulators.faults.registry import FAULTS
from table_core.process.consumer_health import ACK_OVERDUE_S, CONSUMERS_MOST
from table_core.process.table_process import RESULT_OVERDUE_S
from table_core.projections.wager_pages import WAGERS_IN_STATE
from table_core.rulebooks.shipped import shipped_ids
from tests.house import contradictions
from tests.house.sources import ROOT, sources, texts

# A benchmark's figures, and those of the changes and decisions of an earlier day, are their own.
MEASURED: Final = ("benchmarks/README.md", "docs/property/sizing.md")
DOCUMENTS: Final = {
    path: text
    for path, text in texts().items()
    if path.endswith(".md") and path != "CHANGELOG.md" and not path.startswith("docs/develop/adr/0")
}
FOLDERS: Final = tuple(
    f"docs/{name}"
    for name in ("integrate", "money", "reference", "security", "property", "develop")
)
_OTHERS: Final = {f"limits.{key}" for key in ("partial_ms", "silence_ms", "data_bytes", "js")}
SUFFIXES: Final = {"_MS": 0.001, "_US": 0.000_001, "_NS": 0.000_000_001, "_DAYS": 86_400}


def _options() -> dict[str, set[str]]:
    found = {"": {"--help", "--version"}}
    waiting: list[tuple[str, click.Command]] = [("", cli)]
    while waiting:
        name, command = waiting.pop()
        context = click.Context(command)
        if name:
            found[name] = {each for param in command.params for each in param.opts}
        if isinstance(command, click.Group):
            for each in command.list_commands(context):
                inner = command.get_command(context, each)
                assert inner is not None
                waiting.append((f"{name} {each}".strip(), inner))
    return found


def _constants() -> Iterator[float]:
    """The numbers that the product's modules define, durations in seconds."""
    for source in sources():
        if source.is_product and ".migrations" not in source.module and source.room != "simulators":
            for name, value in vars(import_module(source.module)).items():
                if isinstance(value, int | float | Fraction) and name.isupper():
                    yield float(value) * next(
                        (SUFFIXES[e] for e in SUFFIXES if name.endswith(e)), 1
                    )
    yield from (
        day * 86_400 for day in (14, 30, 31, 397)
    )  # streams, backups, retention, certificates
    yield 30 * 60  # displays.idle_minutes
    yield 0.04  # of the kernel: a small packet waits for an acknowledgement
    yield 2 * 1024**3  # of the alert rule BaccaratDiskLow


def test_every_option_in_a_document_is_one_of_its_command() -> None:
    assert list(contradictions.unknown_options(DOCUMENTS, _options())) == []


def test_every_key_of_the_configuration_in_a_document_exists() -> None:
    keys = {*TABLE.keys, *TABLE.sections, *PROPERTY.keys, *PROPERTY.sections}
    # Files and lines of a service's log have a dot as well, and a profile has limits of its own.
    found = [each.split("`")[1] for each in contradictions.unknown_keys(DOCUMENTS, keys)]
    code = "".join(source.text for source in sources())
    assert [each for each in found if f'"{each}"' not in code and each not in _OTHERS] == []


def test_a_figure_in_two_documents_is_a_constant_of_the_product() -> None:
    found = contradictions.repeated_figures(DOCUMENTS, {*_constants()}, MEASURED)
    assert list(found) == []


def test_every_link_to_a_heading_finds_it() -> None:
    assert list(contradictions.lost_anchors(DOCUMENTS, FOLDERS)) == []


WORDS: Final = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
BROKER: Final[dict[str | None, Any]] = {each.name: each.default for each in broker.params}
STREAMS: Final[dict[str | None, Any]] = {each.name: each.default for each in streams.params}
# Wherever these words stand in a document, the number in them is this one.
FACTS: Final[tuple[tuple[str, float], ...]] = (
    (r"(\w+) faults by name", len(FAULTS)),
    (r"(\w+) (?:wire )?profiles ship", len(profile_names())),
    (r"(\d|seven) rulebooks(?: \||, two processes)", len(shipped_ids())),
    (r"owe[sd]? (?:an|the) acknowledgement (?:of a settlement )?for (\d+) s", ACK_OVERDUE_S),
    (r"[Aa] table has at most (\d+) consumers", CONSUMERS_MOST),
    (r"[Mm]ore than (\d+) wagers", WAGERS_IN_STATE),
    (r"result (?:comes|from the shoe) (?:within|for) (\d+) s", RESULT_OVERDUE_S),
    (r"Where none comes within (\d+) s", RESULT_OVERDUE_S),
    (r"older than (\d+) s,? it is not believed", STALE_SECONDS),
    (r"differ by more than (\w+) s", CLOCK_DIFFERENCE_SECONDS),
    (r"A screen allows ([\d.]+) s", SILENCE_SECONDS),
    (r"heartbeat is not older than ([\d.]+) s", SILENCE_SECONDS),
    (r"TLS on port (\d+)", BROKER["port"]),
    (r"(?:login and rights:|secure websockets on) port (\d+)", BROKER["websockets"]),
    (r"the hub keeps(?: it)? \(?(\w+) days", STREAMS["days"]),
    (r"lock a name for (\w+) minutes", LOCKED_SECONDS / 60),
    (r"more than (\w+) minutes of (?:unsigned )?settlements", SIGNING_INTERVAL_S / 60),
    (r"leaves up to (\w+) minutes of them", SIGNING_INTERVAL_S / 60),
    (r"after pauses of up to (\w+) minutes", _GAP_MOST_S / 60),
    (r"[Tt]ell the verifier with (\w+) options", 3),
)


@pytest.mark.parametrize(("pattern", "value"), FACTS, ids=[pattern for pattern, _ in FACTS])
def test_a_fact_that_several_documents_tell_is_told_alike(pattern: str, value: float) -> None:
    for path, text in DOCUMENTS.items():
        for said in re.findall(pattern, " ".join(text.split())):
            assert str(WORDS.get(said.lower(), said)) in (str(value), f"{value:g}"), path


def test_the_verifier_has_the_options_of_the_page() -> None:
    page = DOCUMENTS["docs/reference/log-format.md"].partition("three options")[2]
    rows = re.findall(r"^\| `(--\w+)", page.partition("\n### ")[0], re.MULTILINE)
    assert rows == ["--checkpoint", "--key", "--witness"]
    assert {*rows} <= _options()["log verify"]


EXIT_CODES: Final = {getattr(main, name) for name in main.__all__ if name.startswith("EXIT_")}


def test_an_exit_code_in_a_document_is_one_of_the_product() -> None:
    home = DOCUMENTS["docs/reference/command-line.md"].partition("## Commands")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", home, re.MULTILINE)} == EXIT_CODES
    for path, text in DOCUMENTS.items():
        for code in re.findall(r"[Ee]xit(?:s with)? code (\d+)|exits with (\d+)\b", text):
            assert int(code[0] or code[1]) in EXIT_CODES, path


def test_the_index_of_decisions_has_every_decision_with_its_status() -> None:
    folder = ROOT / "docs/develop/adr"
    index = (folder / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"\]\((\d{4}-[\w-]+\.md)\) \| (.+) \|$", index, re.MULTILINE))
    pages = sorted(path.name for path in folder.glob("0*.md"))
    assert sorted(rows) == pages
    numbers = {int(name[:4]) for name in pages}
    missing = {*range(1, max(numbers) + 1)} - numbers
    said = re.search(r"There is no decision (.*?)\.", index)
    assert said is not None
    named = {int(number) for number in re.findall(r"\d+", said[1])}
    assert (missing - named, named & numbers) == (set(), set())


BAD: Final[tuple[tuple[Callable[..., Any], tuple[Any, ...], list[str]], ...]] = (
    (
        contradictions.unknown_options,
        ({"a.md": "`baccarat log verify --kee x`"}, {"": {"--help"}, "log verify": {"--key"}}),
        ["a.md:1: `baccarat log verify` has no --kee"],
    ),
    (
        contradictions.unknown_keys,
        ({"a.md": "`shoe.urll` `shoe.url`"}, {"shoe", "shoe.url", "table"}),
        ["a.md:1: the configuration has no `shoe.urll`"],
    ),
    (
        contradictions.repeated_figures,
        ({"a.md": "wait 61 s", "b.md": "61 seconds", "c.md": "7 s"}, {60.0}, ()),
        ["a.md and b.md: 61 s is no constant of the product"],
    ),
    (
        contradictions.lost_anchors,
        ({"d/a.md": "# One thing\n[x](#one-thing) [y](b.md#two)", "d/b.md": "# 2"}, ("d",)),
        ["d/a.md:1: b.md#two is no heading"],
    ),
)


@pytest.mark.parametrize(
    ("rule", "given", "complaints"), BAD, ids=[each[0].__name__ for each in BAD]
)
def test_each_search_finds(
    rule: Callable[..., Any], given: tuple[Any, ...], complaints: list[str]
) -> None:
    assert list(rule(*given)) == complaints
