"""The thread of a journal's disk: the loop waits for a quick disk, and not for a slow one."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from events.errors import LogUnwritable
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.process.effects import BeginJournal, NoteAcked, OpenJournal, StoreRecords
from shoe_driver.service.journal_store import JournalStore
from tests.support.shoe.recorder_life import CLOCK, SHIPPED

SLOW_S = 0.2


@pytest.mark.parametrize("full", [False, True], ids=["stored", "refused"])
@pytest.mark.parametrize("takes_s", [0, SLOW_S], ids=["quick", "slow"])
async def test_records_are_stored_or_refused_and_a_slow_disk_keeps_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes_s: float, full: bool
) -> None:
    def force(_: int) -> None:
        time.sleep(takes_s)
        if full:
            raise OSError(28, "No space left on device")

    with JournalFolder(tmp_path) as folder:
        store = JournalStore(folder, CLOCK)
        begun = store.in_order[BeginJournal](BeginJournal(SHIPPED))
        assert isinstance(begun, OpenJournal)
        monkeypatch.setattr(os, "fdatasync", force)
        record = Record(RecordKind.DATA, 1, 2, b"x" * 1_000)
        began = time.monotonic()
        storing = asyncio.ensure_future(store.in_thread[StoreRecords](StoreRecords([record])))
        assert time.monotonic() - began < SLOW_S / 2
        assert not (takes_s and storing.done())
        if full:
            with pytest.raises(LogUnwritable, match="No space left"):
                await storing
        else:
            await storing
            assert (tmp_path / begun.file).stat().st_size > begun.size + 1_000
        store.at_once[NoteAcked](NoteAcked(begun.header.journal, 7))
        store.close()
        assert folder.acked(begun.header.journal) == 7
