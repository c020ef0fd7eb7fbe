"""Captures and journals in place of a shoe: all bytes, once, at the pace that was asked for."""

import asyncio
import time
from contextlib import closing
from pathlib import Path

import pytest

from events.clock import SystemClock
from events.errors import LinkError
from shoe_driver.journal.files import Journal
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import profile_text
from shoe_driver.transports.endpoint import Endpoint
from shoe_driver.transports.file_port import ReplayPort
from shoe_driver.transports.port_errors import LinkEnded


async def played(path: Path, speed: float, baud: int = 4800) -> tuple[bytes, float, str]:
    """What comes, how long it takes, and what is said at the end."""
    endpoint = Endpoint(scheme="file", path=str(path), baud=baud, speed=speed)
    got, began = b"", time.monotonic()
    with closing(ReplayPort(endpoint)) as port:
        while True:
            try:
                got += port.read()
            except LinkEnded as ended:
                return got, time.monotonic() - began, str(ended)
            await asyncio.sleep(0.001)


def journal(folder: Path, *at_us: int) -> Path:
    """Ten bytes at each of these times."""
    made = Journal.create(folder, "j20261127t000000-1", profile_text("enq-bcc"), SystemClock())
    made.append([Record(RecordKind.OPEN, 0, 0, b"pty:/x")])
    made.append([Record(RecordKind.DATA, at, 0, b"%010d" % at) for at in at_us])
    made.append([Record(RecordKind.CLOSE, at_us[-1], 0, b"unplugged")])
    made.close()
    return made.path


async def test_a_bare_capture_comes_at_the_lines_baud(tmp_path: Path) -> None:
    path = tmp_path / "capture.raw"
    path.write_bytes(bytes(range(240)))
    got, took, ended = await played(path, speed=1)
    assert got == bytes(range(240))
    assert took >= 0.5  # 240 bytes of ten bits at 4800 baud
    assert ended.startswith(f"file {path}: the capture has ended, 240 bytes; it is not played")


async def test_speed_quickens_and_nought_is_at_once(tmp_path: Path) -> None:
    path = tmp_path / "capture.raw"
    path.write_bytes(bytes(200_000))
    got, took, _ = await played(path, speed=0)
    assert (len(got), took < 60) == (200_000, True)  # the line's baud takes seven minutes
    got, took, _ = await played(path, speed=1000)
    assert len(got) == 200_000
    assert 0.4 <= took < 60


async def test_a_journal_comes_at_the_distances_of_its_times(tmp_path: Path) -> None:
    """Only the shoe's bytes; a clock that begins anew is no distance."""
    path = journal(tmp_path, 900_000_000, 900_300_000, 5, 200_005)
    got, took, _ = await played(path, speed=1)
    assert got == b"0900000000090030000000000000050000200005"
    assert 0.5 <= took < 60
    (tmp_path / "long").mkdir()
    _, quickly, _ = await played(journal(tmp_path / "long", 0, 60_000_000), speed=0)
    assert quickly < 30


async def test_a_damaged_journal_is_played_up_to_the_damage_and_says_so(tmp_path: Path) -> None:
    path = journal(tmp_path, 1, 2, 3)
    whole = bytearray(path.read_bytes())
    whole[-60] ^= 1  # within the third
    path.write_bytes(whole)
    got, _, ended = await played(path, speed=0)
    assert got == b"00000000010000000002"
    assert "the journal is damaged" in ended


async def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    endpoint = Endpoint(scheme="file", path=str(tmp_path / "none"), baud=4800)
    with pytest.raises(LinkError, match=r"none: No such file or directory; name a capture"):
        ReplayPort(endpoint)
