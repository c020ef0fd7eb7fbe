"""The rules that a shoe is held to, and the steps of its life that a technician walks. Data."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

__all__ = ["REJECTS", "RULES", "STEPS", "Step"]

RULES: Final[Mapping[str, str]] = {
    "framing": "every byte belongs to a frame; noise comes only with the power",
    "length": "a frame is as long as its length says, and no longer than the profile allows",
    "check": "every frame passes its check",
    "boot_number": "a power-up has its number, and nothing else has it",
    "copies": "every report comes as often as the profile says",
    "copies_agree": "all copies of a report are equal",
    "copy_window": "the copies of a report come within the profile's window",
    "numbering": "numbers follow one another, without a gap and without a repeat",
    "codes": "every report and every code is in the profile",
    "position": "cards come to the hands in dealing order, each place once",
    "third_card": "third cards come when the draw table says, and only then",
    "disclosure": "a face that was withheld is told once, before the result",
    "disclosure_agrees": "a face that is told again is the same",
    "result": "the result is that of the cards",
    "result_order": "a result comes once, after the last card and before the next coup",
    "errors": "an error is cleared after it was raised, and none is left standing",
    "draw_in_error": "no card is drawn while the shoe stands in its error mode",
    "draw_while_locked": "no card is drawn while the shoe is locked",
    "burn": "burn cards count down by one to nought, before the first coup",
    "first_card": "the first card comes once, after the power-up and before the burn",
    "standby": "standby is said between coups",
    "cut_card": "the cut card comes once a shoe",
    "faces": "no face comes more often than a shoe has it",
    "beat": "a device with a beat is never silent for longer than the profile allows",
    "late": "a result comes within 30 s of its last card",
}
"""By name: what holds of a good shoe."""

REJECTS: Final[Mapping[str, str]] = {
    "bad_check": "check",
    "bad_number": "numbering",
    "bad_length": "length",
    "too_long": "length",
}
"""By the framer's reason: the rule that is broken; `framing` by every other one."""


class Step(Struct, frozen=True):
    """A step of a shoe's life.

    Args:
        name: of what is seen.
        kinds: the reports that show it.
        asks: what the technician does.
    """

    name: str
    kinds: tuple[str, ...]
    asks: str


STEPS: Final = (
    Step("power", ("shoe_booted",), "switch the shoe off and on"),
    Step("ready", ("shoe_ready",), "let the shoe come to standby"),
    Step("first card", ("first_card",), "draw the first card of a new shoe"),
    Step("burn", ("burn_card",), "burn as many cards as it says"),
    Step("deal", ("card_drawn",), "deal a coup"),
    Step("squeeze", ("card_revealed",), "deal a coup face down, and disclose it"),
    Step("result", ("device_result",), "end the coup"),
    Step("Player's third card", (), "deal until Player takes a third card"),
    Step("Banker's third card", (), "deal until Banker takes a third card"),
    Step("Player wins", (), "deal until Player wins"),
    Step("Banker wins", (), "deal until Banker wins"),
    Step("tie", (), "deal until there is a tie"),
    Step("cut card", ("cut_card",), "deal to the cut card"),
    Step("unread card", ("card_unreadable",), "draw a card that cannot be read"),
    Step("overdraw", ("card_out_of_game", "card_carried_over"), "draw a card too many"),
    Step("reversed card", ("card_reversed",), "push a card back"),
    Step("error raised", ("error_raised",), "provoke an error, such as a jam"),
    Step("error cleared", ("error_cleared",), "clear it at the shoe"),
    Step("lock", ("lock_changed",), "turn the key"),
    Step("forced end", ("round_forced_end",), "end a round at the shoe"),
    Step("unplug", ("link_down",), "pull the cable, and put it back"),
)
