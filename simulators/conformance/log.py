"""Make a log for a consumer under test: seeded play by the table's own core. Pure.

No amount is made up here: the same decisions as at a table deal, settle, correct and void the
coups, so phases, revisions, differences and refunds are real. Until the first correction the
commission's events are of version 1, as on a log that was begun by release 0.1.0: a consumer reads
both.

Plan the delivery faults between a table and its consumer, from a seed. The bus allows all of them:
a repeated message, a lost one, an older one again, and the same in a replay. The last event is
never lost, so that a later event shows each gap.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct

from events.cards import RANKS, Card, Hand
from events.clock import rfc3339
from events.commands import (
    CloseBetting,
    Command,
    CorrectCard,
    EndShoe,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    Refusal,
    ReleaseShoe,
    VoidCoup,
    WagerRequest,
)
from events.errors import OurBug
from events.mqtt.topics import Topics
from events.proof.chain import next_hash, origin_hash
from events.types import (
    AnyReport,
    BurnCard,
    CardDrawn,
    CardRevealed,
    CommissionEvent,
    CoupSettled,
    CoupVoided,
    DeviceResult,
    FirstCard,
    LinkUp,
    Refund,
    Settlement,
    ShoeEvent,
    Stored,
    TableEvent,
    WagersVoided,
    encode_envelope,
)
from simulators.device.deck import burn_count, shuffled
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import adopt_rulebook, decide
from table_core.decide.shoe_reports import decide_on_report
from table_core.fold.dispatch import fold_all
from table_core.process.publishers import public_bytes
from table_core.projections.public_document import encode_public_view
from table_core.projections.table_document import StateView, encode_state_view, project_table
from table_core.rules.rulebook import Requirement, Rulebook
from table_core.state.coup import Phase
from table_core.state.dealing import due_places
from table_core.state.table import TableState

__all__ = [
    "FEWEST",
    "Delivery",
    "SampleEvent",
    "SampleLog",
    "TableStep",
    "make_sample_log",
    "make_steps",
    "plan_deliveries",
    "replay_losses",
]

FEWEST: Final = 20
"""The fewest settlements with which every planned fault happens."""
_SEATS: Final = 7
_STEP: Final = 500  # minor units
_COUPS_A_SHOE: Final = 40  # well before the cards of eight decks run out
_DAY_NS: Final = 1_795_737_600_000_000_000  # 2026-11-27, in nanoseconds since 1970
_PROMO: Final = 0.1  # share of the wagers that are tokens
_LONE: Final = 0.2  # share of the coups with a side wager that lacks its main wager
_SIDE: Final = 0.4  # share of the seats that add a tie or pair wager to the first one
_VOID: Final = 0.06  # share of the coups, before their end
_CORRECT: Final = 0.15  # share of settled coups, after each coup
_RECALL: Final = 0.06  # share of settled coups that are voided after all


class SampleEvent(Struct, frozen=True, kw_only=True):
    """One event of the log as it is published.

    Args:
        position: in the log.
        message: the envelope with its hash.
        settlement: the settlement, if the event is one.
        returned: the stakes that the event gives back without a settlement.
    """

    position: int
    message: bytes
    settlement: Settlement | None
    returned: WagersVoided | CoupVoided | None = None


class SampleLog(Struct, frozen=True, kw_only=True):
    """A whole log, and the states that a display would receive.

    Args:
        events: position 1 first.
        states: the `state` document by the position that it includes: at each coup's end.
    """

    events: tuple[SampleEvent, ...]
    states: dict[int, bytes]

    @property
    def settlements(self) -> tuple[Settlement, ...]:
        """All settlements in order, reversed ones included."""
        return tuple(event.settlement for event in self.events if event.settlement)

    @property
    def returned(self) -> dict[str, list[Refund]]:
        """The stakes that went back without a settlement, by the type of event."""
        found: dict[str, list[Refund]] = {WagersVoided.TYPE: [], CoupVoided.TYPE: []}
        for event in self.events:
            if event.returned is not None:
                found[event.returned.TYPE] += event.returned.refunds
        return found


def make_sample_log(seed: int, settlements: int, topics: Topics, rulebook: Rulebook) -> SampleLog:
    """Return the log of a table with at least so many settlements; the same for the same seed.

    Args:
        seed: of everything random.
        settlements: how many, revisions included.
        topics: give the envelopes their site and table.
        rulebook: the rules of play.
    """
    table = _Table(random.Random(f"feed {seed}"), topics, rulebook)
    while table.settled < settlements or not table.complete:
        table.shoe()
        for _ in range(_COUPS_A_SHOE):
            if table.settled >= settlements and table.complete:
                break
            table.coup()
        table.must(EndShoe(transaction=table.transaction()))
        table.show()
    return SampleLog(events=tuple(table.events), states=table.states)


class TableStep(Struct, frozen=True, kw_only=True):
    """One moment of a table.

    Args:
        coup: the coup's id.
        betting: whether it takes wagers.
        state: the retained `state` document.
        display: the retained `display` document.
    """

    coup: str
    betting: bool
    state: bytes
    display: bytes


def make_steps(coups: int, topics: Topics, rulebook: Rulebook) -> tuple[TableStep, ...]:
    """Return the moments of so many coups without wagers, whose faces are disclosed late."""
    table = _Table(random.Random("steps"), topics, rulebook)
    table.shoe()
    return tuple(step for _ in range(coups) for step in table.steps())


class _Table:
    """A table without shell, bus or disk: takes commands and reports, and keeps every event."""

    def __init__(self, rng: random.Random, topics: Topics, rulebook: Rulebook) -> None:
        self.events: list[SampleEvent] = []
        self.states: dict[int, bytes] = {}
        self.settled = 0
        self._rng = rng
        self._also = random.Random(rng.random())
        self._topics = topics
        self._context = DecisionContext(table=topics.table, rulebook=rulebook, user="dealer")
        offered = [bet for bet, its in rulebook.bets.items() if its.offered]
        self._beside = [bet for bet in ("tie", "perfect_pairs") if bet in offered]
        self._lone = [
            bet for bet in offered if rulebook.bets[bet].requirement is not Requirement.NONE
        ]
        self._state = TableState()
        self._digest = origin_hash(f"{topics.site}/{topics.table}")
        self._cards: list[Card] = []
        self._shoes = self._asked = self._heard = 0
        self._over: list[str] = []
        self._revised = self._voided = self._recalled = self._token = False
        self._alone = not self._lone
        # Whether it writes as 0.1.0 did, and has written of commission yet.
        self._earlier, self._commission = True, rulebook.commission is None
        self._take(adopt_rulebook(self._state, rulebook), "core", "core/start")
        self._say(LinkUp())

    @property
    def complete(self) -> bool:
        """Whether everything has happened that a consumer must cope with."""
        seen = (self._revised, self._voided, self._recalled, self._token, self._alone)
        return all(seen)

    def shoe(self) -> None:
        """Begin and burn a new shoe."""
        self._shoes += 1
        self._cards = list(reversed(shuffled(self._rng.randrange(2**32))))
        self._over = []
        for held in self._state.held:
            reason = "one copy too many by a correction"
            release = ReleaseShoe(transaction=self.transaction(), shoe=held.shoe, reason=reason)
            self.must(release)
        self.must(LoadShoe(transaction=self.transaction(), shoe=f"20261127-{self._shoes:02}"))
        first = self._cards.pop()
        self._say(FirstCard(face=first))
        for left in reversed(range(burn_count(first))):
            self._say(BurnCard(face=self._cards.pop(), left=left))

    def coup(self) -> None:
        """Play one coup from betting to its end; now and then correct one that is over."""
        self.must(OpenBetting(transaction=self.transaction()))
        self._bet()
        self.must(CloseBetting(transaction=self.transaction()))
        if self._rng.random() < _VOID or (self.settled and not self._voided):
            self._deal(self._rng.randint(1, 3))
            self.must(VoidCoup(transaction=self.transaction(), reason="a card fell"))
            self._voided = True
        else:
            self._deal()
            self._close()
        self.show()

    def _close(self) -> None:
        """Settle the coup; void it where an earlier correction left one copy of a card too many."""
        coup = self._state.coup
        if coup is None or self._state.phase is not Phase.SETTLED:
            self.must(VoidCoup(transaction=self.transaction(), reason="too many copies"))
            return
        self._over.append(coup.id)
        self._look_again()

    def show(self) -> None:
        """Store the state that a display would now receive."""
        self.states[self._state.position] = encode_state_view(self._project())

    def steps(self) -> Iterator[TableStep]:
        """Play a coup without wagers, and yield every moment of it."""
        for command in (OpenBetting, CloseBetting):
            self.must(command(transaction=self.transaction()))
            yield self._step()
        while (coup := self._state.coup) and (due := due_places(coup)):
            place, face = due[0], self._cards.pop()
            self._say(CardDrawn(hand=place.hand, number=place.number))
            yield self._step()
            self._say(CardRevealed(hand=place.hand, number=place.number, face=face))
            yield self._step()
        self._result()
        yield self._step()

    def _step(self) -> TableStep:
        view, coup = self._project(), self._state.coup
        return TableStep(
            coup=coup.id if coup else "",
            betting=self._state.phase is Phase.BETTING,
            state=encode_state_view(view),
            display=encode_public_view(view),
        )

    def _project(self) -> StateView:
        return project_table(
            self._state,
            table=self._topics.table,
            rulebook=self._context.rulebook,
            catching_up=False,
        )

    def must(self, command: Command) -> None:
        """Send a command that the table cannot refuse.

        Raises:
            OurBug: the table refuses it.
        """
        if (refusal := self._ask(command)) is not None:
            raise OurBug(f"{type(command).__name__}: {refusal.code}: {refusal.text}")

    def transaction(self) -> str:
        """Return a new transaction id."""
        self._asked += 1
        return f"t-{self._asked}"

    def _bet(self) -> None:
        for seat in sorted(self._rng.sample(range(1, _SEATS + 1), self._rng.randint(2, 4))):
            side = self._rng.choice(("player", "banker"))
            bets = [side, *(bet for bet in self._beside if self._rng.random() < _SIDE)]
            self._place(*(self._wager(seat, bet) for bet in bets))
        self._bet_alone()

    def _place(self, *wagers: WagerRequest) -> None:
        self.must(PlaceWager(transaction=self.transaction(), wagers=wagers))

    def _wager(self, seat: int, bet: str) -> WagerRequest:
        coup = self._state.coup
        due = not self._token and coup is not None and not coup.wagers
        promo = due or self._also.random() < _PROMO
        stake = _STEP * self._rng.randint(2, 20)
        return WagerRequest(seat=seat, bet=bet, stake=stake, kind="promo" if promo else "chips")

    def _bet_alone(self) -> None:
        """Now and then place a side wager without its main wager: the close of betting voids it."""
        if self._lone and (not self._alone or self._also.random() < _LONE):
            coup = self._state.coup
            taken = {wager.seat for wager in coup.wagers.values()} if coup else set()
            seat = self._also.choice([s for s in range(1, _SEATS + 1) if s not in taken])
            stake = _STEP * self._also.randint(2, 20)
            self._place(WagerRequest(seat=seat, bet=self._also.choice(self._lone), stake=stake))

    def _deal(self, most: int = 6) -> None:
        """Deal at most so many cards, and the device's own result after the last one due."""
        for _ in range(most):
            coup = self._state.coup
            due = due_places(coup) if coup else ()
            if not due:
                break
            place, face = due[0], self._cards.pop()
            self._say(CardDrawn(hand=place.hand, number=place.number, face=face))
        self._result()

    def _result(self) -> None:
        coup = self._state.coup
        if coup is not None and coup.completed is not None:
            done = coup.completed
            self._say(
                DeviceResult(
                    winner=done.winner.value,
                    player_pair=done.player[0].rank == done.player[1].rank,
                    banker_pair=done.banker[0].rank == done.banker[1].rank,
                )
            )

    def _look_again(self) -> None:
        """Correct a past coup: a camera shows another card, or that the coup does not count."""
        if not self._commission:
            return
        self._earlier = False
        if self._rng.random() < _CORRECT or not self._revised:
            coup = self._rng.choice(self._over)
            hand, rank = self._rng.choice(list(Hand)), self._rng.choice(RANKS)
            correct = CorrectCard(
                transaction=self.transaction(),
                hand=hand,
                number=self._rng.randint(1, 2),
                face=Card(rank + self._rng.choice("SHDC")),
                reason="the camera shows it",
                coup=coup,
            )
            # It is refused where the coup would then have a card too few or too many; and it may
            # change no amount.
            self._ask(correct)
        if self._rng.random() < _RECALL or (self._revised and not self._recalled):
            coup = self._over.pop(self._rng.randrange(len(self._over)))
            self.must(VoidCoup(transaction=self.transaction(), reason="a wrong shoe", coup=coup))
            self._recalled = True

    def _ask(self, command: Command) -> Refusal | None:
        decision = decide(self._state, command, self._context)
        if isinstance(decision, Refusal):
            return decision
        self._take(decision, "dealer", f"dealer/{command.transaction}")
        return None

    def _say(self, report: AnyReport) -> None:
        self._heard += 1
        event = ShoeEvent(
            journal="feed",
            seq=self._heard,
            profile="enq-bcc",
            profile_hash="0" * 64,
            offset=self._heard * 8,
            mono_us=self._heard * 1_000_000,
            utc=rfc3339(_DAY_NS + self._heard * 10**9),
            report=report,
        )
        self._take(
            decide_on_report(self._state, event, self._context), "shoe", f"feed/{self._heard}"
        )

    def _take(self, events: Sequence[TableEvent], actor: str, cause: str) -> None:
        self._state = fold_all(self._state, events)
        for index, event in enumerate(events):
            self._keep(event, index, actor, cause)

    def _keep(self, event: TableEvent, index: int, actor: str, cause: str) -> None:
        position = len(self.events) + 1
        at = rfc3339(_DAY_NS + position * 10**9)
        stored = encode_envelope(
            event,
            index=index,
            stream=f"{self._topics.site}/{self._topics.table}",
            position=position,
            at=at,
            actor=actor,
            cause=cause,
            correlation=str(getattr(event, "coup", None) or ""),
        )
        version = event.VERSION
        if self._earlier and isinstance(event, CommissionEvent):
            self._commission, version, stored = True, 1, _of_version_1(stored)
        self._digest = next_hash(self._digest, stored)
        row = Stored(position, event.TYPE, version, at, stored, self._digest)
        settlement = event.settlement if isinstance(event, CoupSettled) else None
        returned = event if isinstance(event, WagersVoided | CoupVoided) else None
        self._note(event)
        self.events.append(
            SampleEvent(
                position=position,
                message=public_bytes(row),
                settlement=settlement,
                returned=returned,
            )
        )

    def _note(self, event: TableEvent) -> None:
        """Note what has happened of all that a consumer must cope with."""
        self._alone |= isinstance(event, WagersVoided)
        if isinstance(event, CoupSettled):
            its = event.settlement
            self.settled += 1
            self._token |= any(line.kind == "promo" for line in its.lines)
            self._revised |= its.revision > 1 and bool(its.difference)


