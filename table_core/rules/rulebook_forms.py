"""The forms of a rulebook file: the keys that each may hold, and what an absent one means. Pure.

Form 1 is closed: logs cite files of it, so neither a key nor a default of it ever changes. Form 2
has the same sections with more keys, and its limits bind a patron where form 1 binds a wager. The
reader converts a section by the form that the file names, and `whole` makes of it the section that
the rest of the product knows, in which a key that the form lacks has its default.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import asdict

from events.money import MAX_DECIMALS
from events.types import Per
from table_core.rules.rulebook import (
    LAST_PHASE,
    MOST_CHIPS,
    Amount,
    Cap,
    CommissionTiming,
    Limits,
    Options,
    OwnLine,
    Procedure,
    Requirement,
    RoundingRules,
)

__all__ = [
    "FORMS",
    "NEWEST_FORM",
    "BetForm1",
    "BetForm2",
    "CommissionForm",
    "ConfirmedEdgeForm",
    "EdgeForm",
    "FileForm1",
    "FileForm2",
    "FormNumber",
    "RulebookForm",
    "Sign1",
    "Sign2",
    "form_1_decimals",
    "whole",
]

_S = TypeVar("_S", bound=Struct)


class FormNumber(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The number of the form, which the file says first."""

    form: Literal[1, 2]


class CommissionForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `commission`, in both forms."""

    rate: str
    timing: CommissionTiming
    block: Amount = 1


class ConfirmedEdgeForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of `edge.confirmed`, in form 2."""

    bet: str
    edge: str
    by: Annotated[str, Meta(min_length=1, max_length=100)]


class EdgeForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `edge`, in form 2."""

    floor: str = "0"
    confirmed: tuple[ConfirmedEdgeForm, ...] = ()


# ---- what both forms have ----


class _Bet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pays: dict[str, object]
    variant: str | None = None
    phase: Literal[1, 2] = LAST_PHASE
    offered: bool = True
    minimum: Amount = 1
    maximum: Amount | None = None
    step: Amount | None = None
    requirement: Requirement = Requirement.NONE
    commission: bool = False


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(pattern=r"\A[a-z0-9][a-z0-9-]*\Z")]
    title: Annotated[str, Meta(min_length=1)]
    decks: Literal[4, 6, 8]
    currency: Annotated[str, Meta(pattern=r"\A[A-Z]{3}\Z")]
    unit: Amount
    rounding: RoundingRules = RoundingRules()
    commission: CommissionForm | None = None
    procedure: Procedure = Procedure()
    caps: tuple[Cap, ...] = ()


# ---- form 1 ----

# The decimals of the currencies whose amounts have not two. A file of form 1 does not say them, so
# this table is a part of the form: it stays as it is, whatever ISO 4217 says.
_DECIMALS_1: Final[Mapping[str, int]] = {
    **dict.fromkeys(("CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}
_TWO_DECIMALS: Final = 2


def form_1_decimals(currency: str) -> int:
    """Return the decimals of the amounts of a form 1 rulebook in this currency."""
    return _DECIMALS_1.get(currency, _TWO_DECIMALS)


class BetForm1(_Bet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section `bets.ID` of form 1: a minimum always binds one wager."""

    minimum_per: ClassVar[Per] = "wager"
    table_maximum: ClassVar[int | None] = None
    own_odds: ClassVar[bool] = False

    per: Literal["wager", "spot"] = "wager"


class _Options1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    allow_opposite: bool = False
    max_options: Amount | None = None


class _Limits1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    table_maximum: Amount | None = None
    differential: Amount | None = None


class Sign1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `sign` of form 1, whose lines are the file's own."""

    game: Annotated[str, Meta(min_length=1)] = "Baccarat"
    pay_scale: str | None = None
    lines: tuple[str, ...] = ()


class FileForm1(_File, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of form 1, without its number and its bets."""

    edge: ClassVar[EdgeForm] = EdgeForm()
    chips: ClassVar[tuple[int, ...]] = ()

    options: _Options1 = _Options1()
    limits: _Limits1 = _Limits1()
    sign: Sign1 = Sign1()

    @property
    def decimals(self) -> int:
        """The decimals of its amounts."""
        return form_1_decimals(self.currency)


# ---- form 2 ----


class BetForm2(_Bet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section `bets.ID` of form 2: minimum and maximum bind the same."""

    per: Per = "patron"
    table_maximum: Amount | None = None
    own_odds: bool = False

    @property
    def minimum_per(self) -> Per:
        """What the minimum binds."""
        return self.per


class Sign2(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `sign` of form 2: the rules give everything else that the sign says."""

    help_line: Annotated[str, Meta(min_length=1)] | None = None
    own_lines: tuple[OwnLine, ...] = ()


class FileForm2(_File, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of form 2, without its number and its bets."""

    decimals: Annotated[int, Meta(ge=0, le=MAX_DECIMALS)]
    chips: Annotated[tuple[Amount, ...], Meta(max_length=MOST_CHIPS)] = ()
    options: Options = Options()
    limits: Limits = Limits()
    sign: Sign2 = Sign2()
    edge: EdgeForm = EdgeForm()


class RulebookForm(NamedTuple):
    """The structs by which a form is read.

    Args:
        file: everything but the number of the form and the bets.
        bet: a section `bets.ID`.
        without: the variants that came with a later form.
    """

    file: type[FileForm1 | FileForm2]
    bet: type[BetForm1 | BetForm2]
    without: frozenset[str] = frozenset()


FORMS: Final[Mapping[int, RulebookForm]] = {
    1: RulebookForm(FileForm1, BetForm1, without=frozenset({"no_suit"})),
    2: RulebookForm(FileForm2, BetForm2),
}
NEWEST_FORM: Final = max(FORMS)


def whole(kind: type[_S], section: Struct) -> _S:
    """Return a section of any form as `kind`; what the form lacks has its default."""
    return section if isinstance(section, kind) else kind(**asdict(section))
