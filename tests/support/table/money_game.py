"""Games in which anything is wagered and coups end in any way."""

import random
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands import (
    CloseBetting,
    CollectCommission,
    Command,
    ConfirmResult,
    CorrectCard,
    MarkUncollected,
    OpenBetting,
    PlaceWager,
    RecoverCommission,
    Refusal,
    VoidCoup,
    WagerRequest,
    WithdrawWager,
)
from events.types import DeviceResult, ReportLost
from simulators.device.deck import shuffled
from simulators.shoe.dealing import next_shoe_id
from table_core.decide.decision import DecisionContext
from table_core.roads.columns import Roads, bead_of
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.draw import judge_hands
from table_core.rules.rulebook import Rulebook
from table_core.state.coup import Phase
from table_core.state.shoe import times_seen
from table_core.state.table import TableState
from tests.support.cage.books import book
from tests.support.shoe.whole_shoe import CardTable, device_result
from tests.support.table.corrections import correct_at_random
from tests.support.table.coups import SHOE, World
from tests.support.table.settled_coups import recalled

# The shipped rulebooks, and what a site may make of them: other timings, coarse chips, pairs paid
# after the initial deal, a maximum that is often reached, a void that takes the first phase back.
BOOKS: Final[dict[str, Callable[[], Rulebook]]] = {
    **{name: lambda name=name: load_rulebook(name) for name in shipped_ids()},  # type: ignore[misc]  # the default is the loop's
    "prepaid": lambda: book("au-commission", "commission.timing=prepaid"),
    "per_coup": lambda: book("au-commission", "commission.timing=per_coup", "unit=5"),
    "per_shoe": lambda: book("nz-scale-one", "commission.timing=per_shoe", "commission.block=500"),
    "pairs first": lambda: book(
        "au-even-money",
        "bets.player_pair.phase=1",
        "bets.tiger_pair.phase=1",
        "procedure.void_after_phase_one=reverse_all",
    ),
    "prepaid pairs": lambda: book(
        "au-commission",
        "commission.timing=prepaid",
        "bets.tiger_pair.phase=1",
        "bets.tiger_pair.commission=true",
        "bets.tiger_pair.own_odds=true",
        "bets.player_pair.phase=1",
        "bets.player_pair.commission=true",
        "bets.player_pair.own_odds=true",
    ),
    "reverse_all": lambda: book("nz-scale-two", "procedure.void_after_phase_one=reverse_all"),
    "capped": lambda: book("mini-lucky8", "caps.maximum=900", "unit=3", "options.max_options=4"),
    "capped by patron": lambda: book("mini-lucky8", "caps.maximum=700", "caps.scope=patron"),
    "first placed": lambda: book(
        "mini-lucky8",
        "caps.maximum=650",
        "caps.allocation=first_placed",
        "commission.timing=per_coup",
    ),
    "opposite": lambda: book("ez", "options.allow_opposite=true", "unit=25"),
}

# What a coup may turn out to have been played by.
LIBRARY = ("au-commission", "nz-scale-one", "prepaid pairs", "per_coup", "per_shoe", "pairs first")

# A wager as it is asked for, what it stands on chosen among the rulebook's bets by number.
Asked = tuple[int, int, int, str, str | None]

ENDS = (
    "settled",
    "settled",
    "settled",
    "void early",
    "void",
    "disputed",
    "disputed void",
    "lost",
    "corrected",
)


class Played(Struct, frozen=True):
    """A coup as Hypothesis makes it up."""

    asked: list[Asked]
    withdrawn: list[int]
    closed_by_card: bool
    end: str
    owing: str
    corrections: int = 0


