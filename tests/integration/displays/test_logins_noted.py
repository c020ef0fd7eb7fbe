"""The running services: the screens' record of logins comes into the table's signed log."""

from pathlib import Path

from baccarat.cli.main import main
from events.log.verify import verify
from events.types import LoginsNoted
from tests.support.log.logs import events_in
from tests.support.machine.waiting import until_blocking
from tests.support.service.console_table import console_table


def test_the_accounts_that_the_screens_began_with_are_noted_and_signed(tmp_path: Path) -> None:
    with console_table(tmp_path) as table:
        until_blocking(lambda: table.events(LoginsNoted.TYPE) > 0, "the table has noted them")
        (position,) = (
            number
            for number, event in enumerate(events_in(table.log), start=1)
            if isinstance(event, LoginsNoted)
        )
        until_blocking(lambda: verify(table.log).signed_to >= position, "the note is signed")
    record = tmp_path / "logins.jsonl"
    assert main(["user", "record", str(tmp_path / "table.toml")]) == 0
    record.write_bytes(b"".join(record.read_bytes().splitlines(keepends=True)[:-1]))
    assert main(["user", "record", str(tmp_path / "table.toml")]) == 1
