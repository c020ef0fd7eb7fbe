"""Whether the table's own driver runs here, and so has the shoe's port."""

import os
from pathlib import Path

from baccarat.site.own_driver import running_driver
from shoe_driver.journal.folder import JournalFolder


def test_a_driver_is_known_by_its_unit(tmp_path: Path) -> None:
    for number, unit in (("12", "baccarat-shoe@b7-vip.service"), ("13", "cron.service")):
        (tmp_path / number).mkdir()
        (tmp_path / number / "cgroup").write_text(f"0::/system.slice/{unit}\n", "utf-8")
    assert running_driver("b7", tmp_path / "journal", tmp_path) is None
    found = running_driver("b7-vip", tmp_path / "journal", tmp_path)
    assert found == "baccarat-shoe@b7-vip.service"


def test_a_driver_is_known_by_its_lock_and_by_nothing_that_it_left(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with JournalFolder(journal):
        assert running_driver("b7", journal, tmp_path) == f"process {os.getpid()}"
    assert (journal / "lock").read_text("ascii")
    assert running_driver("b7", journal, tmp_path) is None
