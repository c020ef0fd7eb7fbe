"""A rulebook as the model reads it: pay tables, rounding, caps and commission, out of its TOML."""

import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final

from tests.support.money_model.rules import Cards, categories

MAINS: Final = frozenset({"player", "banker", "tie"})
MARKED: Final = frozenset({"per_coup", "per_shoe"})
_FIRST, _LAST = 1, 2


@dataclass(frozen=True)
class Stake:
    """A wager as it lies: whose, on what, how much, of which kind."""

    seat: int
    bet: str
    stake: int
    patron: str | None = None
    kind: str = "chips"

    @property
    def chips(self) -> int:
        """What of it is money: a token is none."""
        return 0 if self.kind == "promo" else self.stake

    @property
    def payer(self) -> tuple[int, str | None]:
        """Who owes its commission: the seat it lies at, and the patron where one is named."""
        return self.seat, self.patron

    @property
    def person(self) -> tuple[str, object]:
        """Whose it is: one patron over all seats, or the seat where no patron is named."""
        return ("patron", self.patron) if self.patron else ("seat", self.seat)


@dataclass(frozen=True)
class Line:
    """What became of one wager."""

    result: str
    category: str
    winnings: int
    commission: int
    paid: int


@dataclass(frozen=True)
class ModelRulebook:
    """A rulebook's TOML; `hash` is the SHA-256 of the file."""

    hash: str
    data: Mapping[str, Any]
    bets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "ModelRulebook":
        """Read a file's text."""
        data = tomllib.loads(text)
        return cls(hashlib.sha256(text.encode()).hexdigest(), data, data["bets"])

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.data["id"])

    @property
    def currency(self) -> str:
        """Of every amount."""
        return str(self.data["currency"])

    @property
    def timing(self) -> str | None:
        """When commission is taken; None where there is none."""
        return self._commission.get("timing") if self._commission else None

    @property
    def unit(self) -> int:
        """The smallest amount that can be paid."""
        return int(self.data["unit"])

    @property
    def reverses_all(self) -> bool:
        """Whether a void takes a first phase back."""
        return self.procedure("void_after_phase_one", "keep") == "reverse_all"

    def procedure(self, key: str, absent: str) -> str:
        """Return a setting of the procedure."""
        return str(self.data.get("procedure", {}).get(key, absent))

    def options(self, key: str, *, absent: bool) -> bool:
        """Return whether an option is chosen."""
        return bool(self.data.get("options", {}).get(key, absent))

    def bound(self, wager: Stake) -> object:
        """Return whose sum a bet's minimum and maximum bind; None where it is each wager's own."""
        absent = "wager" if self.data["form"] == 1 else "patron"
        return {
            "wager": None,
            "patron": (wager.bet, wager.person),
            "seat": (wager.bet, wager.seat),
            "spot": (wager.bet, wager.person, wager.seat),
        }[self.bets[wager.bet].get("per", absent)]

    @property
    def _commission(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.data.get("commission", {})
        return found

    def phase_of(self, bet: str) -> int:
        """Return the phase that a bet is judged in; one that the rulebook has not, in the last."""
        return int(self.bets[bet].get("phase", _LAST)) if bet in self.bets else _LAST

    def _rounded(self, amount: Fraction, what: str, absent: str) -> int:
        units = amount / self.unit
        mode = self.data.get("rounding", {}).get(what, absent)
        half_up = floor(units + Fraction(1, 2))
        return self.unit * {"up": ceil(units), "down": floor(units), "nearest": half_up}[mode]

    def commission_of(self, bet: str, winnings: int) -> int:
        """Return what the house keeps out of winnings."""
        if not self._commission or not self.bets[bet].get("commission", False):
            return 0
        block = int(self._commission.get("block", 1))
        due = Fraction(self._commission["rate"]) * ceil(Fraction(winnings, block)) * block
        return min(self._rounded(due, "commission", "down"), winnings)

    def laid_for(self, wager: Stake) -> int:
        """Return what is laid in the circle before the hand: enough for the best it can win."""
        if self.timing != "prepaid" or wager.bet not in self.bets:
            return 0
        odds = [each for each in self.bets[wager.bet]["pays"].values() if each != "push"]
        best = max((self._won(wager, Fraction(each)) for each in odds), default=0)
        return self.commission_of(wager.bet, best)

    def _won(self, wager: Stake, odds: Fraction) -> int:
        return self._rounded(odds * wager.stake, "payout", "up")

    def settle(
        self, wagers: Sequence[Stake], phase: int, player: Cards, banker: Cards
    ) -> list[Line]:
        """Judge wagers of one phase, all of it or each alone; aggregate maxima are kept."""
        judged = [self._judge(each, phase, player, banker) for each in wagers]
        won = [winnings for _, _, winnings in judged]
        for cap in self.data.get("caps", ()):
            self._cut(cap, wagers, won)
        lines = []
        for wager, (result, category, _), winnings in zip(wagers, judged, won, strict=True):
            kept = self.commission_of(wager.bet, winnings) if winnings else 0
            back = wager.chips if result != "lose" else 0
            lines.append(Line(result, category, winnings, kept, back + winnings - kept))
        return lines

    def _judge(
        self, wager: Stake, phase: int, player: Cards, banker: Cards
    ) -> tuple[str, str, int]:
        if wager.bet not in self.bets:
            return "void", "void", 0
        bet = self.bets[wager.bet]
        for category in categories(wager.bet, bet.get("variant", ""), player, banker):
            odds = bet["pays"].get(category)
            if odds is None or (phase == _FIRST and category == "push"):
                continue
            if odds == "push":
                return "push", category, 0
            return "win", category, self._won(wager, Fraction(odds))
        return "lose", "lose", 0

    def _cut(self, cap: Mapping[str, Any], wagers: Sequence[Stake], won: list[int]) -> None:
        under = [
            index
            for index, each in enumerate(wagers)
            if each.bet in cap["bets"] and each.kind != "toke" and won[index]
        ]
        scope = cap.get("scope", "table")
        groups: dict[object, list[int]] = {}
        for index in under:
            groups.setdefault(scope == "table" or wagers[index].person, []).append(index)
        for group in groups.values():
            if sum(won[index] for index in group) > cap["maximum"]:
                share = _SHARES[cap.get("allocation", "pro_rata")]
                asked = [won[index] // self.unit for index in group]
                given = share(asked, cap["maximum"] // self.unit)
                for index, units in zip(group, given, strict=True):
                    won[index] = units * self.unit


def _pro_rata(asked: Sequence[int], maximum: int) -> list[int]:
    total = sum(asked)
    exact = [Fraction(maximum * each, total) for each in asked]
    given = [floor(each) for each in exact]
    behind = sorted(range(len(asked)), key=lambda i: (given[i] - exact[i], i))
    for index in behind[: maximum - sum(given)]:
        given[index] += 1
    return given


def _first_placed(asked: Iterable[int], maximum: int) -> list[int]:
    given = []
    for each in asked:
        given.append(min(each, maximum))
        maximum -= given[-1]
    return given


_SHARES: Final = {"pro_rata": _pro_rata, "first_placed": _first_placed}
