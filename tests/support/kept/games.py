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

from events.commands import (
    AssignDealer,
    CorrectWager,
    CountDrop,
    Credit,
    EndShoe,
    Fill,
    PlaceWager,
    ResolveIrregularity,
    VoidCoup,
    WagerRequest,
)
from events.log.store import EventLog
from events.proof.note import SigningKey
from events.types import Pieces
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
from tests.support.table.coups import NATURAL_NINE, ORDER, drawn
from tests.support.table.money_game import Game, random_coup

_NEXT_KEY: Final = SigningKey(f"{ORIGIN}-2", bytes([1]) * 32)
_SIGNED: Final = ("s-1", "d-4")
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

_LINK_UP: Final = "shoe link_open transport=pty:corpus\nshoe link_up"
_BEGUN: Final = "open\nbet 1 player 1000\nclose"
_PLAYER_WINS: Final = "deal 9S 2D KH 3C\nresult player"
_OUTSIDE: Final = "shoe card_out_of_game reason=drawn_outside_game 5D"
_TAKEN_OUT: Final = "shoe card_out_of_game reason=overdrawn 5D"
_TOO_MANY: Final = f"""
open
bet 1 banker 1000
close
deal 9S 2D KH 3C
{_OUTSIDE}
{_TAKEN_OUT}
resolve_irregularity kind=excess_card seen={{seen}} reason="one more"
result player
"""
_PUT_RIGHT: Final = f"""
open
bet 1 player 1000, 2 banker 500, 3 tie 200
close
{_PLAYER_WINS}
supervisor: correct_wager coup=@ to="9 banker 700" reason="left out"
supervisor: correct_wager coup=@ wager=@3 to=none reason="never stood there"
supervisor: correct_card coup=@ B2 7C reason="a seven"
supervisor: void_coup coup=@ reason="dealt out of turn"
"""
# What ends a coup before its time, or holds it until somebody has looked.
_VOID: Final = """
open
bet 1 player 1000
close
deal 9S 2D
shoe {report}
supervisor: void_coup reason="nobody knows what lies there"
shoe shoe_ready
"""
_LOOKED_AT: Final = f"""
{_BEGUN}
deal 9S 2D
shoe link_stalled silent_ms=60000
shoe link_down reason=unplugged
{_LINK_UP}
supervisor: enter_card P2 KH reason="by eye"
supervisor: enter_card B2 3C reason="by eye"
supervisor: realign reason="all four lie there"
result player
shoe error_raised code=cannot_read latched=true
supervisor: clear_shoe_error code=cannot_read reason="wiped clean"
shoe unknown_report raw=
shoe frame_rejected reason=stale raw=0531 length=2
"""
_OTHER_SHOES: Final = """
open
bet 1 banker 1000
close
deal 9S 2D
supervisor: replace_shoe shoe=20261128-05 coup=continue reason=jammed
P2 KH B2 3C
result player
open
bet 1 banker 1000
close
deal 9S 2D
supervisor: replace_shoe shoe=20261128-06 coup=void reason=jammed
"""


def _by_hand(folder: Path) -> None:
    """Every type of event that this shoe has words for, and every way out of an irregularity."""
    with _stage(folder) as stage:
        game = WiredGame(stage)
        play_scenes(game)
        game.table.close_books()
        (folder / "rules-marked.toml").write_bytes(MARKED)
        stage.key, stage.retiring = _NEXT_KEY, stage.key
        game.under(load_rulebook("au-commission"))
        for number, scene in enumerate((_recorded, _put_right, _broken_off, _other_shoes), start=1):
            game.shoe(f"20261128-{number:02}")
            scene(game)
            game.perform('end_shoe reason="the last of the day"')
            game.table.close_books()
            stage.core.make_due_checkpoint()


def _recorded(game: WiredGame) -> None:
    for number, kind in enumerate(sorted(RECORDED_KINDS)):
        recorded = f'resolve_irregularity kind={kind} reason="as {kind} is"'
        game.perform(f"{_BEGUN}\n{recorded}\n{_PLAYER_WINS}" if number % 2 else recorded)


