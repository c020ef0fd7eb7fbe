"""Games that are kept for later builds, at a table that hears bytes: seeded, with all corrections.

Each plays on an empty log in a folder, and leaves beside it what a site would have: the driver's
journal, the rulebooks that are not shipped, the public keys. `tests.tools.kept` records them.
"""

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands.cards import CorrectCard, EnterCard, Realign, ResolveIrregularity
from events.commands.chips import CloseFloat, CountDrop, Credit, Fill, OpenFloat
from events.commands.corrections import CorrectWager
from events.commands.coup import OpenBetting, VoidCoup
from events.commands.shoe import ClearShoeError, EndShoe, ReplaceShoe
from events.commands.staff import AssignDealer
from events.commands.wagers import PlaceWager, WagerRequest
from events.log.store import EventLog
from events.proof.note import SigningKey
from events.types.chips import Pieces
from events.types.shoe_reports import (
    CardOutOfGame,
    DeviceResult,
    ErrorRaised,
    FrameRejected,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
    UnknownReport,
)
from table_core.decide.cards import RECORDED_KINDS
from table_core.decide.decision import DecisionContext
from table_core.process.options import RotationPolicy
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from tests.support.cage.books import source
from tests.support.kept.stories import LOG
from tests.support.kept.wired_table import Stage, WiredGame, WiredTable
from tests.support.log.corpus_game import KEY, MARKED, ORIGIN, play_scenes
from tests.support.table.coups import ORDER, drawn
from tests.support.table.money_game import Game, random_coup

__all__ = ["GAMES"]

_NEXT_KEY: Final = SigningKey(f"{ORIGIN}-2", bytes([1]) * 32)
_SIGNED: Final = ("s-1", "d-4")
_NATURAL: Final = ("9S", "2D", "KH", "3C")  # Player's, against five
_CONTROL: Final = "".join(map(chr, (*range(32), 127, 133, 8232)))
"""Every control character, NUL first; a build may refuse them, and must go on reading them."""


class _Site(NamedTuple):
    """A rulebook of a site's own: a shipped one, changed."""

    shipped: str
    changes: tuple[str, ...]

    @property
    def text(self) -> bytes:
        return source(self.shipped, *self.changes).encode()


# By the names that `tests.support.table.money_game` has for the same rules.
_SITES: Final = {
    "prepaid": _Site("au-commission", ("commission.timing=prepaid",)),
    "per_coup": _Site("au-commission", ("commission.timing=per_coup", "unit=5")),
    "per_shoe": _Site("nz-scale-one", ("commission.timing=per_shoe", "commission.block=500")),
}


def _rules(folder: Path, name: str) -> Rulebook:
    """A rulebook; a site's own lies in the folder as well."""
    if name not in _SITES:
        return load_rulebook(name)
    path = folder / f"rules-{name}.toml"
    path.write_bytes(_SITES[name].text)
    return parse_rulebook(path.name, path.read_bytes())


@contextmanager
def _stage(
    folder: Path, origin: str = ORIGIN, new_file: RotationPolicy = "never"
) -> Iterator[Stage]:
    key = SigningKey(origin, KEY.seed)
    with EventLog.open(folder / LOG, origin) as log:
        stage = Stage(log, key, new_file=new_file)
        yield stage
    for number, each in enumerate(dict.fromkeys((key, stage.key)), start=1):
        (folder / f"key-{number}.pub").write_text(f"{each.verifier}\n", "utf-8")
    for number, journal in enumerate(stage.shoe.files, start=1):
        (folder / f"j1-{number}.enq-bcc.journal").write_bytes(journal)
    (folder / f"{LOG}.snapshot").unlink(missing_ok=True)  # a cache
    (folder / f"{LOG}.lock").unlink(missing_ok=True)


# ---- whole games, every coup by chance ----


def _money(
    folder: Path, name: str, library: Sequence[str], *, seed: int, coups: int, shoes: int = 2
) -> None:
    """Wagers, ends and corrections by chance, with commission as the rulebook has it."""
    book, others = _rules(folder, name), [_rules(folder, each) for each in library]
    rng = random.Random(seed)
    with _stage(folder) as stage:
        made: list[WiredTable] = []

        def world(context: DecisionContext) -> WiredTable:
            made.append(WiredTable(stage, context, others))
            return made[-1]

        game = Game(book, seed, world)
        for shoe in range(shoes):
            for _ in range(coups):
                game.play(random_coup(rng))
            if shoe < shoes - 1:
                game.world.must(EndShoe(transaction=game.t(), reason="shorter than others"))
                made[0].close_books()


def _closed(folder: Path) -> None:
    """Behind each shoe the log goes on in a new file; coups of closed files are corrected."""
    book, rng = load_rulebook("nz-scale-two"), random.Random(5)
    with _stage(folder, "harbour/b9", "shoe") as stage:
        made: list[WiredTable] = []

        def world(context: DecisionContext) -> WiredTable:
            made.append(WiredTable(stage, context, ()))
            return made[-1]

        game = Game(book, 5, world)
        for _ in range(3):
            game.play(replace(random_coup(rng), end="settled"))
            coup = game.world.state.coup
            assert coup is not None
            if not game.table.over:
                game.world.must(EndShoe(transaction=game.t(), reason="shorter than others"))
            made[0].close_books()
            stage.shoe.next_file()
            late = WagerRequest(seat=7, bet="player", stake=500)
            game.world.must(
                CorrectWager(transaction=game.t(), coup=coup.id, to=late, reason="left out")
            )


