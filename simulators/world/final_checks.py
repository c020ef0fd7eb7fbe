"""Final checks of a world at rest: ledger, floats, journals and replay must agree with the log."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from events.types import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import RecordKind, RecordReader
from shoe_driver.link.states import LinkState
from shoe_driver.profiles.profile import Profile
from simulators.world.auditor.audited_coup import Violation, require
from simulators.world.parts.journal_disk import JournalDisk
from simulators.world.parts.ledger import WorldLedger
from simulators.world.people.float_keeper import FloatKeeper
from table_core.fold.snapshot import encode_state
from table_core.state.table import TableState

__all__ = ["check_floats", "check_journals", "check_ledger", "check_notes", "check_replay"]

_CHIPS: Final = frozenset({"seat", "collected", "recovered"})
"""The ledger's accounts of chips received from and given to patrons."""
_ENDS: Final = frozenset({RecordKind.CLOSE, RecordKind.START})
_SPEAKING: Final = frozenset({LinkState.OPEN, LinkState.UP})
_WATCHED_US: Final = 1_000_000
"""How late a silence may be noticed."""


def check_ledger(ledger: WorldLedger, purses: Mapping[int, int]) -> None:
    """Check that every entry balances, and that each seat's chips agree with the ledger.

    Args:
        ledger: the cage's.
        purses: the auditor's chips by seat.

    Raises:
        Violation: they do not.
    """
    seats: Counter[int] = Counter()
    for entry in ledger.entries.values():
        amount = sum(posting.amount for posting in entry.postings)
        if amount:
            raise Violation(f"entry {entry.ref} does not balance: {amount}")
        for posting in entry.postings:
            if posting.account in _CHIPS:
                seats[posting.seat] -= posting.amount
    for seat in sorted({*seats, *purses}):
        booked, chips = seats[seat], purses.get(seat, 0)
        if booked != chips:
            raise Violation(f"seat {seat} has {booked} by the ledger and {chips} in chips")


def check_floats(ledger: WorldLedger, keeper: FloatKeeper) -> None:
    """Check that the cage's floats agree with the chips carried, each box counted once.

    Raises:
        Violation: they do not.
    """
    accounts: Counter[str] = Counter()
    for entry in ledger.entries.values():
        for posting in entry.postings:
            accounts[posting.account] += posting.amount
    booked, carried = (-accounts["cage"], accounts["drop"]), (keeper.given, keeper.dropped)
    if booked != carried:
        raise Violation(f"chips and notes {booked} by the ledger, and {carried} were carried")


def check_journals(
    disk: JournalDisk,
    profile: Profile,
    logged: Mapping[str, Sequence[ShoeEvent]],
    still_us: int = 0,
) -> None:
    """Check that the log's reports are exactly those of the journals' bytes.

    A journal has each end of a link before the next one is opened, and each long silence in time.

    Args:
        disk: where the journals are.
        profile: by which they were decoded.
        logged: the reports in the log, by journal.
        still_us: how long a driver may have stood still, and noticed nothing.

    Raises:
        Violation: they are not.
    """
    for journal in disk.journals:
        decoder = Decoder(profile, journal)
        events, open_us = list[ShoeEvent](), None
        for record in RecordReader().feed(disk.content(journal)):
            if record.kind in _ENDS:
                open_us = None
            elif record.kind is RecordKind.OPEN:
                require(open_us is None, f"{journal}: a link is opened, and the last has no end")
                open_us = record.mono_us
            elif open_us is not None and record.kind is RecordKind.DATA:
                silent_us = record.mono_us - max(open_us, decoder.heard_us or 0)
                missed = decoder.device_should_send and decoder.link in _SPEAKING
                late = silent_us > profile.limits.silence_ms * 1_000 + _WATCHED_US + still_us
                require(not (missed and late), f"{journal}: silent for {silent_us} us, unnoticed")
            events += decoder.feed(record)
        told = list(logged.get(journal, ()))
        if events != told:
            said = f"{len(told)} in the log, {len(events)} in the journal"
            raise Violation(f"the reports of {journal} are not what its bytes say: {said}")


def check_notes(acked: Mapping[str, int], logged: Mapping[str, Sequence[ShoeEvent]]) -> None:
    """Check that the driver has noted as acknowledged only what the log has.

    Raises:
        Violation: it has noted more.
    """
    for journal, seq in acked.items():
        there = len(logged.get(journal, ()))
        require(seq <= there, f"{journal}/{seq} is noted as acknowledged, and the log has {there}")


def check_replay(replayed: TableState, live: TableState) -> None:
    """Check that the log, folded from its first event, results in the live state.

    Raises:
        Violation: it does not.
    """
    if encode_state(live) != encode_state(replayed):
        raise Violation("the log replays to another state than is live")
