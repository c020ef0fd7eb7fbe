"""What every wager, seat and debt should have after each step of a history.

A debt belongs to a coup and a payer. Whatever is corrected moves the debts of its own coup alone:
what was paid stays paid as far as it is still due, then what was given up stays given up; what is
due beyond that is taken at once where the coup's rulebook takes commission at once, else it is
outstanding; what was paid beyond what is due goes back to whoever paid it.

The model hears what people and the shoe do, whether the table took it, and in which phase the coup
then stands. It sees neither an event nor a state.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from tests.support.money_model.rulebook import MAINS, MARKED, Line, ModelRulebook, Stake
from tests.support.money_model.rules import due, winner_of

Payer: TypeAlias = tuple[int, str | None]
OVER: Final = frozenset({"settled", "voided"})
_JUDGED: Final = frozenset({"dealing", "complete", "disputed", "held", "settled"})
_PLACES: Final = ("P1", "B1", "P2", "B2", "P3", "B3")
_FIRST, _LAST = 1, 2
_SEATS: Final = range(1, 100)


@dataclass
class Debt:
    """Commission that one payer owes of one coup; `accrued` is less what was reversed."""

    accrued: int = 0
    collected: int = 0
    recovered: int = 0
    given_up: int = 0
    refunded: int = 0
    ever: bool = False

    @property
    def outstanding(self) -> int:
        """Neither paid nor given up."""
        return self.accrued - self.collected - self.recovered - self.given_up

    def become(self, accrued: int, timing: str | None, *, lies_again: bool) -> None:
        """Owe another amount, by a coup that was settled or corrected.

        Args:
            accrued: the amount.
            timing: when the coup's rulebook takes commission.
            lies_again: what was taken too much lies in the circle again, as before the hand.
        """
        self.accrued, before = accrued, self.accrued
        self.ever = self.ever or accrued > 0
        if accrued > before and timing not in MARKED:
            self.collected += accrued - before
        self.given_up += min(self.outstanding, 0)
        for paid in ("recovered", "collected"):
            back = -min(self.given_up, 0)
            back = min(back, getattr(self, paid))
            setattr(self, paid, getattr(self, paid) - back)
            self.given_up += back
            self.refunded += 0 if lies_again else back


class Payers(NamedTuple):
    """Whose debts are meant: of a seat, and of a patron and a coup where they are named.

    An empty patron means the wagers that have none.
    """

    seat: int | None
    patron: str | None = None
    coup: str | None = None


@dataclass(frozen=True)
class ModelSettlement:
    """One phase of a coup as it is paid."""

    revision: int
    lines: Mapping[str, Line]
    stakes: Mapping[str, Stake]
    cards: tuple[tuple[str, ...], tuple[str, ...], str | None]
    rulebook: str

    def same(self, other: "ModelSettlement") -> bool:
        """Whether both say the same but for the number of the revision."""
        mine, others = (
            (list(each.lines.items()), each.stakes, each.cards, each.rulebook)
            for each in (self, other)
        )
        return mine == others


@dataclass
class ModelCoup:
    """A coup: wagers that stand by their ids, cards by their places, and its money."""

    id: str
    rulebook: ModelRulebook
    phase: str = "betting"
    closed: bool = False
    wagers: dict[str, Stake] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    cards: dict[str, str | None] = field(default_factory=dict)
    settlements: dict[int, ModelSettlement] = field(default_factory=dict)
    returned: dict[str, Stake] = field(default_factory=dict)
    laid: dict[str, int] = field(default_factory=dict)
    debts: dict[Payer, Debt] = field(default_factory=dict)

    def hand(self, letter: str) -> tuple[str, ...]:
        """The known faces of a hand."""
        faces = (self.cards.get(f"{letter}{n}") for n in (1, 2, 3))
        return tuple(face for face in faces if face)

    @property
    def settled_to_its_end(self) -> bool:
        """Whether it ever was."""
        return _LAST in self.settlements

    @property
    def unsettled(self) -> dict[str, Stake]:
        """The wagers that lie on the layout."""
        taken = {name for each in self.settlements.values() for name in each.lines}
        gone = taken | self.returned.keys()
        return {name: each for name, each in self.wagers.items() if name not in gone}

    def complete(self) -> bool:
        """Whether every card due lies there, and no other, by the printed rules."""
        player, banker = list[str](), list[str]()
        while (place := due(player, banker)) is not None:
            face = self.cards.get(place)
            if face is None:
                return False
            (player if place[0] == "P" else banker).append(face)
        return len(player) + len(banker) == len(self.cards)


class Model:
    """A table's money.

    Args:
        rulebooks: by name, each that a coup can be played or judged by.
        name: of the one in force.
    """

    def __init__(self, rulebooks: Mapping[str, ModelRulebook], name: str) -> None:
        self.rulebooks = rulebooks
        self.rulebook = rulebooks[name]
        self.coups: dict[str, ModelCoup] = {}
        self.coup: ModelCoup | None = None
        self.shoe = 0
        self.played = 0
        self.refunds: Counter[tuple[str, Payer]] = Counter()
        self._owing: list[tuple[str, Payer]] = []
        self.differences: dict[tuple[str, int], dict[int, tuple[int, int, int]]] = {}

    # ---- what can be read ----

    @property
    def in_progress(self) -> bool:
        """Whether a coup is neither settled nor void."""
        return self.coup is not None and self.coup.phase not in OVER

    @property
    def wagers(self) -> Mapping[str, Stake]:
        """What lies on the layout in the coup, by the wagers' ids."""
        return self._current().wagers

    @property
    def may_begin(self) -> bool:
        """Whether nothing is in progress and nothing is owed: the game goes on."""
        return not self.in_progress and not self.owed("outstanding")

    def debts(self) -> Iterator[tuple[str, Payer, Debt]]:
        """Every debt, that which came up first before all others."""
        for coup, payer in self._owing:
            yield coup, payer, self.coups[coup].debts[payer]

    def owed(self, what: str) -> Counter[int]:
        """Return by seat what is `outstanding`, `collected`, `recovered`, `given_up`, `accrued`."""
        seats: Counter[int] = Counter()
        for _, (seat, _), debt in self.debts():
            seats[seat] += getattr(debt, what)
        return +seats

    def laid(self) -> Counter[int]:
        """Return by seat what lies in the circle."""
        seats: Counter[int] = Counter()
        if self.coup is not None:
            for name, amount in self.coup.laid.items():
                seats[self.coup.wagers[name].seat] += amount
        return +seats

    def laid_at_most(self) -> Counter[int]:
        """Return by seat what may lie there: what a first phase has left may wait for the end."""
        seats = self.laid()
        if self.coup is not None and self.in_progress and _FIRST in self.coup.settlements:
            first = self.coup.settlements[_FIRST]
            for name, line in first.lines.items():
                stake = first.stakes[name]
                laid = self.coup.rulebook.laid_for(stake)
                seats[stake.seat] += max(laid - line.commission, 0)
        return +seats

    def accounts(self) -> dict[str, Counter[int]]:
        """Return by account of a ledger and seat what should stand there, debits positive."""
        names = {"outstanding": "outstanding", "uncollected": "given_up"}
        names |= {name: name for name in ("collected", "recovered")}
        made = {account: self.owed(what) for account, what in names.items()}
        seat, pool, win, owed = (Counter[int]() for _ in range(4))
        for coup in self.coups.values():
            for each in coup.settlements.values():
                for name, line in each.lines.items():
                    stake = each.stakes[name]
                    seat[stake.seat] += stake.chips - line.paid - line.commission
                    lost = stake.chips if line.result == "lose" else 0
                    win[stake.seat] -= lost - line.winnings
                    owed[stake.seat] -= line.commission
        for stake in self.coup.unsettled.values() if self.coup and self.in_progress else ():
            seat[stake.seat] += stake.chips
            pool[stake.seat] -= stake.chips
        for account, seats in (("seat", seat), ("pool", pool), ("win", win), ("commission", owed)):
            made[account] = Counter({its: amount for its, amount in seats.items() if amount})
        return made

    def totals(self) -> tuple[int, int, int]:
        """Return what is staked, paid and kept by settlements in the table's currency."""
        staked = paid = kept = 0
        for coup in self.coups.values():
            if coup.rulebook.currency != self.rulebook.currency:
                continue
            for each in coup.settlements.values():
                staked += sum(each.stakes[name].chips for name in each.lines)
                paid += sum(line.paid for line in each.lines.values())
                kept += sum(line.commission for line in each.lines.values())
        return staked, paid, kept

    # ---- a coup's course ----

    def load(self) -> None:
        """Another shoe."""
        self.shoe, self.played = self.shoe + 1, 0

    def open(self) -> None:
        """The next coup of the shoe begins."""
        self.played += 1
        self.refunds.clear()
        self.coup = ModelCoup(f"{self.shoe}/{self.played}", self.rulebook)
        self.coups[self.coup.id] = self.coup

    def place(self, wagers: Iterable[tuple[str, Stake]]) -> None:
        """These wagers are laid."""
        coup = self._current()
        for name, wager in wagers:
            coup.wagers[name] = wager
            coup.names.append(name)

    def withdraw(self, names: Sequence[str]) -> None:
        """These go back, and the side bets that stood on them."""
        self._return(self._current().wagers.keys() - self._without(names).keys())

    def close(self) -> None:
        """Betting closes: what lacks its main wager goes back, what is prepaid is laid.

        What is left on a bet of which some went back, and is too little, goes back as well.
        """
        coup = self._current()
        if coup.closed:
            return
        coup.closed = True
        alone = self.unsupported(coup.wagers)
        bets = {coup.wagers[name].bet for name in alone}
        self._return(alone)
        self._return(
            name for name in self._too_little(coup.wagers) if coup.wagers[name].bet in bets
        )
        self._lay(coup)

    def _return(self, names: Iterable[str]) -> None:
        coup = self._current()
        for name in list(names):
            coup.returned[name] = coup.wagers.pop(name)

    def card(self, place: str, face: str | None) -> None:
        """A card lies at its place, or its face is told."""
        coup = self._current()
        if face is not None or coup.rulebook.procedure("betting_closes", "") != "before_reveal":
            self.close()
        coup.cards[place] = face

    def stand(self, phase: str) -> None:
        """The table says in which phase the coup in progress stands."""
        coup = self.coup
        if coup is None or coup.phase in OVER:
            return
        if phase == "voided":
            self._void(coup)
        elif phase == "settled":
            self._settle_all(coup)
        elif phase in _JUDGED and coup.closed:
            self._first(coup)
            self._lay(coup)
        self._owe(coup)
        coup.phase = phase

    # ---- corrections ----

    def hands(self, name: str, cards: Mapping[str, str | None]) -> None:
        """These are the coup's cards, whole."""
        coup = self.coups[name]
        coup.cards = dict(cards)
        self._judge_again(coup, counts=True)

    def face(self, name: str, place: str, face: str) -> None:
        """One face of a coup that is over was another."""
        coup = self.coups[name]
        coup.cards = {**coup.cards, place: face}
        self._judge_again(coup)

    def wager(self, name: str, wager: str, to: Stake | None) -> None:
        """A wager stood as `to`, or did not; whose it was stays, where `to` names nobody."""
        coup = self.coups[name]
        was = coup.wagers.get(wager)
        if to is not None and to.patron is None and was is not None:
            to = replace(to, patron=was.patron)
        if wager not in coup.wagers:
            coup.names.append(wager)
        if to is None:
            del coup.wagers[wager]
        else:
            coup.wagers[wager] = to
        self._judge_again(coup)

    def played_by(self, name: str, rulebook: str) -> None:
        """A coup was played by another rulebook."""
        coup = self.coups[name]
        coup.rulebook = self.rulebooks[rulebook]
        self._judge_again(coup)

    def void(self, name: str) -> None:
        """A coup that was settled does not count; nor, of one that is void, what was paid."""
        coup = self.coups[name]
        again = coup.phase == "voided"
        if not again:
            self._as_void(coup, _LAST)
        if again or coup.rulebook.reverses_all:
            self._as_void(coup, _FIRST)
        coup.phase = "voided"
        self._owe(coup)

    # ---- commission ----

    def collect(self, of: Payers, amount: int | None) -> None:
        """A seat, or each, pays what it owes, its oldest coups first."""
        for debt in self.chosen(of):
            paid = debt.outstanding if amount is None else min(amount, debt.outstanding)
            debt.collected += paid
            amount = None if amount is None else amount - paid

    def give_up(self, of: Payers) -> None:
        """What a seat owes cannot be had."""
        for debt in self.chosen(of):
            debt.given_up += debt.outstanding

    def recover(self, of: Payers, amount: int) -> None:
        """A seat pays what had been given up, of its oldest coups first."""
        for debt in self.chosen(of):
            paid = min(amount, debt.given_up)
            debt.given_up -= paid
            debt.recovered += paid
            amount -= paid

    def chosen(self, of: Payers) -> Iterator[Debt]:
        """Return the debts that a command is about, the oldest first."""
        return (debt for _, _, debt in self._chosen(of))

    def _chosen(self, of: Payers) -> Iterator[tuple[str, Payer, Debt]]:
        for coup, (seat, patron), debt in self.debts():
            whose = of.patron in {None, patron or ""}
            if whose and of.seat in {None, seat} and of.coup in {None, coup}:
                yield coup, (seat, patron), debt

    def may_pay(self, of: Payers, what: str, amount: int | None) -> bool:
        """Whether so much can be paid.

        A part of what several patrons owe must be said whose, and no amount adds up currencies.
        """
        owed = [each for each in self._chosen(of) if getattr(each[2], what)]
        total = sum(getattr(debt, what) for _, _, debt in owed)
        patrons = {patron for _, (_, patron), _ in owed}
        currencies = {self.coups[coup].rulebook.currency for coup, _, _ in owed}
        if amount is not None and len(currencies) > 1:
            return False
        return 0 < total >= (amount or 0) and (len(patrons) == 1 or amount in {None, total})

    # ---- what the rules allow ----

    def may_correct(self, name: str, cards: Mapping[str, str | None]) -> bool:
        """Whether a coup has been paid, by other cards than these: then it can be corrected."""
        coup = self.coups.get(name)
        if coup is None or coup.phase not in OVER:
            return False
        if coup.phase == "voided" and not coup.settled_to_its_end and coup.rulebook.reverses_all:
            return False
        paid = any(each.lines for each in coup.settlements.values())
        first = all(coup.cards.get(place) == cards.get(place) for place in _PLACES[:4])
        return paid and not first

    def may_place(self, more: Sequence[Stake]) -> bool:
        """Whether a set of wagers can be laid beside those that lie there."""
        coup = self._current()
        for each in more:
            bet = coup.rulebook.bets.get(each.bet, {"offered": False})
            step = bet.get("step", coup.rulebook.unit)
            if (
                each.seat not in _SEATS
                or not bet.get("offered", True)
                or each.stake < 1
                or each.stake % step
                or each.stake % coup.rulebook.unit
            ):
                return False
        all_ = [*coup.wagers.values(), *more]
        supported = coup.rulebook.options("side_bet_first", absent=True) or all(
            self._supported(coup.rulebook, each, all_) for each in more
        )
        return supported and self._within_limits(all_, more) and self._combined(all_)

    def may_withdraw(self, names: Sequence[str]) -> bool:
        """Whether these can go back together: enough is left, within the differential."""
        coup = self._current()
        left = [each for name, each in coup.wagers.items() if name not in names]
        before, after = self._ahead(list(coup.wagers.values())), self._ahead(left)
        limit = self._limit("differential")
        close = limit is None or abs(after) <= max(limit, 0) or abs(after) <= abs(before)
        return close and not self._too_little(self._without(names))

    def _limit(self, key: str) -> int | None:
        limits: Mapping[str, int] = self._current().rulebook.data.get("limits", {})
        return limits.get(key)

    @staticmethod
    def _ahead(wagers: Sequence[Stake]) -> int:
        sides: Counter[str] = Counter()
        for each in wagers:
            sides[each.bet] += each.stake
        return sides["player"] - sides["banker"]

    def _within_limits(self, wagers: Sequence[Stake], more: Sequence[Stake]) -> bool:
        """Whether every sum that a limit binds is within it; a minimum binds what is laid now."""
        book = self._current().rulebook
        sums: Counter[object] = Counter()
        keys = {each: book.bound(each) for each in wagers}
        for each in wagers:
            for key in (keys[each], ("bet", each.bet), each.person, ("seat", each.seat, "box"), 0):
                sums[key] += each.stake
        for each in more:
            bet = book.bets[each.bet]
            alone = each.stake if keys[each] is None else sums[keys[each]]
            most = (
                (alone, bet.get("maximum")),
                (sums["bet", each.bet], bet.get("table_maximum")),
                (sums[each.person], self._limit("patron_maximum")),
                (sums["seat", each.seat, "box"], self._limit("seat_maximum")),
                (sums[0], self._limit("table_maximum")),
            )
            for total, limit in most:
                if limit is not None and total > limit:
                    return False
            if alone < bet.get("minimum", 1):
                return False
        apart = self._limit("differential")
        return apart is None or abs(self._ahead(wagers)) <= apart

    def _combined(self, wagers: Sequence[Stake]) -> bool:
        options = self._current().rulebook.data.get("options", {})
        bets: dict[object, set[str]] = {}
        for each in wagers:
            bets.setdefault(each.person, set()).add(each.bet)
        for its in bets.values():
            if {"player", "banker"} <= its and not options.get("allow_opposite", False):
                return False
            four = {"main" if bet in {"player", "banker"} else bet for bet in its}
            four &= {"main", "tie", "lucky8_player", "lucky8_banker"}
            if len(four) > options.get("max_options", len(four)):
                return False
        return True

    def _without(self, names: Sequence[str]) -> dict[str, Stake]:
        """What a withdrawal leaves: the side bets that stood on these go with them."""
        before = self._current().wagers
        left = {name: each for name, each in before.items() if name not in names}
        gone = self.unsupported(left) - self.unsupported(before)
        return {name: each for name, each in left.items() if name not in gone}

    def _too_little(self, wagers: Mapping[str, Stake]) -> list[str]:
        """The wagers that do not come to their minimum with what it binds beside them."""
        book = self._current().rulebook
        bound = {name: book.bound(each) or name for name, each in wagers.items()}
        sums: Counter[object] = Counter()
        for name, each in wagers.items():
            sums[bound[name]] += each.stake
        least = {name: book.bets[each.bet].get("minimum", 1) for name, each in wagers.items()}
        return [name for name in wagers if sums[bound[name]] < least[name]]

    def unsupported(self, wagers: Mapping[str, Stake]) -> set[str]:
        """The wagers that lack the main wager that they need."""
        book, beside = self._current().rulebook, list(wagers.values())
        return {name for name, each in wagers.items() if not self._supported(book, each, beside)}

    @staticmethod
    def _supported(book: ModelRulebook, wager: Stake, wagers: Sequence[Stake]) -> bool:
        needs = book.bets.get(wager.bet, {}).get("requirement", "none")
        own = [each for each in wagers if each.person == wager.person]
        if needs == "same_seat":
            own = [each for each in own if each.seat == wager.seat]
        tie = book.options("tie_is_main", absent=needs == "any_main")
        mains = MAINS if tie else MAINS - {"tie"}
        return needs == "none" or any(each.bet in mains for each in own)

    # ---- settlement ----

    def _current(self) -> ModelCoup:
        assert self.coup is not None
        return self.coup

    def _judge_again(self, coup: ModelCoup, *, counts: bool = False) -> None:
        if coup.phase == "settled" or (counts and coup.settled_to_its_end):
            coup.phase = "settled"
            self._settle_all(coup)
        elif coup.phase == "voided":
            if coup.rulebook.reverses_all:
                self._as_void(coup, _FIRST, again=True)
            else:
                self._first(coup)
            self._as_void(coup, _LAST, again=True)
        elif coup.phase in _JUDGED:
            self._first(coup)
        if coup.closed:
            self._lay(coup)
        self._owe(coup)

    def _settle_all(self, coup: ModelCoup) -> None:
        assert coup.complete(), f"{coup.id} was settled on {coup.cards}"
        self._first(coup)
        self._issue(coup, _LAST, coup.hand("P"), coup.hand("B"))
        coup.laid = {}

    def _first(self, coup: ModelCoup) -> None:
        """The first phase, once four faces are known and there is anything in it."""
        known = all(coup.cards.get(place) for place in _PLACES[:4])
        has = any(coup.rulebook.phase_of(each.bet) == _FIRST for each in coup.wagers.values())
        before = coup.settlements.get(_FIRST)
        if known and (has or before):
            self._issue(coup, _FIRST, coup.hand("P")[:2], coup.hand("B")[:2])
        elif before:
            self._issue(coup, _FIRST, *before.cards[:2])

    def _issue(
        self, coup: ModelCoup, phase: int, player: tuple[str, ...], banker: tuple[str, ...]
    ) -> None:
        # What went back with a void is back, whichever phase it would belong to by now.
        last = coup.settlements.get(_LAST) if coup.phase == "voided" else None
        gone = {*coup.returned, *(last.lines if last else ())}
        stakes = {
            name: each
            for name, each in coup.wagers.items()
            if coup.rulebook.phase_of(each.bet) == phase and name not in gone
        }
        judged = coup.rulebook.settle(list(stakes.values()), phase, player, banker)
        lines = dict(zip(stakes, judged, strict=True))
        if coup.phase == "voided":
            # A first phase that the coup's rulebook has no more was never due: the stakes go back.
            taken = coup.settlements[phase].lines
            stakes = {name: each for name, each in coup.wagers.items() if name in {*stakes, *taken}}
            back = {name: Line("void", "void", 0, 0, each.chips) for name, each in stakes.items()}
            lines = {name: lines.get(name, back[name]) for name in stakes}
        winner = winner_of(player, banker) if phase == _LAST else None
        self._put(coup, phase, lines, stakes, (player, banker, winner))

    def _as_void(self, coup: ModelCoup, phase: int, *, again: bool = False) -> None:
        """Every stake of the phase goes back.

        Args:
            coup: the coup.
            phase: one of its phases.
            again: they went back before: what is on record changes only if it was not so.
        """
        there = coup.settlements.get(phase)
        if there is not None and (there.lines or phase == _LAST or again):
            stakes = {name: each for name, each in coup.wagers.items() if name in there.lines}
            lines = {name: Line("void", "void", 0, 0, each.chips) for name, each in stakes.items()}
            self._put(coup, phase, lines, stakes, there.cards, void=not again)

    def _put(
        self,
        coup: ModelCoup,
        phase: int,
        lines: Mapping[str, Line],
        stakes: Mapping[str, Stake],
        cards: tuple[tuple[str, ...], tuple[str, ...], str | None],
        *,
        void: bool = False,
    ) -> None:
        before = coup.settlements.get(phase)
        revision = before.revision + 1 if before else 1
        made = ModelSettlement(revision, lines, dict(stakes), cards, coup.rulebook.hash)
        if void or before is None or not before.same(made):
            coup.settlements[phase] = made
            if before is not None or coup.phase in OVER:
                self.differences[coup.id, phase] = _difference(before, made)

    def _void(self, coup: ModelCoup) -> None:
        """A coup in progress does not count: what is unsettled goes back."""
        if _FIRST in coup.settlements:
            if coup.rulebook.reverses_all:
                self._as_void(coup, _FIRST)
            else:
                self._first(coup)
        coup.returned |= coup.unsettled
        coup.laid = {}

    def _lay(self, coup: ModelCoup) -> None:
        """What lies in the circle: commission of the wagers that are not settled yet."""
        waiting = coup.unsettled if coup.phase not in OVER else {}
        laid = {name: coup.rulebook.laid_for(each) for name, each in waiting.items()}
        coup.laid = {name: amount for name, amount in laid.items() if amount}

    def _owe(self, coup: ModelCoup) -> None:
        """The coup's debts, by the settlements in force."""
        due_: Counter[Payer] = Counter()
        for each in coup.settlements.values():
            for name, line in each.lines.items():
                due_[each.stakes[name].payer] += line.commission
        timing = coup.rulebook.timing
        lies_again = timing == "prepaid" and coup.phase not in OVER
        for payer in {**coup.debts, **due_}:
            debt = coup.debts.setdefault(payer, Debt())
            if due_[payer] and not debt.ever:
                self._owing.append((coup.id, payer))
            before = debt.refunded
            debt.become(due_[payer], timing, lies_again=lies_again)
            if timing != "deduct":
                self.refunds[coup.id, payer] += debt.refunded - before


def _difference(
    before: ModelSettlement | None, after: ModelSettlement
) -> dict[int, tuple[int, int, int]]:
    """What a revision changes, by seat: staked, paid, commission."""
    seats: dict[int, list[int]] = {}
    for sign, each in ((-1, before), (1, after)):
        for name, line in each.lines.items() if each else ():
            assert each is not None
            stake = each.stakes[name]
            sums = seats.setdefault(stake.seat, [0, 0, 0])
            for index, amount in enumerate((stake.chips, line.paid, line.commission)):
                sums[index] += sign * amount
    return {seat: (s, p, c) for seat, (s, p, c) in sorted(seats.items()) if s or p or c}
