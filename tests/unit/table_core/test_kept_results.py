"""The newest result is kept for the same objects, and computed again for others, however equal."""

from table_core.kept_results import keep_newest


def test_only_the_same_objects_are_taken_for_the_same() -> None:
    asked: list[tuple[list[int], str]] = []

    @keep_newest
    def joined(numbers: list[int], name: str) -> str:
        asked.append((numbers, name))
        return f"{name} {numbers}"

    first, equal = [1], [1]
    said = joined(first, "a")
    assert joined(first, "a") is said
    assert [joined(equal, "a"), joined(first, "b")] == ["a [1]", "b [1]"]
    assert asked == [([1], "a"), ([1], "a"), ([1], "b")]


def test_objects_that_nobody_else_holds_are_never_confused() -> None:
    doubled = keep_newest(lambda numbers: [2 * each for each in numbers])
    # Without the arguments that it holds, Python would give most of these lists the same id.
    assert [doubled([each])[0] for each in range(1_000)] == list(range(0, 2_000, 2))
