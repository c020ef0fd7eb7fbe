"""A rulebook: the bets a table offers, their pay tables and the rounding; read from a TOML file.

Every coup records the rulebook's id and the SHA-256 of its file, so a file never changes once a
coup was played by it: a change is a new file. `table_core.rules.rulebook_file` reads the file.
"""

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from events.money import MAX_AMOUNT, Currency, Odds, Rounding
from events.types import Per
from table_core.rules.wagers import Judge

__all__ = [
    "INITIAL_PHASE",
    "LAST_PHASE",
    "MOST_CHIPS",
    "PUSH",
    "Amount",
    "Bet",
    "Cap",
    "Commission",
    "CommissionTiming",
    "ConfirmedEdge",
    "EdgeRules",
    "Limits",
    "Options",
    "OwnLine",
    "Procedure",
    "Requirement",
    "RoundingRules",
    "Rulebook",
    "Sign",
]

INITIAL_PHASE: Final = 1
LAST_PHASE: Final = 2
PUSH: Final = "push"
"""The category of a tie that returns a wager whose own condition is not met, where it is listed."""

Amount = Annotated[int, Meta(ge=1, le=MAX_AMOUNT)]
"""Minor units in a rulebook file: a positive integer that every JSON reader keeps exactly."""


class Requirement(Enum):
    """The wager that must be placed as well as a side bet.

    `any_main`: Player, Banker or tie of the same patron (seed 3: "in addition"). `same_seat`:
    Player or Banker of the same patron in the same box (seed 1, 11A.2).
    """

    NONE = "none"
    ANY_MAIN = "any_main"
    SAME_SEAT = "same_seat"


class CommissionTiming(Enum):
    """When the house takes commission. It moves cash, never amounts: a settlement is always net."""

    DEDUCT = "deduct"
    PREPAID = "prepaid"
    PER_COUP = "per_coup"
    PER_SHOE = "per_shoe"


class Commission(Struct, frozen=True, kw_only=True):
    """The commission that the house keeps out of winnings.

    Args:
        rate: of the winnings; 1/20 is 5 per cent.
        timing: when it is taken.
        block: minor units; winnings are counted in whole blocks, a part as a whole block
            (25c per $5 or part: 1/20 and 500); 1 counts them exactly.
    """

    rate: Odds
    timing: CommissionTiming
    block: int


class Bet(Struct, frozen=True, kw_only=True):
    """One wager as this rulebook offers it; amounts in minor units.

    Args:
        id: the kind of bet, such as `banker`.
        phase: settled after the initial deal (1) or at the end of the coup (2).
        judge: names the categories of an outcome, the most special first.
        schedule: category to odds to one, None for a push. A category that is not listed loses.
        offered: whether the table takes it.
        minimum: the smallest amount that may stand, by `minimum_per`.
        maximum: the largest that may stand, by `per`; None for no limit of its own.
        step: the stake of every wager is a multiple of it.
        per: what the maximum binds.
        minimum_per: what the minimum binds.
        table_maximum: all patrons' stakes on this bet together, None for no limit.
        requirement: the wager that must be placed as well.
        commission: whether the house keeps its commission out of the winnings.
        own_odds: the site means other odds than the documents that have the bet.
    """

    id: str
    phase: int
    judge: Judge
    schedule: Mapping[str, Odds | None]
    offered: bool
    minimum: int
    maximum: int | None
    step: int
    per: Per
    minimum_per: Per
    table_maximum: int | None
    requirement: Requirement
    commission: bool
    own_odds: bool = False


