"""Every state of the link times everything that can happen to it."""

import pytest

from shoe_driver.link import TRANSITIONS, LinkInput, LinkState, step

# From the page: down, open (held, nothing proven), up (a valid frame since), stalled (silent past
# its limit). A dash is refused and changes nothing.
TABLE = """
            opened   frame    silence   lost    restarted
down        open     -        -         -       down
open        -        up       stalled   down    down
up          -        up       stalled   down    down
stalled     -        up       -         down    down
"""


def rows() -> list[tuple[str, str, str]]:
    head, *lines = (line.split() for line in TABLE.strip().splitlines())
    return [
        (state, happening, then)
        for state, *cells in lines
        for happening, then in zip(head, cells, strict=True)
    ]


@pytest.mark.parametrize(("state", "happening", "then"), rows())
def test_transition(state: str, happening: str, then: str) -> None:
    reached = step(LinkState(state), LinkInput(happening))
    assert (reached.value if reached else "-") == then


def test_the_table_is_whole() -> None:
    assert len(rows()) == len(LinkState) * len(LinkInput)
    assert len(TRANSITIONS) == sum(then != "-" for _, _, then in rows())
