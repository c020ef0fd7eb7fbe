"""A history as lines of text, each a step for a table and for the model.

rulebook NAME                   what is played by; first of all, and again between coups
load                            another shoe, its first card exposed and its burn done
open, free, close               a coup begins, without wagers where it is a free hand
place 1 banker 100 promo p-1; 2 tie 5
withdraw 0 2                    the coup's wagers by their numbers, from 0
P1 9S, P1 ?, show P1 9S         a card comes to its place, with or without its face
result, result wrong            the shoe's own result, as the cards lie or another
lost                            a report of the shoe never arrived
mark P1, enter P1 9S, realign, confirm
card P1 9S [1/3]                a face is corrected, of the coup in progress or of another
hands 1/3 9S,KH 2D,3C           the whole hands
wager 1/3 2 1 banker 100        a wager by its number, or `new`, as it stood; `none`: it did not
by 1/3 NAME                     a coup was played by another rulebook
void [1/3], end, restart
collect [3 [50]] [p-1], giveup 3 [p-1], recover 3 50 [p-1]; `-`: of wagers without a patron
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from events.cards import Card, Hand, parse_card
from events.commands import (
    CloseBetting,
    CollectCommission,
    Command,
    ConfirmResult,
    CorrectCard,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
    EndShoe,
    EnterCard,
    FreeHand,
    LoadShoe,
    MarkUncollected,
    MarkUnreadable,
    OpenBetting,
    PlaceWager,
    Realign,
    RecoverCommission,
    Refusal,
    ReplaceShoe,
    ResolveIrregularity,
    VoidCoup,
    WagerRequest,
    WithdrawWager,
)
from events.types import (
    AnyReport,
    BurnCard,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    DeviceResult,
    FirstCard,
    LinkOpen,
    LinkUp,
    ReportLost,
    ShoeLoaded,
    TableEvent,
)
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import adopt_rulebook
from table_core.fold.dispatch import fold_all
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.state.table import TableState
from tests.support.money_model.model import OVER, Model, ModelCoup, Payers
from tests.support.money_model.rulebook import ModelRulebook, Stake
from tests.support.money_model.rules import points, winner_of
from tests.support.table.coups import World

_DAY: Final = "20261127-"
_HANDS: Final = {"P": Hand.PLAYER, "B": Hand.BANKER}
_PLACES: Final = ("P1", "B1", "P2", "B2", "P3", "B3")
_SIX: Final = 6
REASON: Final = "r"
NOBODY: Final = "-"
"""Stands for the patron of wagers that have none."""


def shoe_id(number: int) -> str:
    """Return the table's id of a shoe."""
    return f"{_DAY}{number:02d}"


def coup_id(name: str) -> str:
    """Return the table's id of a coup."""
    shoe, _, number = name.partition("/")
    return f"{shoe_id(int(shoe))}/{number}"


class Table(Protocol):
    """What a history is played on."""

    @property
    def state(self) -> TableState:
        """The table."""

    @property
    def events(self) -> Sequence[TableEvent]:
        """All that it recorded."""

    def ask(self, command: Command, shoe: str | None) -> str | None:
        """Give a command, about a coup of `shoe` where it names one; return why it was refused."""

    def say(self, *reports: AnyReport) -> None:
        """The shoe reports."""

    def play_by(self, rulebook: Rulebook) -> None:
        """From here on this rulebook is in force."""

    def restart(self) -> None:
        """The table ends and begins again."""


