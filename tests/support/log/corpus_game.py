"""The game that the corpus records: one table on one log, every type of event in it, no chance.

Its clock goes on by a second whenever it is asked, so that the same build records the same bytes.
Whoever adds a type of event adds a scene in which it happens.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands.base import Command
from events.commands.cards import (
    CorrectCard,
    EnterCard,
    MarkUnreadable,
    Realign,
    ResolveIrregularity,
)
from events.commands.chips import (
    CloseFloat,
    CorrectChips,
    CountChips,
    CountDrop,
    Credit,
    Fill,
    OpenFloat,
)
from events.commands.commission import CollectCommission, MarkUncollected, RecoverCommission
from events.commands.corrections import CorrectHands, CorrectRulebook, CorrectWager
from events.commands.coup import CloseBetting, ConfirmResult, FreeHand, OpenBetting, VoidCoup
from events.commands.shoe import Burn, ClearShoeError, EndShoe, LoadShoe
from events.commands.shoe import CutCard as ReportCutCard
from events.commands.staff import AssignDealer
from events.commands.wagers import PlaceWager, SetLimits, WagerRequest, WithdrawWager
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from events.types.chips import Pieces
from events.types.shoe_reports import (
    AnyReport,
    BurnCard,
    CardCarriedOver,
    CardOutOfGame,
    CardReversed,
    CardUnreadable,
    CopyConflict,
    CutCardReported,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    FirstCard,
    FrameRejected,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    ModeChanged,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
    UnknownReport,
)
from table_core.rulebooks.shipped import load_rulebook, shipped_source
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.service.checkpoints import CheckpointKeys, Checkpoints
from table_core.service.table_writer import ShoeEventResult, Table
from tests.support.clock import ticking_clock
from tests.support.table.coups import ORDER, drawn, revealed, shoe_event

__all__ = ["KEY", "MARKED", "ORIGIN", "CorpusGame", "play", "play_scenes"]

ORIGIN: Final = "harbour/b7"

_P, _B = Hand.PLAYER, Hand.BANKER
KEY: Final = SigningKey(ORIGIN, bytes(32))
"""Nobody's: it signs what tests read."""

MARKED: Final = shipped_source("au-commission").replace(b'"deduct"', b'"per_shoe"')
"""A site's own rulebook, by which commission is marked."""

_OTHER: Final = load_rulebook("au-even-money")
_ROLES: Final = {user: frozenset({user}) for user in ("dealer", "supervisor", "wagers", "cage")}
_PLAYER_WINS: Final = ("9S", "2D", "KH", "3C")  # a natural nine against five
_BANKER_WINS: Final = ("KS", "9D", "2H", "TC")  # a natural nine against two


class CorpusGame:
    """Who plays: everything asked for is accepted, everything the shoe says is taken."""

    library: Final = (_OTHER,)

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.clock = ticking_clock()
        self._transactions = 0
        self.under(load_rulebook("au-commission"))

    def under(self, rulebook: Rulebook) -> None:
        """The core starts again, with this rulebook."""
        self.table = Table(
            self._log,
            Topics(*ORIGIN.split("/")),
            rulebook,
            self.clock,
            roles=_ROLES,
            library=self.library,
        )

    def ask(self, user: str, command: Command) -> None:
        self._transactions += 1
        command = replace(command, transaction=f"t-{self._transactions}")
        answer = self.table.ask(user, command, caught_up=True)
        assert answer.result == "accepted", (command, answer)

    def say(self, *reports: AnyReport) -> None:
        for report in reports:
            event = shoe_event(self.table.shoe_ack.seq + 1, report)
            assert self.table.hear(event) is ShoeEventResult.APPENDED

    def shoe(self, name: str) -> None:
        self.ask("dealer", LoadShoe(transaction="", shoe=name))
        self.say(FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))

    def bets(self, *wagers: tuple[int, str, int]) -> None:
        asked = tuple(WagerRequest(seat=seat, bet=bet, stake=stake) for seat, bet, stake in wagers)
        self.ask("wagers", PlaceWager(transaction="", wagers=asked))

    def begin(self, *wagers: tuple[int, str, int]) -> None:
        self.ask("dealer", OpenBetting(transaction=""))
        self.bets(*wagers)
        self.ask("dealer", CloseBetting(transaction=""))

    def deal(self, faces: Sequence[str]) -> None:
        places = zip(ORDER, faces, strict=False)
        self.say(*(drawn(hand, number, face) for (hand, number), face in places))

    def play(self, faces: Sequence[str], winner: str, *wagers: tuple[int, str, int]) -> None:
        self.begin(*wagers)
        self.deal(faces)
        self.say(DeviceResult(winner=winner))

    @property
    def coup(self) -> str:
        assert self.table.state.coup is not None
        return self.table.state.coup.id

    @property
    def wagers(self) -> tuple[str, ...]:
        assert self.table.state.coup is not None
        return tuple(wager.id for wager in self.table.state.coup.wagers)


