"""The printed report: what a supervisor finds on it; nothing typed becomes markup."""

import csv
import io
from collections.abc import Sequence
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from baccarat.pages.report_page import CSV_TABLES, Currencies, csv_rows, report_lines, report_page
from cage.reports.drop_and_hold import BoxLine, DenominationLine, FloatReport, MoveLine
from cage.reports.patrons import PatronReport
from cage.reports.summary import SummaryReport
from events.money import UNKNOWN_CURRENCY, Currency
from tests.support.currencies import DECIMALS, written

HOSTILE = "<script>alert(1)</script> \"quoted\" & 'more' {{ 7 * 7 }} </style><img src=x onerror=a>"
# Tags of the template; whatever else stands in a page was typed by somebody.
OURS = frozenset(
    ["html", "head", "meta", "title", "style", "body", "section", "header", "p", "h1", "h2", "h3",
     "dl", "dt", "dd", "div", "table", "thead", "tbody", "tr", "th", "td", "br", "span", "code",
     "footer"]
)  # fmt: skip

MOVE = MoveLine(
    move="fill", slip="F-101", reference="R-7", at="2026-11-27T21:40:07.123456789Z",
    amount=2_000_000, signed=("s-1", "d-4"),
)  # fmt: skip
FLOAT = FloatReport(
    table="harbour/b7",
    float_id="20261127-01",
    day="2026-11-27",
    currency="AUD",
    opened="2026-11-27T12:00:07.123456789Z",
    counted="2026-11-28T03:00:07.123456789Z",
    closed=True,
    opening=4_000_000,
    fills=2_000_000,
    credits=250_000,
    closing=5_015_000,
    movement=-735_000,
    won=465_000,
    drop_due=1_200_000,
    drop=1_190_000,
    win=455_000,
    difference=-10_000,
    hold=0.3824,
    opening_difference=None,
    repeated=(),
    denominations=(
        DenominationLine(denomination=2500, opening=400, fills=0, credits=100, closing=86),
    ),
    moves=(MOVE,),
    boxes=(BoxLine(box="B-7", at=MOVE.at, amount=1_190_000, signed=("c-2", "c-3")),),
)  # fmt: skip
REPORT = SummaryReport(
    table="harbour/b7",
    key="2026-11-27",
    coups=3,
    voids=1,
    first="2026-11-27T13:00:07.123456789Z",
    last="2026-11-28T02:10:07.123456789Z",
    hands_per_hour=61.5,
    handle=1_060_000,
    win=460_000,
    commission=5_000,
    house=465_000,
    theoretical=14_227,
    accrued=5_000,
    reversed_=0,
    collected=5_000,
    outstanding=0,
    uncollected=0,
    recovered=0,
    corrections=0,
    rulebooks=("au-commission",),
    patrons=(
        PatronReport(patron="p-17", seat=0, coups=3, turnover=700_000, average=233_333,
                     minutes=125, win=100_000, theoretical=8_468),
        PatronReport(patron="", seat=7, coups=1, turnover=10_000, average=10_000,
                     minutes=13, win=10_000, theoretical=None),
    ),
    floats=(FLOAT,),
)  # fmt: skip


