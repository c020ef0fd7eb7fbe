"""Events in the life of a shoe besides its coups: burn, cut card, audit, count, its order."""

from typing import Literal

from msgspec import Struct, field

from events.cards import Card
from events.types.table import TableEvent

__all__ = [
    "BurnRecorded",
    "CutCardCame",
    "CutPlace",
    "RepeatedRun",
    "ShoeAudited",
    "ShoeCounted",
    "ShoeHeld",
    "ShoeReleased",
    "ShuffleQuestioned",
]

CutPlace = Literal["between", "first_card", "mid_coup"]


class BurnRecorded(TableEvent, frozen=True, kw_only=True):
    """The burn of a new shoe is done, or a person says what became of it.

    Args:
        shoe: the shoe's id.
        exposed: the first card, shown to the table; None where nobody reported it.
        burned: how many cards were burned after it.
        expected: how many the rulebook's rule asks for; None where the first card is not known.
        by: `shoe`, or a person, who then gives a reason.
        reason: why, where a person recorded it.
    """

    TYPE = "burn_recorded"
    shoe: str
    exposed: Card | None = None
    burned: int
    expected: int | None = None
    by: str
    reason: str = ""


class CutCardCame(TableEvent, frozen=True, kw_only=True):
    """The cut card came out, and which coup is therefore the last.

    Args:
        shoe: the shoe's id.
        place: `between` coups, in place of a coup's `first_card`, or in `mid_coup`.
        by: `shoe`, or `person` where the dealer reported it.
        last_coup: the number of the shoe's last coup.
    """

    TYPE = "cut_card_came"
    shoe: str
    place: CutPlace
    by: str
    last_coup: int


class RepeatedRun(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """The longest run of faces that a shoe has in common with an earlier one.

    Args:
        earlier: that shoe's id.
        length: of the run, in cards.
        start: where it begins in this shoe, counted from 0.
        earlier_start: where it begins in the earlier one.
        chance: an upper bound of its chance in honest shuffles, `num/den`: the number of pairs of
            places, over 52 to the power of its length, at most 1.
    """

    earlier: str
    length: int
    start: int
    earlier_start: int
    chance: str


class ShoeAudited(TableEvent, frozen=True, kw_only=True):
    """The count of an ended shoe's cards. Sealed: the faces left would reveal the burned ones.

    Args:
        shoe: its id.
        decks: how many it began with.
        seen: cards that left it, whatever became of them.
        known: of these, whose face is known.
        burned: of these, burned: the exposed first card, those after it, and overdrawn cards
            that the house's policy burned.
        carried: overdrawn cards that were carried over.
        coups: begun from it, voids included.
        voids: of these, void.
        left: faces not known to have left it, face to count.
        repeated: the longest run in common with an earlier shoe, in logs of before; newer ones
            have `shuffle_questioned` instead.
    """

    TYPE = "shoe_audited"
    shoe: str
    decks: int
    seen: int
    known: int
    burned: int
    carried: int
    coups: int
    voids: int
    left: dict[Card, int]
    repeated: RepeatedRun | None = None


class ShuffleQuestioned(TableEvent, frozen=True, kw_only=True):
    """The cards of a shoe came in an order that an honest shuffle hardly gives.

    It names cards that the table has seen, and no person. The bound holds for all comparisons made
    in this shoe together.

    Args:
        shoe: its id.
        kind: the order is that of new packs (`factory`), of an `earlier` shoe, or repeats `itself`.
        source: the name of the factory order, or the id of the earlier shoe.
        known: the number of cards compared.
        step: 1 where the cards lie in a row; 2 where every second one does, and so on.
        backwards: the order came from its end to its beginning.
        two_piles: the source came as dealt to two piles.
        groups: the number of groups in common.
        length: cards in each group, at least.
        coup: the coup in which the longest run begins.
        cards: the longest run, at most its first cards.
        run: its length.
        exponent: in an honest shuffle the chance is at most 1 in ten to the power of this.
    """

    TYPE = "shuffle_questioned"
    shoe: str
    kind: Literal["factory", "earlier", "itself"]
    source: str = ""
    known: int
    step: int = 1
    backwards: bool = False
    two_piles: bool = False
    groups: int
    length: int
    coup: str
    cards: tuple[Card, ...]
    run: int
    exponent: int


class ShoeCounted(TableEvent, frozen=True, kw_only=True):
    """All cards of an ended shoe were counted, by a person or a counting device.

    Args:
        shoe: its id.
        cards: the number of cards counted.
        faces: face to count, where faces were counted too.
    """

    TYPE = "shoe_counted"
    shoe: str
    cards: int
    faces: dict[Card, int] = field(default_factory=dict)


class ShoeHeld(TableEvent, frozen=True, kw_only=True):
    """No other shoe is loaded until a person has released this one.

    Args:
        shoe: its id.
        cause: its `count` is wrong, or more copies of a face came (`cards`) than it can have.
        text: which, for a person.
    """

    TYPE = "shoe_held"
    shoe: str
    cause: Literal["count", "cards"]
    text: str


class ShoeReleased(TableEvent, frozen=True, kw_only=True):
    """A person released a held shoe, or a new count of it came out."""

    TYPE = "shoe_released"
    shoe: str
    reason: str
