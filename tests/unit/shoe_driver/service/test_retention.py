"""Which of a driver's old files may go."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from shoe_driver.service.retention import JournalRetention, OldFile, droppable_files

DAY = 86_400.0
NOW = 1_000 * DAY
MEGABYTE = 1_000_000


def old(name: str, days: float, megabytes: int = 1, *, needed: bool = False) -> OldFile:
    return OldFile(Path(name), megabytes * MEGABYTE, NOW - days * DAY, needed)


def going(files: list[OldFile], keep: JournalRetention) -> str:
    return " ".join(file.path.name for file in droppable_files(files, keep, NOW))


THREE = [old("a", 30), old("b", 20), old("c", 10)]


def test_by_default_all_stay() -> None:
    assert going(THREE, JournalRetention()) == ""


def test_by_age() -> None:
    assert going(THREE, JournalRetention(days=15)) == "a b"
    assert going(THREE, JournalRetention(days=30)) == ""  # at the limit it stays


def test_by_size_the_oldest_go_until_the_rest_fits() -> None:
    assert going(THREE, JournalRetention(megabytes=1)) == "a b"
    assert going(THREE, JournalRetention(megabytes=2)) == "a"
    assert going(THREE, JournalRetention(megabytes=3)) == ""


def test_either_is_reason_enough() -> None:
    assert going(THREE, JournalRetention(days=25, megabytes=1)) == "a b"
    assert going(THREE, JournalRetention(days=15, megabytes=9)) == "a b"


def test_behind_one_that_is_needed_all_stay() -> None:
    files = [old("a", 30), old("b", 20, needed=True), old("c", 10)]
    assert going(files, JournalRetention(days=1, megabytes=1)) == "a"


files = st.builds(
    lambda days, megabytes, needed: old("x", days, megabytes, needed=needed),
    st.integers(0, 99),
    st.integers(0, 9),
    st.booleans(),
)
keeps = st.builds(
    JournalRetention,
    days=st.none() | st.integers(1, 99),
    megabytes=st.none() | st.integers(1, 50),
)


@given(st.lists(files, max_size=9), keeps)
def test_what_goes_is_a_beginning_and_nothing_needed(
    found: list[OldFile], keep: JournalRetention
) -> None:
    gone = droppable_files(found, keep, NOW)
    assert gone == found[: len(gone)]
    assert not any(file.needed for file in gone)
    rest = found[len(gone) :]
    if rest and not rest[0].needed and keep.megabytes is not None:
        assert sum(file.size for file in rest) <= keep.megabytes * MEGABYTE