class Game:
    """A table and the shoe in it; `world` makes the table."""

    def __init__(
        self, rulebook: Rulebook, seed: int, world: Callable[[DecisionContext], World] = World
    ) -> None:
        self.rulebook = rulebook
        self.rng = random.Random(seed)
        # A coup is never judged again by a rulebook of another currency.
        library = tuple(
            replace(BOOKS[name](), currency=rulebook.currency)
            for name in LIBRARY
            if BOOKS[name]().hash != rulebook.hash
        )
        context = DecisionContext(table="t1", rulebook=rulebook, library=library)
        self.table = CardTable(context, world)
        self.world = self.table.world
        self.shoe, self.shoes = SHOE, list[str]()
        self.table.load(self.shoe, shuffled(seed))

    def ask(self, command: Command) -> None:
        """It may be refused: then nothing changes, and no chip moves."""
        before = self.world.state
        if isinstance(self.world.ask(command), Refusal):
            assert self.world.state is before

    def t(self) -> str:
        return self.world.transaction()

    def play(self, coup: Played) -> None:
        if self.table.over:
            self.shoes.append(self.shoe)
            self.shoe = next_shoe_id(self.shoe)
            self._settle_what_is_owed("collect")
            self.table.load(self.shoe, shuffled(self.shoe))
        self.world.must(OpenBetting(transaction=self.t()))
        for asked in coup.asked:
            self.ask(PlaceWager(transaction=self.t(), wagers=(self._wager(asked),)))
        for number in coup.withdrawn:
            standing = [*self.world.state.coup.wagers] if self.world.state.coup else []
            if number < len(standing):
                self.ask(WithdrawWager(transaction=self.t(), wagers=(standing[number],)))
        if coup.end == "void early":
            self.world.must(VoidCoup(transaction=self.t(), reason="void early"))
        else:
            if not coup.closed_by_card:
                self.world.must(CloseBetting(transaction=self.t()))
            self._deal(coup.end, corrections=coup.corrections)
        self._finish("corrected beyond the device's result")
        assert not self.world.state.in_progress
        self._settle_what_is_owed(coup.owing)
        for _ in range(coup.corrections):
            self._correct_a_coup_of_the_shoe()
            if self.shoes and self.rng.random() < 0.1:
                self._correct_a_coup_of_before()
            self._settle_what_is_owed(coup.owing)

    def _wager(self, asked: Asked) -> WagerRequest:
        seat, bet, stake, kind, patron = asked
        bets = list(self.rulebook.bets)
        return WagerRequest(
            seat=seat,
            bet=bets[bet % len(bets)],
            stake=stake * self.rulebook.unit,
            kind=kind,  # type: ignore[arg-type]  # a kind, by the strategy
            patron=patron,
        )

    def _deal(self, end: str, *, corrections: int) -> None:
        called = self.table.deal(squeeze=self.rng.random() < 0.25)
        if end == "corrected" and self.world.state.phase is Phase.COMPLETE:
            self._correct_twice()
        if corrections and self.world.state.in_progress:
            self._correct_before_the_result()
        result = device_result(called)
        if end == "lost":
            self.world.say(ReportLost(expected="1", got="3"))
        elif end.startswith("disputed"):
            other = "banker" if result.winner == "player" else "player"
            self.world.say(DeviceResult(winner=other))
        elif end != "void":
            self.world.say(result)
        if end == "disputed":
            self.ask(ConfirmResult(transaction=self.t(), reason="looked"))
        self._finish(end)

    def _finish(self, why: str) -> None:
        if self.world.state.in_progress:
            self.world.must(VoidCoup(transaction=self.t(), reason=why))

    def _correct_before_the_result(self) -> None:
        """Cards and wagers of the coup in progress are put right, whatever is refused."""
        coup = self.world.state.coup
        assert coup is not None
        correct_at_random(self.world, self.rng, coup)

    def _correct_a_coup_of_the_shoe(self) -> None:
        """Any coup of the shoe, also one that was corrected or void; at times in mid-coup."""
        past = list(self.world.state.past)
        if not past:
            return
        between = not self.world.state.in_progress
        if between and not self.table.over and self.rng.random() < 0.1:
            self.ask(OpenBetting(transaction=self.t()))
        correct_at_random(self.world, self.rng, self.rng.choice(past))
        check_past(self.world.state)
        if self.world.state.in_progress:
            self.world.must(VoidCoup(transaction=self.t(), reason="a correction came between"))

    def _correct_a_coup_of_before(self) -> None:
        """A coup of an earlier shoe, by what the log recalls of it."""
        shoe, here = self.rng.choice(self.shoes), self.world.state
        then = recalled(self.world, shoe)
        self.world.context = replace(self.world.context, recalled=then)
        correct_at_random(self.world, self.rng, self.rng.choice(list(then.past)))
        check_past(recalled(self.world, shoe))
        assert (self.world.state.past, self.world.state.shoe) == (here.past, here.shoe)

    def _correct_twice(self) -> None:
        """A face is taken for another and back: a first phase is taken back and issued again."""
        coup, shoe = self.world.state.coup, self.world.state.shoe
        assert coup is not None
        assert shoe is not None
        dealt = self.rng.choice(coup.cards[:4])
        assert dealt.card is not None
        partner = next(
            each.card
            for each in coup.cards
            if each.card and each.hand is dealt.hand and each.number != dealt.number
        )
        left = [face for face in Card if times_seen(shoe, face) < shoe.decks]
        pairs = [face for face in left if face.rank == partner.rank and face is not dealt.card]
        another = self.rng.choice(self.rng.choice((left, pairs or left)))
        for face in (another, dealt.card):
            correct = CorrectCard(
                transaction=self.t(), hand=dealt.hand, number=dealt.number, face=face, reason="r"
            )
            self.ask(correct)

    def _settle_what_is_owed(self, way: str) -> None:
        for owing in self.world.state.commission.outstanding:
            if way == "one":
                part = CollectCommission(transaction=self.t(), seat=owing.seat, amount=1)
                self.ask(part)
            elif way in {"give up", "recover"}:
                self.ask(MarkUncollected(transaction=self.t(), seat=owing.seat, reason="left"))
        for gone in self.world.state.commission.uncollected:
            if way == "recover":
                amount = -(-gone.amount // 2)
                self.ask(RecoverCommission(transaction=self.t(), seat=gone.seat, amount=amount))
        self.ask(CollectCommission(transaction=self.t()))


def check_past(state: TableState) -> None:
    """The roads are those of the cards on record, and the newest coup on record is the table's."""
    assert state.shoe is not None
    roads = Roads()
    for coup in state.past:
        if coup.phase is Phase.SETTLED:
            player, banker = (
                [dealt.card for dealt in coup.hand(hand) if dealt.card] for hand in Hand
            )
            roads = roads.add(bead_of(judge_hands(player, banker)))
    assert state.shoe.roads == roads
    last = state.coup
    if last and state.past and not state.in_progress and last.id.startswith(f"{state.shoe.id}/"):
        kept = state.past.back(1)
        assert (kept.id, kept.phase) == (last.id, last.phase)
        assert (kept.wagers, kept.settlements) == (last.wagers, last.settlements)


def random_coup(rng: random.Random) -> Played:
    return Played(
        asked=[
            (
                rng.randint(1, 9),
                rng.randrange(20),
                rng.randint(1, 200),
                rng.choice(("chips", "chips", "chips", "promo", "toke")),
                rng.choice((None, "p-1", "p-2", "p-3")),
            )
            for _ in range(rng.randrange(20))
        ],
        withdrawn=[rng.randrange(20)] if rng.random() < 0.1 else [],
        closed_by_card=rng.random() < 0.2,
        end=rng.choice(("settled",) * 9 + ENDS),
        owing=rng.choice(("collect", "one", "give up", "recover")),
        corrections=rng.choice((0, 0, 0, 1, 2)),
    )