class _Page(HTMLParser):
    """A page as a browser sees it: its tags, its attributes, its texts."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags, self.attributes = set[str](), set[str]()
        self.texts: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(" ".join(data.split()))

    def after(self, text: str, count: int = 2) -> list[str]:
        """What stands behind a text."""
        at = self.texts.index(text)
        return self.texts[at + 1 : at + 1 + count]


AUD = Currency("AUD", 2)


def page_of(*reports: SummaryReport, by: str = "day", currency: Currency = AUD) -> _Page:
    return _Page(report_page(reports, by, _currencies(reports, currency)))


def lines_of(report: SummaryReport) -> str:
    return "\n".join(report_lines(report, "day"))


def _currencies(reports: Sequence[SummaryReport], currency: Currency) -> Currencies:
    floats = {("harbour/b7", FLOAT.float_id, FLOAT.currency): AUD}
    return floats | {(each.table, each.key, each.currency): currency for each in reports}


def test_the_page_says_what_the_day_came_to() -> None:
    page = page_of(REPORT)
    assert page.tags <= OURS
    assert "Business day 2026-11-27" in page.texts
    assert page.after("Handle", 1) == ["10,600.00"]
    assert page.after("Win and commission", 1) == ["4,650.00"]
    assert page.after("Theoretical, by exact odds", 1) == ["142.27"]
    assert page.after("Movement of the tray") == [
        "closing + credits - opening - fills",
        "-7,350.00",
    ]
    assert page.after("Difference") == ["win by the count - won by the wagers", "-100.00"]
    assert page.after("Hold") == ["win by the count / drop", "38.24 %"]
    assert page.after("p-17", 6) == ["3", "2:05", "7,000.00", "2,333.33", "1,000.00", "84.68"]
    assert page.after("seat 7", 6)[-1] == "unknown"
    assert any("The house won 4,650.00 AUD, commission counted" in text for text in page.texts)
    assert any("100.00 less than the 12,000.00" in text for text in page.texts)


def test_nothing_typed_becomes_markup() -> None:
    typed = replace(
        REPORT,
        floats=(
            replace(
                FLOAT,
                moves=(replace(MOVE, slip=HOSTILE, reference=HOSTILE, signed=(HOSTILE,),
                               was=1, reason=HOSTILE),),
                boxes=(replace(FLOAT.boxes[0], box=HOSTILE, was=1, reason=HOSTILE),),
                repeated=(HOSTILE,),
            ),
        ),
        patrons=(replace(REPORT.patrons[0], patron=HOSTILE),),
    )  # fmt: skip
    page = page_of(typed)
    assert page.tags <= OURS
    assert page.attributes <= {"lang", "charset", "name", "content", "class"}
    assert "49" not in page.texts
    assert sum("{{ 7 * 7 }}" in text for text in page.texts) >= 6


def test_what_is_not_known_is_not_nothing() -> None:
    changed = {"closing": None, "counted": "", "movement": None, "hold": None, "closed": False}
    page = page_of(replace(REPORT, floats=(replace(FLOAT, **changed),)))
    for name in ("Last count", "Movement of the tray", "Hold"):
        assert page.after(name)[1] == "unknown"


def test_a_report_in_any_currency_has_its_decimals() -> None:
    for code, decimals in DECIMALS.items():
        money = Currency(code, decimals)
        names = ((REPORT.key, REPORT.currency), (FLOAT.float_id, FLOAT.currency))
        currencies = {("harbour/b7", *name): money for name in names}
        page = report_page([REPORT], "day", currencies)
        for minor in (REPORT.handle, FLOAT.closing or 0):
            assert f">{written(minor, decimals)}<" in page, code
        assert code in page


def test_each_report_begins_a_sheet_and_nothing_is_said_to_be_nothing() -> None:
    two = report_page([REPORT, replace(REPORT, key="2026-11-28")], "day", {
        ("harbour/b7", "2026-11-27", ""): AUD, ("harbour/b7", "2026-11-28", ""): Currency("JPY", 0),
        ("harbour/b7", FLOAT.float_id, FLOAT.currency): AUD,
    })  # fmt: skip
    assert two.count("<section>") == 2
    assert "break-before: page" in two
    assert "1,060,000" in two  # yen have no hundredths
    assert "There is nothing to report." in report_page([], "day", {})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"closed": False}, "The float is still open"),
        ({"drop": None, "win": None, "difference": None}, "No drop box was counted yet"),
        ({"difference": 500}, "5.00 more than the 12,000.00"),
        ({"opening_difference": -15_000}, "150.00 less than the float before it"),
        ({"opening_difference": 15_000}, "150.00 more than the float before it"),
        ({"repeated": ("fill F-101",)}, "another float has as well: fill F-101"),
    ],
)
def test_what_somebody_must_look_at_is_said(changes: dict[str, object], said: str) -> None:
    page = page_of(replace(REPORT, floats=(replace(FLOAT, **changes),)))
    assert any(said in text for text in page.texts)
    assert not any(said in text for text in page_of(replace(REPORT, floats=())).texts)


def test_a_shoe_has_no_inventory_and_a_loss_is_a_loss() -> None:
    shoe = replace(REPORT, key="20261127-01", floats=(), house=-500, theoretical=None)
    page = page_of(shoe, by="shoe", currency=UNKNOWN_CURRENCY)
    assert "Shoe 20261127-01" in page.texts
    assert not any("Chip inventory" in text or "No float" in text for text in page.texts)
    assert any("The house lost 5.00, commission counted" in text for text in page.texts)
    assert any("a rulebook's odds are missing" in text for text in page.texts)
    assert any("hundredths as units" in text for text in page.texts)
    nothing = page_of(replace(shoe, coups=0, patrons=()), by="shoe")
    assert "No coup was settled." in nothing.texts


def test_the_lines_for_a_terminal_hold_every_figure() -> None:
    told = lines_of(REPORT)
    amounts = ("1,060,000", "14,227", "-735,000", "1,200,000", "233,333")
    words = ("3 coups, 1 void", "61.5 hands an hour", "float 20261127-01", "38.24 %", "p-17")
    for said in (*amounts, *words, "seat 7"):
        assert said in told
    again = replace(
        REPORT, floats=(replace(FLOAT, closed=False, hold=None, repeated=("fill F-1",)),)
    )
    told = lines_of(again)
    assert "open, as of its last count" in told
    assert "used more than once: fill F-1" in told


@pytest.mark.parametrize(("what", "rows"), [*zip(CSV_TABLES, (1, 2, 1), strict=True)])
def test_a_spreadsheet_has_a_line_for_each(what: str, rows: int) -> None:
    head, found = csv_rows([REPORT], what)
    out = io.StringIO()
    writer = csv.DictWriter(out, head)
    writer.writeheader()
    writer.writerows(found)
    back = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert len(back) == rows
    assert back[0]["table"] == "harbour/b7"
    wanted = {"totals": ("handle", "1060000"), "patrons": ("turnover", "700000")}
    name, value = wanted.get(what, ("difference", "-10000"))
    assert back[0][name] == value
    if what == "floats":
        assert (back[0]["closed"], back[0]["opening_difference"]) == ("true", "")
    if what == "patrons":
        assert (back[1]["key"], back[1]["theoretical"]) == ("2026-11-27", "")
