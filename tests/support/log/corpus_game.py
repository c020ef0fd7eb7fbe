"""The game that the corpus records: one table on one log, every type of event in it, no chance.

Its clock goes on by a second whenever it is asked, so that the same build records the same bytes.
Whoever adds a type of event adds a scene in which it happens.
"""

import re
from typing import Final

from msgspec.structs import replace

from events.commands import Command, Refusal
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from events.types import AnyReport, TableEvent
from table_core.decide.decision import DecisionContext
from table_core.process.checkpoints import CheckpointKeys
from table_core.process.table_writer import ShoeEventResult
from table_core.rulebooks.shipped import load_rulebook, shipped_source
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.service.table import Table
from tests.support.clock import ticking_clock
from tests.support.table.coups import World, shoe_event
from tests.support.table.histories import perform

ORIGIN: Final = "harbour/b7"

KEY: Final = SigningKey(ORIGIN, bytes(32))
"""Nobody's: it signs what tests read."""

MARKED: Final = shipped_source("au-commission").replace(b'"deduct"', b'"per_shoe"')
"""A site's own rulebook, by which commission is marked."""

_OTHER: Final = load_rulebook("au-even-money")
_ROLES: Final = {
    user: frozenset({user}) for user in ("dealer", "supervisor", "wagers", "cage", "console")
}

_ORDINARY: Final = """
supervisor: set_limits table_maximum=10000000 differential=50000
open
bet 1 banker 1000, 2 player 500, 3 tie 300
close
deal KS 9D 2H TC
result banker
open
bet 1 player 1000, 2 tie 200, 4 player_pair 100
wagers: withdraw_wager wagers=@2
squeeze
disclose 9S 2D KH 3C
result player
"""
_CARDS_BY_HAND: Final = """
open
bet 1 player 1000
close
deal 9S 2D KH
shoe card_unreadable B2
supervisor: enter_card B2 3C reason="read by eye"
mark_unreadable B1 reason="the print is smudged"
supervisor: enter_card B1 4D reason="read by eye"
supervisor: correct_card B1 2D reason="a two after all"
result player
"""
_HELD: Final = """
open
bet 1 player 1000
close
deal 9S 2D KH 3C
result banker
supervisor: confirm_result reason="the cards lie there"
open
bet 1 banker 1000
close
deal 9S
shoe report_lost expected=3 got=5
supervisor: enter_card B1 2D reason="camera 4"
supervisor: enter_card P2 KH reason="camera 4"
supervisor: enter_card B2 3C reason="camera 4"
supervisor: realign reason="checked with surveillance"
result player
open
bet 1 tie 1000
close
deal 9S 2D KH 3C
shoe card_out_of_game reason=drawn_outside_game
result player
resolve_irregularity kind=excess_card seen=true reason="it fell open"
free_hand
shoe card_carried_over P1 9S
B1 2D P2 KH B2 3C
result player
open
bet 1 player 700
close
supervisor: void_coup reason="a patron fell ill"
resolve_irregularity kind=late_wager reason="seat 3, given back"
"""
_CORRECTED: Final = """
open
bet 1 banker 1000, 2 player 500
close
deal KS 9D 2H TC
result banker
supervisor: correct_hands coup=@ player="9D TC" banker="KS 2H" reason="sides exchanged"
supervisor: correct_wager coup=@ wager=@1 to="1 banker 1500" reason="the chips were counted again"
supervisor: correct_rulebook coup=@ by=library reason="the sign said Even Money"
"""
_LAST_COUP: Final = """
cut_card place=between
open
bet 1 player 500
close
deal 9S 2D KH 3C
result player
"""
_LUCKY: Final = [f"{seat} lucky8_player 30000" for seat in range(1, 16)]
_MAIN: Final = [f"{seat} player 1000" for seat in range(1, 15)]
# Commission is laid before the hand; Lucky 8 needs a main wager, which seat 15 has not, and has a
# maximum for all.
_PREPAID: Final = f"""
open
bet {", ".join([*_LUCKY, *_MAIN])}, 30 banker 2000
close
deal 8S 9D KH TC
result banker
open
bet 30 banker 2000
close
deal 9S 2D KC 3C
result player
end_shoe reason="the last of the day"
"""
# Commission is marked, collected, given up and given back; a burn is skipped and told of.
_MARKED_COUP: Final = """
load_shoe shoe=20261127-03
open
bet 1 banker 1000, 2 banker 600
close
deal KS 9D 2H TC
result banker
burn cards=0 reason="the dealer forgot it"
collect_commission seat=1 amount=50
supervisor: mark_uncollected seat=2 reason="the patron has left"
supervisor: recover_commission seat=2 amount=30
supervisor: correct_wager coup=20261127-03/1 wager=@1 to="1 banker 400" reason="too high" \\
    signed=s-1,d-4
acknowledge_correction coup=20261127-03/1 settlements=b7/20261127-03/1/2/2
"""
_TRAY: Final = 'chips="500x200 2500x80 10000x40" signed=s-1,d-4'
_BOX: Final = "count_drop float_id=20261127-01 box=B-7 signed=c-2,c-3"
# A float from its opening to the count of its drop; a slip and a box were misread.
_CHIPS: Final = f"""
supervisor: open_float float_id=20261127-01 currency=AUD {_TRAY}
supervisor: fill slip=F-101 reference=R-7 chips=10000x20 signed=c-2,s-1,d-4
supervisor: credit slip=C-55 chips=500x100 signed=s-1,d-4
supervisor: count_chips occasion="change of shift" {_TRAY}
supervisor: correct_chips float_id=20261127-01 move=fill slip=F-101 chips=10000x21 \\
    signed=s-1,d-4 reason="a rack holds one more"
supervisor: close_float {_TRAY}
cage: {_BOX} notes="5000x12 10000x14"
cage: {_BOX} notes="5000x12 10000x15" reason="a note stuck to the lid"
console: note_logins entries=2 chain={"0" * 64}
"""
# A count is one short and released, the next comes out; then new packs that nobody has shuffled.
_DOUBTED: Final = """
end_shoe reason="the last of the day"
count_shoe shoe=20261127-03 cards=415
supervisor: release_shoe shoe=20261127-03 reason="the card lay under the shoe"
count_shoe shoe=20261127-03 cards=416
"""
_NEW_PACKS: Final = """
open
close
deal AS 2S 3S 4S 5S
result player
open
close
deal 6S 7S 8S 9S TS
result banker
end_shoe reason="nobody has shuffled it"
"""
# The reports that no scene before this one has.
_WHATEVER_THE_SHOE_SAYS: Final = """
shoe error_raised code=cannot_read latched=false
shoe error_cleared code=cannot_read
shoe error_raised code=alarm_e5 latched=true
supervisor: clear_shoe_error code=alarm_e5 reason="its lid was open; it is shut"
shoe lock_changed locked=true
shoe mode_changed mode=free
shoe unknown_report raw=00
shoe frame_rejected reason=check raw=05 length=1
shoe link_stalled silent_ms=5000
shoe copy_conflict device_seq=2 bodies=44,45
shoe card_reversed place=exit
shoe cut_card
shoe round_forced_end
shoe shoe_booted
shoe shoe_ready
shoe link_down reason=unplugged
"""