class Cap(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An aggregate maximum over the winnings of several bets in one coup.

    Args:
        bets: the bets that share it.
        maximum: minor units.
        scope: for the whole table, or for each patron.
        allocation: shared `pro_rata` by largest remainder, or `first_placed` first served.
    """

    bets: tuple[str, ...]
    maximum: Amount
    scope: Literal["table", "patron"] = "table"
    allocation: Literal["pro_rata", "first_placed"] = "pro_rata"


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The combinations of wagers that one patron may place.

    Args:
        allow_opposite: Player and Banker at once.
        max_options: the maximum number out of main, tie, Lucky 8 Player and Lucky 8 Banker; None
            for all.
        tie_is_main: whether a tie is the main wager that a side bet needs; None as the bet's
            requirement has it: for `any_main` it is, for `same_seat` it is not.
        side_bet_first: whether a side bet may be placed before its main wager while betting is
            open, so that the close of betting judges it; else the command that places it does.
    """

    allow_opposite: bool = False
    max_options: Amount | None = None
    tie_is_main: bool | None = None
    side_bet_first: bool = True


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits over all wagers of a coup, in minor units; None for no limit.

    Args:
        table_maximum: all stakes together.
        differential: between all Player and all Banker stakes.
        patron_maximum: all stakes of one patron, on whatever bets.
        seat_maximum: all stakes in one box, on whatever bets.
    """

    table_maximum: Amount | None = None
    differential: Amount | None = None
    patron_maximum: Amount | None = None
    seat_maximum: Amount | None = None


class Procedure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The house's dealing procedure; the defaults are the house rules of docs/reference/rules.md.

    Args:
        burn: cards burned after the exposed first card: its `face_value` (ten-valued cards 10),
            a `fixed:N` number, or `none`.
        betting_closes: at the `first_card`; or `before_reveal`, while cards lie face down (seed 3,
            "before any cards have been revealed").
        excess: the fate of a card drawn when none was due. `carry`: a hidden card becomes the
            next coup's first card, and a seen card is shown in a dummy coup. Or `burn` it, or
            `void` the coup.
        void_after_phase_one: on a void after the first phase was paid, `keep` the payment or
            `reverse_all`.
        cut_card: finish the coup and play `one_more` (none where the cut card came in place of
            the coup's first card), or `finish_only`.
    """

    burn: Annotated[str, Meta(pattern=r"\A(face_value|none|fixed:[0-9]{1,2})\Z")] = "face_value"
    void_after_phase_one: Literal["keep", "reverse_all"] = "keep"
    cut_card: Literal["one_more", "finish_only"] = "one_more"
    betting_closes: Literal["first_card", "before_reveal"] = "first_card"
    excess: Literal["carry", "burn", "void"] = "carry"


class OwnLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line that a site adds to the sign.

    Args:
        text: as it is shown, in every language.
        confirmed_by: the person who stands by a text with a number or a word of the rules.
    """

    text: str
    confirmed_by: str | None = None


class Sign(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the table's sign and screens must say; texts for people.

    Args:
        game: the kind of game, `Baccarat` or `Even Money Baccarat` (seed 2, "the sign will also
            indicate"). In form 2 it follows from the wagers, and so does the scale.
        pay_scale: the scale of wagers of which a property chooses one (seed 1, 11A.8).
        lines: what the file itself says, a line each; in form 2 the help line and own lines.
        help_line: where the house's patrons find help with gambling.
        own_lines: what the site adds.
        generated: whether the rules give all other lines (form 2).
    """

    game: Annotated[str, Meta(min_length=1)] = "Baccarat"
    pay_scale: str | None = None
    lines: tuple[str, ...] = ()
    help_line: str | None = None
    own_lines: tuple[OwnLine, ...] = ()
    generated: bool = False


class RoundingRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The direction in which amounts are rounded; both defaults are in the patron's favour."""

    payout: Rounding = Rounding.UP
    commission: Rounding = Rounding.DOWN


class ConfirmedEdge(Struct, frozen=True, kw_only=True):
    """A person's word that a bet is offered although the house keeps less than the floor.

    Args:
        bet: its id.
        edge: the very edge that the person has seen.
        by: who confirms it.
    """

    bet: str
    edge: Fraction
    by: str


class EdgeRules(Struct, frozen=True, kw_only=True):
    """How much the house keeps at least; see `table_core.odds.house_edge`.

    Args:
        floor: the least edge of an offered bet.
        confirmed: the bets that a person offers below it.
    """

    floor: Fraction = Fraction(0)
    confirmed: tuple[ConfirmedEdge, ...] = ()


MOST_CHIPS: Final = 12
"""The most values of chips that a table has: a screen shows a row of them."""


class Rulebook(Struct, frozen=True, kw_only=True):
    """The rules of one table.

    Args:
        id: the rulebook's name, the stem of its file.
        title: for people.
        decks: 4, 6 or 8.
        currency: ISO 4217 code.
        decimals: of an amount in it, in this edition. ISO 4217 may change them; the amounts of a
            coup keep those of its rulebook.
        unit: the smallest payable amount, in minor units.
        chips: the values of the table's chips, in minor units, ascending; empty for the usual ones.
        rounding: the direction in which amounts are rounded.
        commission: None where no bet pays any.
        options: the combinations that one patron may place.
        limits: over all wagers of a coup.
        procedure: the house's dealing procedure.
        sign: the texts that must be displayed.
        bets: by id.
        caps: aggregate maxima.
        edge: how much the house keeps at least.
        hash: SHA-256 of the file's bytes, hexadecimal.
    """

    id: str
    title: str
    decks: int
    currency: str
    decimals: int
    unit: int
    chips: tuple[int, ...]
    rounding: RoundingRules
    commission: Commission | None
    options: Options
    limits: Limits
    procedure: Procedure
    sign: Sign
    bets: Mapping[str, Bet]
    caps: tuple[Cap, ...]
    edge: EdgeRules = EdgeRules()
    hash: str

    @property
    def money(self) -> Currency:
        """The currency of all amounts, with its decimals."""
        return Currency(self.currency, self.decimals)

    def phase_of(self, bet: str) -> int:
        """Return the settlement phase of a bet; the last phase for an unknown bet."""
        return self.bets[bet].phase if bet in self.bets else LAST_PHASE