def play(log: EventLog) -> None:
    """Play it from the first event to the last, on an empty log of `ORIGIN`."""
    game = CorpusGame(log)
    checkpoints = Checkpoints(game.table, log, CheckpointKeys(KEY, None, 60), game.clock)
    play_scenes(game)
    _whatever_the_shoe_says(game)
    checkpoints.look()


def play_scenes(game: CorpusGame) -> None:
    """All but what only some shoe says."""
    game.say(LinkOpen(transport="pty:corpus"), LinkUp())
    game.ask("supervisor", AssignDealer(transaction="", dealer="d-4", supervisor="s-1"))
    game.shoe("20261127-01")
    _ordinary(game)
    _cards_by_hand(game)
    _held(game)
    _corrected(game)
    _rules_corrected(game)
    game.ask("dealer", ReportCutCard(transaction="", place="between"))
    game.play(_PLAYER_WINS, "player", (1, "player", 500))
    game.table.close_books()
    _prepaid(game)
    _marked(game)
    _chips(game)


def _ordinary(game: CorpusGame) -> None:
    game.ask("supervisor", SetLimits(transaction="", table_maximum=10_000_000, differential=50_000))
    game.play(_BANKER_WINS, "banker", (1, "banker", 1000), (2, "player", 500), (3, "tie", 300))
    game.ask("dealer", OpenBetting(transaction=""))
    game.bets((1, "player", 1000), (2, "tie", 200), (4, "player_pair", 100))
    game.ask("wagers", WithdrawWager(transaction="", wagers=game.wagers[1:2]))
    for hand, number in ORDER:  # closed by the first card; faces come later
        game.say(drawn(hand, number))
    for (hand, number), face in zip(ORDER, _PLAYER_WINS, strict=True):
        game.say(revealed(hand, number, face))
    game.say(DeviceResult(winner="player"))


def _cards_by_hand(game: CorpusGame) -> None:
    game.begin((1, "player", 1000))
    game.deal(_PLAYER_WINS[:3])
    game.say(CardUnreadable(hand=_B, number=2))
    enter = EnterCard(transaction="", hand=_B, number=2, face=Card.C3, reason="read by eye")
    game.ask("supervisor", enter)
    mark = MarkUnreadable(transaction="", hand=_B, number=1, reason="the print is smudged")
    game.ask("dealer", mark)
    game.ask("supervisor", replace(enter, number=1, face=Card.D4))
    correct = CorrectCard(transaction="", hand=_B, number=1, face=Card.D2, reason="a two after all")
    game.ask("supervisor", correct)
    game.say(DeviceResult(winner="player"))


def _held(game: CorpusGame) -> None:
    game.begin((1, "player", 1000))
    game.deal(_PLAYER_WINS)
    game.say(DeviceResult(winner="banker"))
    game.ask("supervisor", ConfirmResult(transaction="", reason="the cards lie there"))
    game.begin((1, "banker", 1000))
    game.deal(_PLAYER_WINS[:1])
    game.say(ReportLost(expected="3", got="5"))
    for (hand, number), face in zip(ORDER[1:], _PLAYER_WINS[1:], strict=True):
        card = Card(face)
        game.ask(
            "supervisor",
            EnterCard(transaction="", hand=hand, number=number, face=card, reason="camera 4"),
        )
    game.ask("supervisor", Realign(transaction="", reason="checked with surveillance"))
    game.say(DeviceResult(winner="player"))
    game.begin((1, "tie", 1000))
    game.deal(_PLAYER_WINS)
    game.say(CardOutOfGame(reason="drawn_outside_game"), DeviceResult(winner="player"))
    game.ask(
        "dealer",
        ResolveIrregularity(transaction="", kind="excess_card", seen=True, reason="it fell open"),
    )
    game.ask("dealer", FreeHand(transaction=""))
    game.say(CardCarriedOver(hand=_P, number=1, face=Card.S9))
    for (hand, number), face in zip(ORDER[1:], _PLAYER_WINS[1:], strict=True):
        game.say(drawn(hand, number, face))
    game.say(DeviceResult(winner="player"))
    game.begin((1, "player", 700))
    game.ask("supervisor", VoidCoup(transaction="", reason="a patron fell ill"))
    game.ask(
        "dealer",
        ResolveIrregularity(transaction="", kind="late_wager", reason="seat 3, given back"),
    )


