"""Which of a driver's old files may go."""

from hypothesis import given
from hypothesis import strategies as st

from shoe_driver.process.effects import JournalFile
from shoe_driver.process.retention import JournalRetention, droppable_files

DAY = 86_400.0
NOW = 1_000 * DAY
MEGABYTE = 1_000_000


def old(name: str, days: float, megabytes: int = 1, *, last: int | None = 0) -> JournalFile:
    return JournalFile(name, megabytes * MEGABYTE, NOW - days * DAY, last)


def going(files: list[JournalFile], keep: JournalRetention) -> str:
    return " ".join(file.name for file in droppable_files(files, keep, 9, NOW))


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
    for last in (10, None):  # the core has released 9; the newest file has no last one
        files = [old("a", 30, last=9), old("b", 20, last=last), old("c", 10)]
        assert going(files, JournalRetention(days=1, megabytes=1)) == "a"


files = st.builds(
    lambda days, megabytes, last: old("x", days, megabytes, last=last),
    st.integers(0, 99),
    st.integers(0, 9),
    st.none() | st.integers(0, 20),
)
keeps = st.builds(
    JournalRetention,
    days=st.none() | st.integers(1, 99),
    megabytes=st.none() | st.integers(1, 50),
)


@given(st.lists(files, max_size=9), keeps)
def test_what_goes_is_a_beginning_and_nothing_needed(
    found: list[JournalFile], keep: JournalRetention
) -> None:
    gone = droppable_files(found, keep, 9, NOW)
    assert gone == found[: len(gone)]
    assert all(file.last is not None and file.last <= 9 for file in gone)
    rest = found[len(gone) :]
    if rest and rest[0].last in range(10) and keep.megabytes is not None:
        assert sum(file.size for file in rest) <= keep.megabytes * MEGABYTE