class PureTable:
    """The core alone."""

    def __init__(self, rulebook: Rulebook, library: Sequence[Rulebook]) -> None:
        self._library = tuple(library)
        context = DecisionContext(table="t1", rulebook=rulebook, library=self._library)
        self.world = World(context)

    @property
    def state(self) -> TableState:
        """The table."""
        return self.world.state

    @property
    def events(self) -> Sequence[TableEvent]:
        """All that it recorded."""
        return self.world.log

    def ask(self, command: Command, shoe: str | None) -> str | None:
        """Give a command; a refusal changes nothing."""
        before, known = self.world.state, len(self.world.log)
        current = before.shoe.id if before.shoe else None
        recall = self._recalled(shoe) if shoe not in {None, current} else None
        self.world.context = replace(self.world.context, recalled=recall)
        made = self.world.ask(command)
        if isinstance(made, Refusal):
            assert self.world.state is before
            assert len(self.world.log) == known
            return made.code
        return None

    def _recalled(self, shoe: str | None) -> TableState:
        """The table as it left a shoe, with what was said later of the shoe's coups."""
        state, there = TableState(), False
        for event in self.world.log:
            if isinstance(event, ShoeLoaded):
                there = event.shoe == shoe
            coup = getattr(event, "coup", None)
            if (there and coup is None) or str(coup).startswith(f"{shoe}/"):
                state = fold_all(state, [event])
        return state

    def say(self, *reports: AnyReport) -> None:
        """The shoe reports."""
        self.world.say(*reports)

    def play_by(self, rulebook: Rulebook) -> None:
        """From here on this rulebook is in force."""
        self.world.context = replace(self.world.context, rulebook=rulebook)
        self.world.take(adopt_rulebook(self.world.state, rulebook))

    def restart(self) -> None:
        """Fold the log anew: the state is the same."""
        assert fold_all(TableState(), self.world.log) == self.world.state