def _corrected(game: CorpusGame) -> None:
    game.play(_BANKER_WINS, "banker", (1, "banker", 1000), (2, "player", 500))
    player, banker = (Card.SK, Card.H2), (Card.D9, Card.CT)
    game.ask(
        "supervisor",
        CorrectHands(
            transaction="", coup=game.coup, player=banker, banker=player, reason="sides exchanged"
        ),
    )
    game.ask(
        "supervisor",
        CorrectWager(
            transaction="",
            coup=game.coup,
            wager=game.wagers[0],
            to=WagerRequest(seat=1, bet="banker", stake=1500),
            reason="the chips were counted again",
        ),
    )


def _rules_corrected(game: CorpusGame) -> None:
    game.ask(
        "supervisor",
        CorrectRulebook(
            transaction="",
            coup=game.coup,
            rulebook=_OTHER.id,
            rulebook_hash=_OTHER.hash,
            reason="the sign said Even Money",
        ),
    )


def _prepaid(game: CorpusGame) -> None:
    """Commission is laid before the hand; Lucky 8 needs a main wager and has a maximum for all."""
    game.under(load_rulebook("mini-lucky8"))
    game.shoe("20261127-02")
    lucky = [(seat, "lucky8_player", 30_000) for seat in range(1, 16)]
    main = [(seat, "player", 1000) for seat in range(1, 15)]
    game.begin(*lucky, *main, (30, "banker", 2000))  # seat 15 has no main wager
    game.deal(("8S", "9D", "KH", "TC"))
    game.say(DeviceResult(winner="banker"))
    game.play(("9S", "2D", "KC", "3C"), "player", (30, "banker", 2000))
    game.ask("dealer", EndShoe(transaction="", reason="the last of the day"))
    game.table.close_books()


def _marked(game: CorpusGame) -> None:
    """Commission is marked and collected at the shoe's end; a burn is skipped and told of."""
    game.under(parse_rulebook("au-commission.toml", MARKED))
    game.ask("dealer", LoadShoe(transaction="", shoe="20261127-03"))
    game.play(_BANKER_WINS, "banker", (1, "banker", 1000), (2, "banker", 600))
    game.ask("dealer", Burn(transaction="", cards=0, reason="the dealer forgot it"))
    game.ask("dealer", CollectCommission(transaction="", seat=1, amount=50))
    game.ask("supervisor", MarkUncollected(transaction="", seat=2, reason="the patron has left"))
    game.ask("supervisor", RecoverCommission(transaction="", seat=2, amount=30))


def _chips(game: CorpusGame) -> None:
    """A float from its opening to the count of its drop; a slip and a box were misread."""
    tray, signed = (Pieces(500, 200), Pieces(2500, 80), Pieces(10_000, 40)), ("s-1", "d-4")
    opened = OpenFloat(
        transaction="", float_id="20261127-01", currency="AUD", chips=tray, signed=signed
    )
    game.ask("supervisor", opened)
    more = (Pieces(10_000, 20),)
    game.ask(
        "supervisor",
        Fill(transaction="", slip="F-101", reference="R-7", chips=more, signed=("c-2", *signed)),
    )
    game.ask(
        "supervisor", Credit(transaction="", slip="C-55", chips=(Pieces(500, 100),), signed=signed)
    )
    counted = CountChips(transaction="", occasion="change of shift", chips=tray, signed=signed)
    game.ask("supervisor", counted)
    game.ask(
        "supervisor",
        CorrectChips(
            transaction="",
            float_id="20261127-01",
            move="fill",
            slip="F-101",
            chips=(Pieces(10_000, 21),),
            reason="a rack holds one more",
            signed=signed,
        ),
    )
    game.ask("supervisor", CloseFloat(transaction="", chips=tray, signed=signed))
    drop = CountDrop(
        transaction="",
        float_id="20261127-01",
        box="B-7",
        notes=(Pieces(5000, 12), Pieces(10_000, 14)),
        signed=("c-2", "c-3"),
    )
    game.ask("cage", drop)
    again = (Pieces(5000, 12), Pieces(10_000, 15))
    game.ask("cage", replace(drop, notes=again, reason="a note stuck to the lid"))


def _whatever_the_shoe_says(game: CorpusGame) -> None:
    """The reports that no scene before this one has."""
    game.say(
        ErrorRaised(code="cannot_read", latched=False),
        ErrorCleared(code="cannot_read"),
        ErrorRaised(code="alarm_e5", latched=True),
    )
    reason = "its lid was open; it is shut"
    game.ask("supervisor", ClearShoeError(transaction="", code="alarm_e5", reason=reason))
    game.say(
        LockChanged(locked=True),
        ModeChanged(mode="free"),
        UnknownReport(raw="00"),
        FrameRejected(reason="check", raw="05", length=1),
        LinkStalled(silent_ms=5000),
        CopyConflict(device_seq="2", bodies=("44", "45")),
        CardReversed(place="exit"),
        CutCardReported(),
        RoundForcedEnd(),
        ShoeBooted(),
        ShoeReady(),
        LinkDown(reason="unplugged"),
    )
