"""Defects that a table must never have, each as a change of one place, and who catches it."""

from typing import Final, NamedTuple

from tests.tools.planted import cage, driver, table


class Defect(NamedTuple):
    """One wrong build.

    Args:
        name: what is wrong with it.
        path: the file.
        right: the text as it is, which is there exactly once.
        wrong: what stands there in the broken build.
        catcher: the name of what must catch it.
    """

    name: str
    path: str
    right: str
    wrong: str
    catcher: str


_WORLD: Final = ("-m", "baccarat", "sim", "world", "--coups", "25")
_PYTEST: Final = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist")

CATCHERS: Final[dict[str, tuple[str, ...]]] = {
    "world": (*_WORLD, "--seeds", "1..16", "--faults", "all"),
    # A world says that it broke as soon as it has; most of the mistakes need five seeds.
    "worlds": (*_WORLD, "--seeds", "0..90", "--faults", "all"),
    "world without faults": (*_WORLD, "--seeds", "1..8"),
    "world with full disks": (*_WORLD, "--seeds", "1..4", "--faults", "log_disk_full"),
    "world with failed commits": (*_WORLD, "--seeds", "1..4", "--faults", "log_sync_failed"),
    "world with cards too many": (*_WORLD, "--seeds", "1..6", "--faults", "overdraw_carried"),
    "world with lost messages": (*_WORLD, "--seeds", "1..12", "--faults", "bus_drop"),
    "world with bad lines": (*_WORLD, "--seeds", "1..6", "--faults", "missing_report,unplug"),
    "test_publishers": (*_PYTEST, "tests/unit/table_core/process/test_publishers.py"),
    "test_snapshot": (*_PYTEST, "tests/unit/table_core/fold/test_snapshot.py"),
    "test_roads": (*_PYTEST, "tests/unit/table_core/roads/test_columns.py"),
}
"""Name to Python's arguments; each passes on the build as it is."""
# What hardly matters while other faults make everybody read again.
_SELDOM: Final = {
    "watch for silence no more": "world with lost messages",
    "a log that must be opened again is not opened again": "world with failed commits",
}

DEFECTS: Final = (
    Defect(
        "a wrong cell of the draw table",
        "table_core/rules/draw.py",
        """\
    _row(_B, True, "banker_3_draws_unless_8", banker=_points("3"), third=_points("012345679")),
    _row(_B, False, "banker_3_stands_on_8", banker=_points("3"), third=_points("8")),
""",
        """\
    _row(_B, True, "banker_3_draws_unless_8", banker=_points("3"), third=_points("012345678")),
    _row(_B, False, "banker_3_stands_on_8", banker=_points("3"), third=_points("9")),
""",
        "world without faults",
    ),
    Defect(
        "acknowledgement before the append",
        "table_core/process/table_writer.py",
        """\
        yield from Append(self.state.position, pending, request, step="append")
        self.state = state
""",
        """\
        before, self.state = self.state.position, state
        yield from Append(before, pending, request, step="append")
""",
        "world with full disks",
    ),
    Defect(
        "a carried card that is lost",
        "table_core/decide/shoe_reports.py",
        "        _take_card(draft, CardPlace(report.hand, report.number), report.face, context)\n",
        "        return\n",
        "world with cards too many",
    ),
    Defect(
        "commission rounded the other way",
        "table_core/rules/commission_owed.py",
        "    rounding = rulebook.rounding.commission\n",
        "    rounding = rulebook.rounding.payout\n",
        "world without faults",
    ),
    Defect(
        "a cursor moved before its publish",
        "table_core/process/publishers.py",
        """\
                if self._types is None or stored.type in self._types:
                    yield from self._offer(stored)
                self.position = stored.position
""",
        """\
                self.position = stored.position
                if self._types is None or stored.type in self._types:
                    yield from self._offer(stored)
""",
        "test_publishers",
    ),
    Defect(
        "a card dropped because its face came before",
        "table_core/decide/shoe_reports.py",
        """\
    place = CardPlace(report.hand, report.number) if report.hand and report.number else None
    if _carried_card_due(draft):
""",
        """\
    place = CardPlace(report.hand, report.number) if report.hand and report.number else None
    if report.face and draft.state.coup and draft.coup.cards[-1:]:
        if draft.coup.cards[-1].card is report.face:
            return
    if _carried_card_due(draft):
""",
        "world without faults",
    ),
    Defect(
        "a stale snapshot that is believed",
        "table_core/service/snapshots.py",
        "        if state_hash(data) != books.state:\n",
        "        if not data:\n",
        "test_snapshot",
    ),
    Defect(
        "a settlement while misaligned",
        "table_core/state/coup.py",
        "    (Phase.MISALIGNED, _ENTERED): Phase.MISALIGNED,\n",
        "    (Phase.MISALIGNED, _ENTERED): Phase.DEALING,\n",
        "world with bad lines",
    ),
    Defect(
        "a revision applied twice",
        "cage/ledger/posting.py",
        "        postings=tuple(sorted(reversed_postings(before))),\n",
        "        postings=_merged((*reversed_postings(before), *reversed_postings(before))),\n",
        "world",
    ),
    Defect(
        "a derived road from the clipped grid",
        "table_core/roads/columns.py",
        "    heights = [column.ties.length for column in last]\n",
        "    heights = [min(column.ties.length, 6) for column in last]\n",
        "test_roads",
    ),
    *(
        Defect(*mistake, _SELDOM.get(mistake[0], "worlds"))
        for mistake in (*table.MISTAKES, *driver.MISTAKES, *cage.MISTAKES)
    ),
)