class Steps:
    """Plays a history's lines on a table and tells the model.

    Args:
        texts: the rulebooks by name, as TOML.
        table: makes the table by the rulebook in force and all others.
    """

    def __init__(self, texts: Mapping[str, str], table: type[PureTable] = PureTable) -> None:
        self.rulebooks = {
            name: parse_rulebook(f"{_id(text)}.toml", text.encode()) for name, text in texts.items()
        }
        self.models = {name: ModelRulebook.read(text) for name, text in texts.items()}
        self.make = table
        self.lines: list[str] = []
        self.table: Table
        self.model: Model
        self._transactions = 0
        self.code: str | None = None
        self.expected: bool | None = None
        self.touched: str | None = None
        self.dummy_due = False

    @property
    def coup(self) -> ModelCoup:
        """The coup in progress, or the last one."""
        assert self.model.coup is not None
        return self.model.coup

    @property
    def shoe_ended(self) -> bool:
        """Whether no coup comes from the shoe any more."""
        shoe = self.table.state.shoe
        return shoe is None or shoe.ended

    def take(self, line: str) -> None:
        """Play a line; `code` says why the table refused it, `expected` what the model thought."""
        self.lines.append(line)
        self.code, self.expected, self.touched = None, None, None
        if hasattr(self, "model"):
            self.model.differences.clear()
        word, *rest = line.split()
        if word in _PLACES:
            self._card(word, rest[0])
        else:
            getattr(self, f"do_{word}")(rest)
        self._stand()
        coup = self.model.coups.get(str(self.touched))
        if coup is not None and coup.rulebook.currency != self.model.rulebook.currency:
            self.expected = False  # amounts of another currency are not the table's to move

    def _stand(self) -> None:
        state = self.table.state
        coup = self.model.coup
        if coup is not None and state.coup is not None and state.coup.id == coup_id(coup.id):
            self.model.stand(state.phase.value)

    def _t(self) -> str:
        self._transactions += 1
        return f"t-{self._transactions}"

    def _ask(self, command: Command, name: str | None = None) -> bool:
        shoe = shoe_id(int(name.partition("/")[0])) if name else None
        self.touched = name
        self.code = self.table.ask(command, shoe)
        return self.code is None

    # ---- the shoe and the coup's course ----

    def do_rulebook(self, rest: Sequence[str]) -> None:
        """Play by it from now on."""
        name = rest[0]
        if not hasattr(self, "table"):
            self.table = self.make(self.rulebooks[name], tuple(self.rulebooks.values()))
            self.model = Model(self.models, name)
            self.table.say(LinkOpen(transport="pty:test"), LinkUp())
        elif not self.model.in_progress and (
            self.models[name].currency == self.model.rulebook.currency
            or not self.model.owed("outstanding")
        ):
            self.model.rulebook = self.models[name]
            self.table.play_by(self.rulebooks[name])

    def do_load(self, _: Sequence[str]) -> None:
        """Load the next shoe."""
        if self.model.may_begin and self.shoe_ended:
            self.expected = True
        if self._ask(LoadShoe(transaction=self._t(), shoe=shoe_id(self.model.shoe + 1))):
            self._begin_shoe()

    def _begin_shoe(self) -> None:
        self.model.load()
        self.dummy_due = False
        self.table.say(FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))

    def do_end(self, _: Sequence[str]) -> None:
        """End the shoe."""
        self._ask(EndShoe(transaction=self._t()))

    def do_replace(self, _: Sequence[str]) -> None:
        """Another shoe takes the place of this one; a coup in progress is void."""
        replace_shoe = ReplaceShoe(
            transaction=self._t(), shoe=shoe_id(self.model.shoe + 1), reason=REASON
        )
        if self._ask(replace_shoe):
            self._stand()
            self._begin_shoe()

    def do_restart(self, _: Sequence[str]) -> None:
        """End the table and begin again."""
        self.table.restart()

    def do_open(self, _: Sequence[str]) -> None:
        """Open betting."""
        if self.model.may_begin and not self.shoe_ended:
            self.expected = not self.dummy_due
        if self._ask(OpenBetting(transaction=self._t())):
            self.model.open()

    def do_free(self, _: Sequence[str]) -> None:
        """Begin a free hand."""
        if self._ask(FreeHand(transaction=self._t())):
            self.dummy_due = False
            self.model.open()
            self.model.close()

    def do_close(self, _: Sequence[str]) -> None:
        """Close betting."""
        if self._ask(CloseBetting(transaction=self._t())):
            self.model.close()

    def do_place(self, rest: Sequence[str]) -> None:
        """Lay wagers."""
        stakes = [_stake(text.split()) for text in " ".join(rest).split(";")]
        asked = tuple(_request(each) for each in stakes)
        transaction = self._t()
        if self._betting():
            self.expected = self.model.may_place(stakes)
        if self._ask(PlaceWager(transaction=transaction, wagers=asked)):
            self.model.place(
                (f"dealer/{transaction}/{index}", each) for index, each in enumerate(stakes)
            )

    def do_withdraw(self, rest: Sequence[str]) -> None:
        """Take wagers back."""
        names = [self._name(self.coup, int(number)) for number in rest]
        if self._betting() and all(name in self.coup.wagers for name in names):
            self.expected = (
                self.model.may_withdraw(names) if len(set(names)) == len(names) else None
            )
        if self._ask(WithdrawWager(transaction=self._t(), wagers=tuple(names))):
            self.model.withdraw(names)

    def _betting(self) -> bool:
        return self.model.coup is not None and self.coup.phase == "betting"

    @staticmethod
    def _name(coup: ModelCoup, number: int) -> str:
        return coup.names[number] if number < len(coup.names) else "dealer/none/0"

    # ---- cards ----

    def _card(self, place: str, face: str) -> None:
        known = None if face == "?" else face
        hand, number = _at(place)
        self.table.say(
            CardDrawn(hand=hand, number=number, face=parse_card(known) if known else None)
        )
        if place not in self.coup.cards and not self.coup.complete():
            self.model.card(place, known)

    def do_show(self, rest: Sequence[str]) -> None:
        """Disclose a card."""
        place, face = rest
        hand, number = _at(place)
        self.table.say(CardRevealed(hand=hand, number=number, face=parse_card(face)))
        if self.coup.cards.get(place, face) is None:
            self.model.card(place, face)

    def do_result(self, rest: Sequence[str]) -> None:
        """The shoe's own result."""
        player, banker = self.coup.hand("P"), self.coup.hand("B")
        winner = winner_of(player, banker)
        if rest:
            winner = "banker" if winner == "player" else "player"
        self.table.say(
            DeviceResult(
                winner=winner,
                player_pair=_pair(player),
                banker_pair=_pair(banker),
                banker_six=winner_of(player, banker) == "banker" and points(banker) == _SIX,
            )
        )

    def do_lost(self, _: Sequence[str]) -> None:
        """A report is lost."""
        self.table.say(ReportLost(expected="3", got="5"))

    def do_outside(self, _: Sequence[str]) -> None:
        """A card comes when none is due."""
        self.table.say(CardOutOfGame(reason="drawn_outside_game"))

    def do_excess(self, rest: Sequence[str]) -> None:
        """A person says whether the table has seen it; if so a dummy coup follows (rule 17)."""
        resolve = ResolveIrregularity(
            transaction=self._t(), kind="excess_card", reason=REASON, seen=rest[0] == "seen"
        )
        carried = self.coup.rulebook.procedure("excess", "carry") == "carry"
        if self._ask(resolve):
            self.dummy_due = carried and rest[0] == "seen"

    def do_mark(self, rest: Sequence[str]) -> None:
        """A face is not trusted."""
        hand, number = _at(rest[0])
        mark = MarkUnreadable(transaction=self._t(), hand=hand, number=number, reason=REASON)
        if self._ask(mark):
            self.coup.cards[rest[0]] = None

    def do_enter(self, rest: Sequence[str]) -> None:
        """A face is entered."""
        place, face = rest
        hand, number = _at(place)
        enter = EnterCard(
            transaction=self._t(), hand=hand, number=number, face=parse_card(face), reason=REASON
        )
        if self._ask(enter):
            self.model.card(place, face)

    def do_realign(self, _: Sequence[str]) -> None:
        """Vouch for the cards."""
        self._ask(Realign(transaction=self._t(), reason=REASON))

    def do_confirm(self, _: Sequence[str]) -> None:
        """Confirm the table's own result."""
        self._ask(ConfirmResult(transaction=self._t(), reason=REASON))

    # ---- corrections ----

    def do_card(self, rest: Sequence[str]) -> None:
        """Another face."""
        place, face, *name = rest
        hand, number = _at(place)
        correct = CorrectCard(
            transaction=self._t(),
            hand=hand,
            number=number,
            face=parse_card(face),
            reason=REASON,
            coup=coup_id(name[0]) if name else None,
        )
        if self._ask(correct, name[0] if name else None):
            coup = self.model.coups[name[0]] if name else self.coup
            if coup.phase in OVER:
                self.model.face(coup.id, place, face)
            else:
                coup.cards[place] = face

    def do_hands(self, rest: Sequence[str]) -> None:
        """Whole hands."""
        name, *texts = rest
        hands = [text.split(",") for text in texts]
        player, banker = (tuple(map(parse_card, hand)) for hand in hands)
        correct = CorrectHands(
            transaction=self._t(), coup=coup_id(name), player=player, banker=banker, reason=REASON
        )
        cards: dict[str, str | None] = {
            f"{letter}{number}": face
            for letter, hand in zip("PB", hands, strict=True)
            for number, face in enumerate(hand, start=1)
        }
        paid = self.model.may_correct(name, cards)
        if self._ask(correct, name):
            self.model.hands(name, cards)
        if self.code != "too_many_copies":
            self.expected = True if paid else None

    def do_wager(self, rest: Sequence[str]) -> None:
        """A wager as it stood."""
        name, number, *words = rest
        coup = self.model.coups[name]
        to = None if words == ["none"] else _stake(words)
        transaction = self._t()
        wager = None if number == "new" else self._name(coup, int(number))
        correct = CorrectWager(
            transaction=transaction,
            coup=coup_id(name),
            wager=wager,
            to=_request(to) if to else None,
            reason=REASON,
        )
        if self._ask(correct, name):
            self.model.wager(name, wager or f"dealer/{transaction}/0", to)

    def do_by(self, rest: Sequence[str]) -> None:
        """Another rulebook."""
        name, rulebook = rest
        found = self.rulebooks[rulebook]
        correct = CorrectRulebook(
            transaction=self._t(),
            coup=coup_id(name),
            rulebook=found.id,
            rulebook_hash=found.hash,
            reason=REASON,
        )
        if self.models[rulebook].currency != self.model.coups[name].rulebook.currency:
            self.expected = False
        if self._ask(correct, name):
            self.model.played_by(name, rulebook)

    def do_void(self, rest: Sequence[str]) -> None:
        """A coup does not count."""
        name = rest[0] if rest else None
        if self.model.coup is not None and (name in {None, self.coup.id}):
            self.expected = True if self.model.in_progress else None
        coup = self.model.coups.get(name) if name else None
        if coup is not None and coup.phase == "settled":
            self.expected = True
        command = VoidCoup(
            transaction=self._t(), reason=REASON, coup=coup_id(name) if name else None
        )
        over = coup is not None and coup.phase in OVER
        if self._ask(command, name) and coup is not None and over:
            self.model.void(coup.id)

    # ---- commission ----

    def do_collect(self, rest: Sequence[str]) -> None:
        """Commission is paid."""
        of, amount = _payers(rest)
        self.expected = self.model.may_pay(of, "outstanding", amount)
        if of.seat is None and not self.expected:
            self.expected = None
        collect = CollectCommission(
            transaction=self._t(), seat=of.seat, amount=amount, patron=of.patron, coup=_coup(of)
        )
        if self._ask(collect):
            self.model.collect(of, amount)

    def do_giveup(self, rest: Sequence[str]) -> None:
        """Commission cannot be had."""
        of, _ = _payers(rest)
        assert of.seat is not None
        self.expected = self.model.may_pay(of, "outstanding", None)
        give_up = MarkUncollected(
            transaction=self._t(), seat=of.seat, reason=REASON, patron=of.patron, coup=_coup(of)
        )
        if self._ask(give_up):
            self.model.give_up(of)

    def do_recover(self, rest: Sequence[str]) -> None:
        """What was given up is paid after all."""
        of, amount = _payers(rest)
        assert of.seat is not None
        assert amount is not None
        self.expected = self.model.may_pay(of, "given_up", amount)
        recover = RecoverCommission(
            transaction=self._t(), seat=of.seat, amount=amount, patron=of.patron, coup=_coup(of)
        )
        if self._ask(recover):
            self.model.recover(of, amount)