# ---- by hand ----


def _by_hand(folder: Path) -> None:
    """Every type of event that this shoe has words for, and every way out of an irregularity."""
    with _stage(folder) as stage:
        game = WiredGame(stage)
        play_scenes(game)
        game.ask("dealer", EndShoe(transaction="", reason="the others' shoe"))
        game.table.close_books()
        (folder / "rules-marked.toml").write_bytes(MARKED)
        stage.key, stage.retiring = _NEXT_KEY, stage.key
        game.under(load_rulebook("au-commission"))
        for number, scene in enumerate((_recorded, _put_right, _broken_off, _other_shoes), start=1):
            game.shoe(f"20261128-{number:02}")
            scene(game)
            game.ask("dealer", EndShoe(transaction="", reason="the last of the day"))
            game.table.close_books()
            stage.core.make_due_checkpoint()


def _recorded(game: WiredGame) -> None:
    for number, kind in enumerate(sorted(RECORDED_KINDS)):
        if number % 2:
            game.begin((1, "player", 1000))
        game.ask("dealer", ResolveIrregularity(transaction="", kind=kind, reason=f"as {kind} is"))
        if number % 2:
            game.deal(_NATURAL)
            game.say(DeviceResult(winner="player"))


def _put_right(game: WiredGame) -> None:
    game.play(_NATURAL, "player", (1, "player", 1000), (2, "banker", 500), (3, "tie", 200))
    coup, wagers = game.coup, game.wagers
    to = WagerRequest(seat=9, bet="banker", stake=700)
    game.ask("supervisor", CorrectWager(transaction="", coup=coup, to=to, reason="left out"))
    gone = CorrectWager(transaction="", coup=coup, wager=wagers[2], reason="never stood there")
    game.ask("supervisor", gone)
    card = CorrectCard(
        transaction="", coup=coup, hand=Hand.BANKER, number=2, face=Card.C7, reason="a seven"
    )
    game.ask("supervisor", card)
    game.ask("supervisor", VoidCoup(transaction="", coup=coup, reason="dealt out of turn"))
    for seen in (False, True):
        game.begin((1, "banker", 1000))
        game.deal(_NATURAL)
        game.say(CardOutOfGame(reason="drawn_outside_game", face=Card.D5))
        game.say(CardOutOfGame(reason="overdrawn", face=Card.D5))
        game.ask(
            "dealer",
            ResolveIrregularity(transaction="", kind="excess_card", seen=seen, reason="one more"),
        )
        game.say(DeviceResult(winner="player"))


def _broken_off(game: WiredGame) -> None:
    """What ends a coup before its time, or holds it until somebody has looked."""
    void = VoidCoup(transaction="", reason="nobody knows what lies there")
    for report in (ShoeBooted(), RoundForcedEnd(), ReportLost(expected="", got="")):
        game.begin((1, "player", 1000))
        game.deal(_NATURAL[:2])
        game.say(report)
        game.ask("supervisor", void)
        game.say(ShoeReady())
    game.begin((1, "player", 1000))
    game.deal(_NATURAL[:2])
    game.say(LinkStalled(silent_ms=60_000))
    game.say(LinkDown(reason="unplugged"), LinkOpen(transport="pty:corpus"), LinkUp())
    for (hand, number), face in zip(ORDER[2:], _NATURAL[2:], strict=True):
        game.ask(
            "supervisor",
            EnterCard(transaction="", hand=hand, number=number, face=Card(face), reason="by eye"),
        )
    game.ask("supervisor", Realign(transaction="", reason="all four lie there"))
    game.say(DeviceResult(winner="player"))
    game.say(ErrorRaised(code="cannot_read", latched=True))
    cleared = ClearShoeError(transaction="", code="cannot_read", reason="wiped clean")
    game.ask("supervisor", cleared)
    game.say(UnknownReport(raw=""))
    game.say(FrameRejected(reason="stale", raw="0531", length=2))


def _other_shoes(game: WiredGame) -> None:
    for number, coup in enumerate(("continue", "void"), start=5):
        game.begin((1, "banker", 1000))
        game.deal(_NATURAL[:2])
        other = ReplaceShoe(
            transaction="",
            shoe=f"20261128-{number:02}",
            coup=coup,  # type: ignore[arg-type]  # one of the two words
            reason="jammed",
        )
        game.ask("supervisor", other)
        if coup == "continue":
            rest = zip(ORDER[2:], _NATURAL[2:], strict=True)
            game.say(*(drawn(hand, number, face) for (hand, number), face in rest))
            game.say(DeviceResult(winner="player"))


