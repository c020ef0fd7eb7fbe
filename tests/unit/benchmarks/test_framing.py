"""The bursts that the framing figures measure are cards, in every combination."""

import pytest

from benchmarks.driver.framing import combinations
from benchmarks.rows import ROWS
from events.types import CardDrawn
from shoe_driver.decode import Decoder

_FACES = [rank + suit for suit in "SHDC" for rank in "A23456789TJQK"]
_FIGURES = next(row.figures for row in ROWS if row.name == "framing")
_SHIPPED = 3


@pytest.mark.parametrize("figure", _FIGURES[_SHIPPED:])
def test_every_byte_of_a_burst_belongs_to_a_card(figure: str) -> None:
    for profile, burst in combinations(figure.removeprefix("framing-"), 700):
        read = [event.report for event in Decoder(profile).feed_bare(burst)]
        faces = [report.face and report.face.value for report in read if type(report) is CardDrawn]
        assert len(faces) == len(read) > 20
        assert faces[:52] == _FACES[: len(faces)]
