"""Random histories: people and a shoe that do anything, sensible or not, from one seed."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests.support.cage.books import source
from tests.support.money_model.compare import Comparison
from tests.support.money_model.model import Model, ModelCoup
from tests.support.money_model.rulebook import MARKED
from tests.support.money_model.rules import due
from tests.support.money_model.steps import NOBODY, Steps

GAMES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "AUD": {
        "au-commission": ("au-commission",),
        "au-even-money": ("au-even-money",),
        "extras": ("extras",),
        "prepaid": (
            "au-commission",
            "procedure.excess=burn",
            "commission.timing=prepaid",
            "options.allow_opposite=true",
        ),
        "prepaid-pairs": (
            "au-commission",
            "commission.timing=prepaid",
            "bets.tiger_pair.phase=1",
            "bets.tiger_pair.commission=true",
            "bets.tiger_pair.own_odds=true",
            "bets.player_pair.phase=1",
            "bets.player_pair.commission=true",
            "bets.player_pair.own_odds=true",
        ),
        "per-coup": ("au-commission", "commission.timing=per_coup", "unit=5"),
        "per-shoe": (
            "au-commission",
            "procedure.excess=burn",
            "commission.timing=per_shoe",
            "commission.block=500",
            "bets.player_pair.phase=1",
        ),
        "pairs-first": (
            "au-even-money",
            "bets.player_pair.phase=1",
            "bets.tiger_pair.phase=1",
            "procedure.void_after_phase_one=reverse_all",
        ),
        "differential": ("au-commission", "limits.differential=900", "limits.table_maximum=2000"),
        "marked-pairs": (
            "au-commission",
            "commission.timing=per_shoe",
            "bets.tiger_pair.phase=1",
            "bets.tiger_pair.commission=true",
            "bets.tiger_pair.own_odds=true",
            "bets.player_pair.commission=true",
            "bets.player_pair.own_odds=true",
        ),
        "late-pairs": (
            "au-commission",
            "commission.timing=per_coup",
            "bets.tiger_pair.commission=true",
            "bets.tiger_pair.own_odds=true",
        ),
        "face-down": ("extras", "procedure.betting_closes=before_reveal"),
        "form-one": ("au-commission", "form=1", "bets.banker.maximum=300", "bets.tie.minimum=20"),
        "limits": (
            "au-commission",
            "bets.banker.maximum=400",
            "bets.player.maximum=300",
            "bets.player.per=seat",
            "bets.tie.maximum=200",
            "bets.tie.per=spot",
            "bets.tie.minimum=20",
            "bets.tiger.per=wager",
            "bets.tiger.maximum=50",
            "bets.player_pair.table_maximum=400",
            "bets.banker_pair.requirement=any_main",
            "options.tie_is_main=false",
            "options.side_bet_first=false",
            "limits.patron_maximum=700",
            "limits.seat_maximum=800",
        ),
    },
    "NZD": {
        "nz-scale-one": ("nz-scale-one",),
        "nz-scale-two": ("nz-scale-two", "procedure.void_after_phase_one=reverse_all"),
        "nz-marked": (
            "nz-scale-one",
            "commission.timing=per_shoe",
            "bets.perfect_pairs.variant=both",
            "edge.floor=-1",
        ),
        "nz-coup": (
            "nz-scale-two",
            "commission.timing=per_coup",
            "rounding.commission=up",
            "unit=5",
        ),
    },
    "USD": {
        "mini-lucky8": ("mini-lucky8",),
        "ez": ("ez", "options.allow_opposite=true"),
        "capped": (
            "mini-lucky8",
            "caps.maximum=900",
            "options.max_options=4",
            "bets.lucky8_player.variant=no_suit",
            "edge.floor=-1",
            "unit=3",
        ),
        "by-patron": (
            "mini-lucky8",
            "caps.maximum=700",
            "caps.scope=patron",
            "commission.timing=per_shoe",
        ),
        "first-placed": (
            "mini-lucky8",
            "caps.maximum=650",
            "caps.allocation=first_placed",
            "commission.timing=per_coup",
        ),
    },
    "mixed": {
        "aud": ("au-commission", "commission.timing=per_shoe"),
        "nzd": ("nz-scale-one", "commission.timing=per_coup"),
        "usd": ("mini-lucky8", "commission.timing=per_shoe"),
    },
}
"""By game the rulebooks that it is played by: shipped ones, and what sites make of them."""

_RANKS: Final = "A23456789TJQK"
_SUITS: Final = "SHDC"
_PLACES: Final = ("P1", "B1", "P2", "B2", "P3", "B3")
_COUPS: Final = 7  # of a shoe
_INITIAL: Final = 4
_COPIES: Final = 7  # of a face that coups and corrections tell; the burn may have one


def texts(game: str) -> dict[str, str]:
    """Return a game's rulebooks by name, each a TOML with an id of its own."""
    made = {}
    for name, (shipped, *changes) in GAMES[game].items():
        made[name] = source(shipped, f"id={name}", *changes)
    return made