def _control_characters(folder: Path) -> None:
    """Texts that nobody writes on purpose, wherever a text is taken."""
    odd = f"odd {_CONTROL} end"
    with _stage(folder, "harbour/b8") as stage:
        game = WiredGame(stage)
        game.say(LinkOpen(transport="pty:corpus"), LinkUp())
        staff = AssignDealer(transaction="", dealer=f"d{_CONTROL}", supervisor="s\0")
        game.ask("supervisor", staff)
        tray = (Pieces(500, 200), Pieces(10_000, 40))
        game.ask(
            "supervisor",
            OpenFloat(
                transaction="", float_id="20261127-01", currency="AUD", chips=tray, signed=_SIGNED
            ),
        )
        game.shoe("20261127-01")
        for patron in ("p\0", f"p{_CONTROL}", "\0"):
            game.ask("dealer", OpenBetting(transaction=""))
            bets = (("player", 1000), ("player_pair", 700), ("tie", 300))
            asked = tuple(
                WagerRequest(seat=seat, bet=bet, stake=stake, patron=patron)
                for seat, (bet, stake) in enumerate(bets, start=1)
            )
            game.ask("wagers", PlaceWager(transaction="", wagers=asked))
            game.deal(_NATURAL)
            game.say(DeviceResult(winner="player"))
        wrong = CorrectWager(transaction="", coup=game.coup, wager=game.wagers[0], reason=odd)
        game.ask("supervisor", wrong)
        game.begin((1, "player", 1000))
        game.ask("supervisor", VoidCoup(transaction="", reason=odd))
        game.ask("dealer", ResolveIrregularity(transaction="", kind="other", reason="\0"))
        more = (Pieces(10_000, 20),)
        for slip in ("F-1\0", f"F-2{_CONTROL}/2"):
            fill = Fill(
                transaction="", slip=slip, reference=f"R{slip}", chips=more, signed=("c\0", "s-1")
            )
            game.ask("supervisor", fill)
        credit = Credit(transaction="", slip=f"C{_CONTROL}/1", chips=more, signed=_SIGNED)
        game.ask("supervisor", credit)
        game.ask("supervisor", CloseFloat(transaction="", chips=tray, signed=_SIGNED))
        drop = CountDrop(
            transaction="", float_id="20261127-01", box="B\0", notes=more, signed=_SIGNED
        )
        game.ask("cage", drop)
        game.ask("dealer", EndShoe(transaction="", reason=odd))
        game.table.close_books()
        stage.core.make_due_checkpoint()


def _killed(folder: Path) -> None:
    """As SIGKILL leaves it: the newest events, a coup in progress among them, are in the WAL."""
    alive = folder / "alive"
    alive.mkdir()
    with _stage(alive, "harbour/b10") as stage:
        game = WiredGame(stage)
        game.say(LinkOpen(transport="pty:corpus"), LinkUp())
        game.shoe("20261127-01")
        for _ in range(3):
            game.play(_NATURAL, "player", (1, "player", 1000), (2, "banker", 500))
        game.begin((1, "player", 1000))
        game.deal(_NATURAL[:3])
        for name in (LOG, f"{LOG}-wal"):
            shutil.copyfile(alive / name, folder / name)
    for path in alive.iterdir():
        if path.name not in {LOG, f"{LOG}-wal"}:
            path.rename(folder / path.name)
    shutil.rmtree(alive)


def _late_copies(folder: Path) -> None:
    """The last copy of a report comes behind the profile's window, and passes for a new one."""
    with _stage(folder, "harbour/b11") as stage:
        game = WiredGame(stage)
        game.say(LinkOpen(transport="pty:corpus"), LinkUp())
        game.shoe("20261127-01")
        for late in range(3):
            game.begin((1, "player", 1000), (2, "banker", 500))
            for number, (place, face) in enumerate(zip(ORDER, _NATURAL, strict=True)):
                stage.said(game.table, drawn(*place, face), late=number == late)
            if game.table.state.in_progress:
                game.ask("supervisor", VoidCoup(transaction="", reason="a card came twice"))
        game.play(_NATURAL, "player", (1, "player", 1000))
        game.ask("dealer", EndShoe(transaction="", reason="nobody trusts its line"))
        game.table.close_books()
        stage.core.make_due_checkpoint()


_Play = Callable[[Path], None]

GAMES: Final[dict[str, _Play]] = {
    "by-hand": _by_hand,
    "closed-files": _closed,
    "control-characters": _control_characters,
    "killed": _killed,
    "late-copies": _late_copies,
    "money-extras": lambda folder: _money(folder, "extras", (), seed=21, coups=7),
    "money-deduct": lambda folder: _money(
        folder, "au-commission", ("prepaid", "per_coup"), seed=22, coups=7
    ),
    "money-per-coup": lambda folder: _money(
        folder, "per_coup", ("au-commission", "prepaid"), seed=23, coups=7
    ),
    "money-per-shoe": lambda folder: _money(
        folder, "per_shoe", ("nz-scale-one",), seed=24, coups=7
    ),
    "money-prepaid": lambda folder: _money(
        folder, "prepaid", ("au-commission", "per_coup"), seed=25, coups=7
    ),
}
"""By story."""