def _put_right(game: WiredGame) -> None:
    game.perform(_PUT_RIGHT)
    for seen in ("false", "true"):
        game.perform(_TOO_MANY.format(seen=seen))


def _broken_off(game: WiredGame) -> None:
    for report in ("shoe_booted", "round_forced_end", "report_lost expected= got="):
        game.perform(_VOID.format(report=report))
    game.perform(_LOOKED_AT)


def _other_shoes(game: WiredGame) -> None:
    game.perform(_OTHER_SHOES)


def _control_characters(folder: Path) -> None:
    """Texts that nobody writes on purpose, wherever a text is taken."""
    odd = f"odd {_CONTROL} end"
    with _stage(folder, "harbour/b8") as stage:
        game = WiredGame(stage)
        game.perform(_LINK_UP)
        game.by("supervisor", AssignDealer(transaction="", dealer=f"d{_CONTROL}", supervisor="s\0"))
        game.perform(
            "supervisor: open_float float_id=20261127-01 currency=AUD"
            ' chips="500x200 10000x40" signed=s-1,d-4'
        )
        game.shoe("20261127-01")
        for patron in ("p\0", f"p{_CONTROL}", "\0"):
            game.perform("open")
            bets = (("player", 1000), ("player_pair", 700), ("tie", 300))
            asked = tuple(
                WagerRequest(seat=seat, bet=bet, stake=stake, patron=patron)
                for seat, (bet, stake) in enumerate(bets, start=1)
            )
            game.by("wagers", PlaceWager(transaction="", wagers=asked))
            game.perform(_PLAYER_WINS)
        assert game.state.coup is not None
        coup, wager = game.state.coup.id, next(iter(game.state.coup.wagers))
        game.by("supervisor", CorrectWager(transaction="", coup=coup, wager=wager, reason=odd))
        game.perform(_BEGUN)
        game.by("supervisor", VoidCoup(transaction="", reason=odd))
        game.by("dealer", ResolveIrregularity(transaction="", kind="other", reason="\0"))
        more = (Pieces(10_000, 20),)
        for slip in ("F-1\0", f"F-2{_CONTROL}/2"):
            fill = Fill(
                transaction="", slip=slip, reference=f"R{slip}", chips=more, signed=("c\0", "s-1")
            )
            game.by("supervisor", fill)
        credit = Credit(transaction="", slip=f"C{_CONTROL}/1", chips=more, signed=_SIGNED)
        game.by("supervisor", credit)
        game.perform('supervisor: close_float chips="500x200 10000x40" signed=s-1,d-4')
        drop = CountDrop(
            transaction="", float_id="20261127-01", box="B\0", notes=more, signed=_SIGNED
        )
        game.by("cage", drop)
        game.by("dealer", EndShoe(transaction="", reason=odd))
        game.table.close_books()
        stage.core.make_due_checkpoint()


def _killed(folder: Path) -> None:
    """As SIGKILL leaves it: the newest events, a coup in progress among them, are in the WAL."""
    alive = folder / "alive"
    alive.mkdir()
    with _stage(alive, "harbour/b10") as stage:
        game = WiredGame(stage)
        game.perform(_LINK_UP)
        game.shoe("20261127-01")
        for _ in range(3):
            game.perform(f"open\nbet 1 player 1000, 2 banker 500\nclose\n{_PLAYER_WINS}")
        game.perform(f"{_BEGUN}\ndeal 9S 2D KH")
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
        game.perform(_LINK_UP)
        game.shoe("20261127-01")
        for late in range(3):
            game.perform("open\nbet 1 player 1000, 2 banker 500\nclose")
            for number, (place, face) in enumerate(zip(ORDER, NATURAL_NINE, strict=True)):
                stage.said(game.table, drawn(*place, face), late=number == late)
            if game.table.state.in_progress:
                game.perform('supervisor: void_coup reason="a card came twice"')
        game.perform(f"{_BEGUN}\n{_PLAYER_WINS}")
        game.perform('end_shoe reason="nobody trusts its line"')
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