def _coup(of: Payers) -> str | None:
    return coup_id(of.coup) if of.coup else None


def _payers(words: Sequence[str]) -> tuple[Payers, int | None]:
    numbers = [int(word) for word in words if word.isdecimal()]
    coups = [word for word in words if "/" in word]
    patrons = [word for word in words if not word.isdecimal() and word not in coups]
    seat, amount = (*numbers, None, None)[:2]
    patron = next(iter(patrons), None)
    of = Payers(seat, "" if patron == NOBODY else patron, coups[0] if coups else None)
    return of, amount


def _id(text: str) -> str:
    return ModelRulebook.read(text).id


def _at(place: str) -> tuple[Hand, int]:
    return _HANDS[place[0]], int(place[1])


def _pair(hand: Sequence[str]) -> bool:
    return len(hand) > 1 and hand[0][0] == hand[1][0]


def _stake(words: Sequence[str]) -> Stake:
    seat, bet, stake, *more = words
    kinds = [word for word in more if word in {"promo", "toke"}]
    patrons = [word for word in more if word not in kinds]
    patron = patrons[0] if patrons else None
    return Stake(int(seat), bet, int(stake), patron, kinds[0] if kinds else "chips")


def _request(stake: Stake) -> WagerRequest:
    return WagerRequest(
        seat=stake.seat,
        bet=stake.bet,
        stake=stake.stake,
        patron=stake.patron,
        kind=stake.kind,  # type: ignore[arg-type]  # a kind, by the step
    )