class Driver:
    """Chooses the next line by what the model knows.

    Args:
        seed: of everything.
        game: its name among `GAMES`.
    """

    def __init__(self, seed: int, game: str) -> None:
        self.rng = random.Random(f"money/{seed}")
        self.game = game
        self.steps = Steps(texts(game))
        marked = {name for name, book in self.steps.models.items() if book.timing in MARKED}
        self.names = [name for name in GAMES[game] for _ in range(3 if name in marked else 1)]
        self.name = self.rng.choice(self.names)
        self.faces = [
            rank + suit
            for rank in self.rng.sample(_RANKS, self.rng.choice((5, 9, 13)))
            for suit in _SUITS
        ]
        self.told: Counter[tuple[int, str]] = Counter()

    @property
    def model(self) -> Model:
        """The model of the table."""
        return self.steps.model

    def first(self) -> Sequence[str]:
        """How a history begins."""
        return (f"rulebook {self.name}", "load")

    def last(self) -> Iterator[str]:
        """How a history ends: whatever is open has a way out, and the game goes on."""
        model = self.model
        if model.in_progress:
            yield "void"
        if model.owed("outstanding"):
            yield "collect"
        yield from self._recovered()
        if not self.steps.shoe_ended:
            yield "end"
        yield "load"
        yield "open"
        yield "void"

    def _recovered(self) -> Iterator[str]:
        """What was given up is paid, debt by debt."""
        for coup, (seat, patron), debt in list(self.model.debts()):
            if debt.given_up:
                yield f"recover {seat} {debt.given_up} {patron or NOBODY} {coup}"

    def next(self) -> str:
        """Return the next line."""
        rng, model = self.rng, self.model
        if rng.random() < 0.04:
            return rng.choice(("restart", *(self._anything() for _ in range(9)), "replace"))
        if model.coups and rng.random() < 0.12:
            return self._correct(self._some_coup())
        if (model.owed("outstanding") or model.owed("given_up")) and rng.random() < 0.15:
            return self._pay()
        if model.in_progress:
            return self._go_on(self.steps.coup)
        return self._begin()

    # ---- between coups ----

    def _begin(self) -> str:
        model, rng = self.model, self.rng
        owed = model.owed("outstanding")
        if owed and model.rulebook.timing == "per_coup" and rng.random() < 0.8:
            return "collect" if rng.random() < 0.3 else self._pay()
        if rng.random() < (0.06 if self.game != "mixed" else 0.3):
            return f"rulebook {rng.choice(self.names)}"
        if self.steps.shoe_ended:
            return self._pay() if owed and rng.random() < 0.8 else "load"
        if model.played >= _COUPS or (model.played and rng.random() < 0.02):
            return "end"
        return "free" if rng.random() < (0.5 if self.steps.dummy_due else 0.05) else "open"

    def _pay(self) -> str:
        rng = self.rng
        owed = [each for each in self.model.debts() if each[2].outstanding or each[2].given_up]
        if not owed or rng.random() < 0.1:
            return rng.choice(
                ("collect", f"collect {rng.randint(1, 5)} 1", "giveup 2", "recover 1 3")
            )
        coup, (seat, patron), debt = rng.choice(owed)
        whose = f" {patron or NOBODY}" if rng.random() < 0.7 else ""
        if rng.random() < 0.4:
            whose += f" {coup}"
        if debt.given_up and rng.random() < 0.6:
            part = rng.choice((1, debt.given_up, -(-debt.given_up // 2), debt.given_up + 1))
            return f"recover {seat} {part}{whose}"
        part = (
            rng.choice((1, debt.outstanding, -(-debt.outstanding // 2), debt.outstanding + 1)) or 1
        )
        return rng.choice(
            (
                f"collect {seat} {part}{whose}",
                f"collect {seat}{whose}",
                f"giveup {seat}{whose}",
                "collect",
            )
        )

    # ---- a coup's course ----

    def _go_on(self, coup: ModelCoup) -> str:
        ways = {
            "betting": self._bet,
            "misaligned": self._mend,
            "complete": self._result,
            "disputed": self._result,
            "held": self._resolve,
        }
        draw = self.rng.random()
        if draw < 0.006:
            return "void"
        if draw < 0.016 and coup.phase != "betting":
            return "lost"
        return ways.get(coup.phase, self._deal)(coup)

    def _deal(self, coup: ModelCoup) -> str:
        """The next card of the coup, or the next face where some are withheld."""
        rng = self.rng
        hidden = [place for place in _PLACES if place in coup.cards and coup.cards[place] is None]
        if hidden and (not self._hide(coup) or rng.random() < 0.5):
            return self._tell(hidden[0])
        place = _PLACES[len(coup.cards)] if hidden else due(coup.hand("P"), coup.hand("B"))
        if place is None:
            return "void"
        if coup.cards and rng.random() < 0.02:
            return f"mark {rng.choice(list(coup.cards))}"
        return f"{place} {'?' if self._hide(coup) else self._face()}"

    def _hide(self, coup: ModelCoup) -> bool:
        return int(coup.id.rpartition("/")[2]) % 4 == 3 and len(coup.cards) < _INITIAL

    def _tell(self, place: str) -> str:
        word = "show" if self._was_drawn_hidden(place) else "enter"
        return f"{word} {place} {self._face()}"

    def _was_drawn_hidden(self, place: str) -> bool:
        state = self.steps.table.state.coup
        assert state is not None
        dealt = next(
            each for each in state.cards if f"{each.hand.value[0].upper()}{each.number}" == place
        )
        return dealt.source == "shoe"

    def _resolve(self, _: ModelCoup) -> str:
        return self.rng.choice(("excess seen", "excess hidden", "void"))

    def _result(self, coup: ModelCoup) -> str:
        draw = self.rng.random()
        if coup.phase == "disputed":
            return "confirm" if draw < 0.6 else "void" if draw < 0.8 else self._correct(coup)
        if draw < 0.08:
            burned = coup.rulebook.procedure("excess", "carry") == "burn"
            return self.rng.choice(("result wrong", "outside" if burned else "result wrong"))
        return "confirm" if draw < 0.15 else "result"

    def _mend(self, coup: ModelCoup) -> str:
        draw = self.rng.random()
        if draw < 0.5:
            return "realign"
        if draw < 0.65:
            return "void"
        place = due(coup.hand("P"), coup.hand("B")) or self.rng.choice(_PLACES)
        return self.rng.choice(
            (f"enter {place} {self._face()}", f"card {self._place()} {self._face()}")
        )

    def _bet(self, coup: ModelCoup) -> str:
        draw, count = self.rng.random(), len(coup.wagers)
        if coup.names and draw < 0.08:
            numbers = {
                self.rng.randrange(len(coup.names)) for _ in range(self.rng.choice((1, 1, 2)))
            }
            return f"withdraw {' '.join(map(str, sorted(numbers)))}"
        if count < 2 or draw < 0.6 - 0.05 * count:
            wagers = (self._wager(coup) for _ in range(self.rng.choice((1, 1, 2, 3))))
            return f"place {'; '.join(wagers)}"
        if coup.rulebook.procedure("betting_closes", "") == "before_reveal":
            if coup.cards and draw < 0.8:
                return f"show {next(iter(coup.cards))} {self._face()}"
            return f"{_PLACES[len(coup.cards)]} ?" if len(coup.cards) < _INITIAL else "close"
        return "close" if draw < 0.9 else f"P1 {self._face()}"

    def _wager(self, coup: ModelCoup) -> str:
        rng = self.rng
        bets = list(coup.rulebook.bets)
        likely = [bet for bet in ("banker", "banker", "player", "tie") if bet in bets]
        paid_first = [bet for bet in bets if coup.rulebook.phase_of(bet) == 1]
        bet = rng.choice((rng.choice(likely), rng.choice(bets), rng.choice(paid_first or bets)))
        stake = rng.choice((1, rng.randint(1, 60), rng.randint(1, 400))) * coup.rulebook.unit
        words = [str(rng.randint(1, 4)), bet, str(stake)]
        words += rng.choice(([], [], [], ["promo"], ["toke"]))
        words += rng.choice(([], [], ["p-1"], ["p-2"]))
        return " ".join(words)

    # ---- corrections ----

    def _some_coup(self) -> ModelCoup:
        coups = list(self.model.coups.values())
        recent = coups[-4:]
        return self.rng.choice(recent if self.rng.random() < 0.85 else coups)

    def _correct(self, coup: ModelCoup) -> str:
        rng = self.rng
        kind = rng.choice([*["hands", "wager"] * 5, "by", "by", "by", "void", "card"])
        if kind == "card":
            named = (
                ""
                if coup.phase not in {"settled", "voided"} and rng.random() < 0.5
                else f" {coup.id}"
            )
            shoe = int(coup.id.partition("/")[0])
            return f"card {self._place()} {self._face(shoe)}{named}"
        if kind == "hands":
            return f"hands {coup.id} {self._hands(coup)}"
        if kind == "wager":
            number = (
                str(rng.randrange(len(coup.names))) if coup.names and rng.random() < 0.7 else "new"
            )
            to = "none" if number != "new" and rng.random() < 0.25 else self._wager(coup)
            return f"wager {coup.id} {number} {to}"
        if kind == "by":
            return f"by {coup.id} {rng.choice(self.names)}"
        return f"void {coup.id}"

    def _hands(self, coup: ModelCoup) -> str:
        if coup.complete() and self.rng.random() < 0.3:
            return f"{','.join(coup.hand('P'))} {','.join(coup.hand('B'))}"
        player, banker = list[str](), list[str]()
        shoe = int(coup.id.partition("/")[0])
        while (place := due(player, banker)) is not None:
            (player if place[0] == "P" else banker).append(self._face(shoe))
        return f"{','.join(player)} {','.join(banker)}"

    def _face(self, shoe: int | None = None) -> str:
        """A face of which the shoe, else this one, has one more: a ninth copy is another test's."""
        shoe = self.model.shoe if shoe is None else shoe
        faces = (self.faces, [rank + suit for rank in _RANKS for suit in _SUITS])
        left = ([face for face in of if self.told[shoe, face] < _COPIES] for of in faces)
        face = self.rng.choice(next(some for some in left if some))
        self.told[shoe, face] += 1
        return face

    def _place(self) -> str:
        return self.rng.choice(_PLACES)

    def _anything(self) -> str:
        """Something that may well be refused."""
        rng = self.rng
        return rng.choice(
            ("open", "close", "confirm", "realign", "collect", self._pay(), "load")
        )  # fmt: skip


def play(seed: int, game: str, steps: int) -> Comparison:
    """Play so many steps of a random history and compare after each.

    Raises:
        Difference: the table and the model disagree.
    """
    driver = Driver(seed, game)
    comparison = Comparison(driver.steps)
    for line in driver.first():
        comparison.take(line)
    for _ in range(steps):
        comparison.take(driver.next())
    for line in driver.last():
        comparison.take(line)
        assert not comparison.steps.code, f"{line}: {comparison.steps.code}"
    comparison.everything()
    assert driver.model.may_begin
    return comparison