class CorpusGame(World):
    """Who plays: everything asked for is accepted, everything the shoe says is taken."""

    library: tuple[Rulebook, ...] = (_OTHER,)

    def __init__(self, events: EventLog) -> None:
        self.events = events
        self.clock = ticking_clock()
        self.log = []
        self.user = "dealer"
        self._transaction = 0
        self.under(load_rulebook("au-commission"))

    def under(self, rulebook: Rulebook) -> None:
        """The core starts again, with this rulebook."""
        self.context = DecisionContext(table="", rulebook=rulebook, library=self.library)
        self.table = self.started(rulebook)
        self.state = self.table.state

    def started(self, rulebook: Rulebook) -> Table:
        """Return a core on the log."""
        topics = Topics(*ORIGIN.split("/"))
        library = self.library
        return Table(self.events, topics, rulebook, self.clock, roles=_ROLES, library=library)

    def ask(self, command: Command) -> list[TableEvent] | Refusal:
        answer = self.table.ask(self.user, command, caught_up=True)
        self.state = self.table.state
        assert answer.result == "accepted", (command, answer)
        return []

    def by(self, user: str, command: Command) -> None:
        """Have a command carried out for a user."""
        self.user = user
        self.must(replace(command, transaction=self.transaction()))
        self.user = "dealer"

    def bet(self, *wagers: tuple[int, str, int]) -> None:
        self.user = "wagers"
        super().bet(*wagers)
        self.user = "dealer"

    def say(self, *reports: AnyReport) -> list[TableEvent]:
        for report in reports:
            self.hear(report)
            self.state = self.table.state
        return []

    def hear(self, report: AnyReport) -> None:
        event = shoe_event(self.table.shoe_ack.seq + 1, report)
        assert self.table.hear(event) is ShoeEventResult.APPENDED

    def shoe(self, name: str) -> None:
        self.perform(f"load_shoe shoe={name}\nshoe first_card AS\nshoe burn_card 4C left=0")

    def perform(self, steps: str) -> None:
        """Take steps as `tests.support.table.histories` has them; `USER: STEP` for a user."""
        for line in steps.replace("\\\n", "").strip().splitlines():
            user, step = re.fullmatch(r"(?:(supervisor|wagers|cage|console): )?(.*)", line).groups()  # type: ignore[union-attr]  # it matches any line
            self.user = user or "dealer"
            perform(self, step)
        self.user = "dealer"


def play(log: EventLog) -> None:
    """Play it from the first event to the last, on an empty log of `ORIGIN`."""
    game = CorpusGame(log)
    game.table.sign_checkpoints(CheckpointKeys(KEY, None, 60))
    game.table.adopt_log(by="s-1", reason="restored from the backup of Monday", kept="")
    play_scenes(game)
    game.perform(_WHATEVER_THE_SHOE_SAYS)
    game.table.make_due_checkpoint()


def play_scenes(game: CorpusGame) -> None:
    """All but what only some shoe says."""
    game.perform("shoe link_open transport=pty:corpus\nshoe link_up")
    game.perform("supervisor: assign_dealer dealer=d-4 supervisor=s-1")
    game.shoe("20261127-01")
    for scene in (_ORDINARY, _CARDS_BY_HAND, _HELD, _CORRECTED, _LAST_COUP):
        game.perform(scene)
    game.table.close_books()
    game.under(load_rulebook("mini-lucky8"))
    game.shoe("20261127-02")
    game.perform(_PREPAID)
    game.table.close_books()
    game.under(parse_rulebook("au-commission.toml", MARKED))
    game.perform(_MARKED_COUP.rstrip() + _CHIPS + _DOUBTED)
    game.shoe("20261127-04")
    game.perform(_NEW_PACKS)
