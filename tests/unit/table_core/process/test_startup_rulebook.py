"""The rulebook by which a table starts: debts keep their money, the property its pay scale."""

import pytest
from msgspec.structs import replace

from events.errors import ConfigError
from events.types import FloatOpened, Pieces, RulebookAdopted
from table_core.fold.dispatch import fold_all
from table_core.process.startup_rulebook import startup_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.state.table import TableState
from tests.support.cage.books import book

ONE, TWO = book("nz-scale-one"), book("nz-scale-two")
# It calls itself by the other's name, and offers no Perfect Pairs.
NAMED_ONE = replace(TWO, sign=replace(TWO.sign, pay_scale="one"), hash="1" * 64)
WITHOUT = book("nz-scale-one", "bets.perfect_pairs.offered=false")


def at_table(before: Rulebook, *events: FloatOpened) -> TableState:
    adopted = RulebookAdopted(
        rulebook=before.id, rulebook_hash=before.hash, currency=before.currency
    )
    return fold_all(TableState(), [adopted, *events])


@pytest.mark.parametrize(
    ("before", "now", "said", "refusal"),
    [
        (ONE, ONE, None, None),
        (ONE, ONE, "one", None),
        (ONE, TWO, "two", None),
        (ONE, WITHOUT, "two", None),
        (WITHOUT, TWO, None, None),
        (ONE, TWO, None, 'say pay_scale = "two" in the configuration of every table'),
        (ONE, NAMED_ONE, None, "pays by scale two"),
        (ONE, TWO, "one", "the property's is one"),
        (WITHOUT, NAMED_ONE, "one", "the property's is one"),
    ],
)
def test_a_table_starts_by_the_propertys_pay_scale(
    before: Rulebook, now: Rulebook, said: str | None, refusal: str | None
) -> None:
    library = (ONE, TWO, NAMED_ONE, WITHOUT)
    if refusal is None:
        assert startup_rulebook(at_table(before), now, library, said) is now
        return
    with pytest.raises(ConfigError, match="one scale holds for every table") as refused:
        startup_rulebook(at_table(before), now, library, said)
    assert refusal in str(refused.value)


@pytest.mark.parametrize(("code", "decimals"), [("AUD", 2), ("NZD", 3)])
def test_what_lies_in_the_tray_keeps_its_currency_and_its_decimals(
    code: str, decimals: int
) -> None:
    tray = FloatOpened(
        float_id="20261127-01", currency="NZD", amount=100, signed=(), chips=(Pieces(100, 1),)
    )
    now = replace(book("ez"), currency=code, decimals=decimals)
    with pytest.raises(ConfigError, match=f"is in {code} with {decimals} decimals, and what is"):
        startup_rulebook(at_table(ONE, tray), now, (ONE,))
    assert startup_rulebook(at_table(ONE), now, (ONE,)) is now