def _of_version_1(stored: bytes) -> bytes:
    """Return an event of commission as 0.1.0 stored it: by seat, without the currency."""
    envelope = msgspec.json.decode(stored)
    data = envelope["data"]
    del data["currency"]
    seats: Counter[int] = Counter()
    for each in data["amounts"]:
        seats[each["seat"]] += each["amount"]
    data["amounts"] = [{"seat": seat, "amount": seats[seat]} for seat in sorted(seats)]
    envelope["v"] = 1
    return msgspec.json.encode(envelope)


_TWICE: Final = 0.08
_LOST: Final = 0.04
_LOST_MONEY: Final = 0.15  # of settlements, where it matters
_AGAIN: Final = 0.08
_BACK: Final = 30  # how far back an older one may come again, positions
_LOST_IN_REPLAY: Final = 0.02


class Delivery(Struct, frozen=True, kw_only=True):
    """One message on its way.

    Args:
        topic: one of the two topics.
        position: the event's.
        fault: its fault, if any; `lost` for one that never arrives.
    """

    topic: Literal["event", "settlement"]
    position: int
    fault: Literal["", "twice", "lost", "again"] = ""


def plan_deliveries(feed: SampleLog, live_from: int, seed: int) -> tuple[Delivery, ...]:
    """Return everything that is sent live, in order.

    The first settlement comes twice, the second never, and the third is followed by the first
    again:
    however short the feed, each of the three happens.

    Args:
        feed: the log.
        live_from: the first position that is sent live.
        seed: of everything random.
    """
    rng, plan = random.Random(f"plan {seed}"), list[Delivery]()
    money: list[SampleEvent] = []
    for event in feed.events[live_from - 1 :]:
        last = event.position == len(feed.events)
        nth = len(money) + 1 if event.settlement else 0
        odds = _LOST_MONEY if nth else _LOST
        lost = not last and (nth == 2 or (nth not in {1, 3} and rng.random() < odds))  # noqa: PLR2004 - the second
        plan += _sent(event, lost=lost, twice=nth == 1 or rng.random() < _TWICE)
        if event.settlement:
            money.append(event)
        if nth == 3:  # noqa: PLR2004 - the third
            plan += _sent(money[0], lost=False, twice=False, fault="again")
        elif rng.random() < _AGAIN and event.position > live_from:
            back = rng.randint(max(live_from, event.position - _BACK), event.position - 1)
            plan += _sent(feed.events[back - 1], lost=False, twice=False, fault="again")
    return tuple(plan)


def _sent(
    event: SampleEvent, *, lost: bool, twice: bool, fault: Literal["", "again"] = ""
) -> Sequence[Delivery]:
    """Return the event's messages on each of its topics; the money first, as the table sends it."""
    sent: list[Delivery] = []
    topics: tuple[Literal["settlement", "event"], ...] = ("settlement", "event")
    for topic in topics if event.settlement else topics[1:]:
        sent.append(Delivery(topic=topic, position=event.position, fault="lost" if lost else fault))
        if twice and not lost:
            sent.append(Delivery(topic=topic, position=event.position, fault="twice"))
    return sent


def replay_losses(feed: SampleLog, seed: int) -> Counter[int]:
    """Return the positions that a replay loses, once each; a second replay brings them."""
    rng = random.Random(f"replays {seed}")
    return Counter(event.position for event in feed.events[:-1] if rng.random() < _LOST_IN_REPLAY)
