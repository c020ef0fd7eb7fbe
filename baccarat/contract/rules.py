"""Patterns, ranges and examples of message fields, which the types do not express.

A rule is JSON Schema. It applies to every field of that name that has no narrower type of its own;
`Class.field` goes before `field`. Integers without a rule are at least 0. Texts without a rule are
for people, or the words of a device or a site. They are listed in `FREE_TEXT`, so that no new field
is forgotten.
"""

from typing import Any, Final

from events.free_text import FORBIDDEN_CHARACTERS

__all__ = ["FREE_TEXT", "MOST", "ONE_LINE", "RULES", "SEGMENT", "Schema"]

Schema = dict[str, Any]
"""A JSON Schema."""

MOST: Final = 2**53 - 1  # the largest integer that every JSON reader reads exactly
SEGMENT: Final = "^[a-z0-9_-]+$"  # the same as events.mqtt.topics.SEGMENT

# Forbidden in a request's texts (`invalid_text`); events of earlier builds may contain it.
ONE_LINE: Final = f"^[^{FORBIDDEN_CHARACTERS}]*$"

_SHOE: Final = "[0-9]{8}-[0-9]{2}"
_COUP: Final = f"{_SHOE}/[1-9][0-9]{{0,5}}"
_SHA256: Final = "a" * 64


def _text(pattern: str, example: str, **more: Any) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$", "examples": [example], **more}


def _words(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _from(least: int, most: int = MOST, *, example: int | None = None) -> Schema:
    shown = least if example is None else example
    return {"type": "integer", "minimum": least, "maximum": most, "examples": [shown]}


def _said(example: str, *, least: int = 1, most: int | None = None) -> Schema:
    limits = {"minLength": least} if most is None else {"minLength": least, "maxLength": most}
    return {"type": "string", **limits, "examples": [example]}


_HASH: Final = _text("[0-9a-f]{64}", _SHA256)
_HEX: Final = _text("([0-9A-F]{2})*", "05314481B8033446")
_NAME: Final = _text("[a-z][a-z0-9_]*", "not_offered")
_MARKS: Final = _text("[RB]*", "RB")
_SEAT: Final = _from(1, 99, example=3)
_AMOUNT: Final = _from(0, example=2500)
_SIGNED: Final = _from(-MOST, example=-2500)
_POINTS: Final = _from(0, 9, example=8)
_WHEN: Final = _text(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z",
    "2026-11-27T20:32:11.509474903Z",
    format="date-time",
)
_SINCE: Final = _text(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z", "2026-11-27T20:30:00Z"
)
_SETTLEMENT: Final = _text(f"[a-z0-9_-]+/{_COUP}/[12]/[1-9][0-9]*", "b7/20261127-02/1/2/1")
_WAGER: Final = _said("wagers/w-901/0")
_BET: Final = _said("banker")
_TIMING: Final = _words("deduct", "prepaid", "per_coup", "per_shoe")

RULES: Final[dict[str, Schema]] = {
    # Identities.
    "shoe": _text(_SHOE, "20261127-02"),
    "ShoeStatus.id": _text(_SHOE, "20261127-02"),
    "PublicShoe.id": _text(_SHOE, "20261127-02"),
    "PublicCoup.id": _text(_COUP, "20261127-02/1"),
    "PublicBet.id": _BET,
    "PublicRulebook.id": _said("nz-scale-one"),
    "PublicCell.winner": _words("P", "B"),
    "PublicCoup.winner": _words("player", "banker", "tie"),
    "PublicCard.hand": _words("player", "banker"),
    "PublicRule.hand": _words("player", "banker"),
    "PublicCard.card": _said("9D"),
    "coup": _text(_COUP, "20261127-02/1"),
    "during": _text(f"({_COUP})?", "20261127-02/1"),
    "CoupView.id": _text(_COUP, "20261127-02/1"),
    "float_id": _text(_SHOE, "20261127-01"),
    "slip": _said("F-101", most=64),
    "ChipsCorrected.slip": _said("F-101", least=0, most=64),
    "CorrectChips.slip": _said("F-101", least=0, most=64),
    "box": _said("B-7", most=64),
    "RepeatedRun.earlier": _text(_SHOE, "20261126-01"),
    "ShuffleQuestioned.source": _said("20261126-01", least=0),
    "settlement_id": _SETTLEMENT,
    "settlements": _SETTLEMENT,
    "reverses": _SETTLEMENT,
    "wager": _WAGER,
    "acknowledgeable": _said("result_disputed"),
    "wagers": _WAGER,
    "Wager.id": _WAGER,
    "Sentence.key": _said("sign.no_side_betting"),
    "PublicSentence.key": _said("sign.no_side_betting"),
    "bet": _BET,
    "side_wins": _BET,
    "BetView.id": _BET,
    "rulebook": _said("nz-scale-one"),
    "RulebookCorrected.was": _said("nz-scale-one"),
    "RulebookView.id": _said("nz-scale-one"),
    "transaction": _said("w-901", most=128),
    "ShowRequest.request": _said("w-901", most=128),
    "consumer": _text("[a-z0-9_-]{1,64}", "cage"),
    "ConsumerView.name": _text("[a-z0-9_-]+/[a-z0-9_-]{1,64}", "cage/main"),
    "RulebookName.id": _said("nz-scale-one"),
    "RulebookName.commission": _TIMING,
    "RulebookView.commission": _TIMING,
    "ConsumerView.position": _from(0),
    "waiting_s": _from(0),
    "heard_s": _from(0),
    "table": _text("[a-z0-9_-]+", "b7"),
    "stream": _text("[a-z0-9_-]+/[a-z0-9_-]+", "harbour/b7"),
    "event_id": _text("[0-9a-f]{32}", "0b076068e8395a576571984afe68a672"),
    "actor": _said("supervisor"),
    "cause": _said("j1/3"),
    "correlation": _text(f"({_COUP})?", "20261127-02/1"),
    "journal": _said("j1", least=0),
    "profile": _said("enq-bcc", least=0),
    # Hashes, keys and bytes.
    "hash": _HASH,
    "digest": _HASH,
    "rulebook_hash": _HASH,
    "was_hash": _HASH,
    "profile_hash": _HASH,
    "chain": _HASH,
    "peaks": _HASH,
    "shape": _said("a" * 64),
    "BooksClosed.state": _said("a" * 64),
    "key": _text(r"[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*", "harbour/b7+566d2add+AaBb"),
    "raw": _HEX,
    "bodies": _HEX,
    # Times.
    "at": _WHEN,
    "utc": _WHEN,
    "ts": _WHEN,
    # Words for programs.
    "type": _text("[a-z][a-z0-9_]*", "betting_closed"),
    "category": _said("win"),
    "code": _NAME,
    "ErrorRaised.code": _said("cover_open"),
    "ErrorCleared.code": _said("cover_open"),
    "command": _NAME,
    "Preview.command": _text("[a-z][a-z0-9_]*", "void_coup"),
    "Preview.body": {
        "type": "object",
        "examples": [{"transaction": "s-8", "coup": "20261127-02/1", "reason": "a wrong shoe"}],
    },
    "alarm": _said("result_disputed"),
    "Alarm.name": _said("result_disputed"),
    "odds": _text("[0-9]+/[0-9]+", "19/20"),
    "chance": _said("1/311875200"),
    "currency": _text("[A-Z]{3}", "NZD"),
    "Move.result": _words("win", "lose", "push", "void"),
    "Advice.lines": _said("advice.open_betting"),
    "Advice.commands": _NAME,
    "SettlementLine.result": _words("win", "lose", "push", "void"),
    "Answer.result": _words("accepted", "exists", "refused"),
    "AlarmNotice.state": _words("raised", "cleared"),
    "LinkStatus.state": _words("down", "open", "up", "stalled"),
    "LinkStatus.loss_detection": _words("full", "weak", "none"),
    "CardDealt.source": _words("shoe", "manual"),
    "scope": _words("table", "patron"),
    "Cell.winner": _words("P", "B"),
    "DeviceResult.winner": _said("player"),
    "bead_plate": _text("[PBT]n?p?b?", "Bn"),
    "big_eye_boy": _MARKS,
    "small_road": _MARKS,
    "cockroach_pig": _MARKS,
    # Amounts, in minor units.
    "stake": _AMOUNT,
    "WagerRequest.stake": _from(1, example=2500),
    "staked": _AMOUNT,
    "paid": _AMOUNT,
    "commission": _AMOUNT,
    "winnings": _AMOUNT,
    "amount": _from(1, example=125),
    "FloatOpened.amount": _AMOUNT,
    "SlipView.amount": _AMOUNT,
    "ChipsCounted.amount": _AMOUNT,
    "FloatClosed.amount": _AMOUNT,
    "DropCounted.amount": _AMOUNT,
    "ChipsCorrected.amount": _AMOUNT,
    "SeatDifference.staked": _SIGNED,
    "SeatDifference.paid": _SIGNED,
    "SeatDifference.commission": _SIGNED,
    "TotalsView.house": _SIGNED,
    "SeatChips.gets": _SIGNED,
    "Previewed.position": _from(0, example=812),
    # Counts and places.
    "seat": _SEAT,
    "denomination": _from(1, example=2500),
    "pieces": _from(0, 1_000_000, example=20),
    "decks": {"type": "integer", "enum": [4, 6, 8]},
    "number": _from(1, 3),
    "phase": {"type": "integer", "enum": [1, 2]},
    "revision": _from(1),
    "v": _from(1),
    "Envelope.position": _from(1, example=8),
    "Ack.position": _from(0, example=20),
    "from": _from(1, example=21),
    "ShowTable.position": _from(1, example=20),
    "CardInstead.position": _from(1, example=17),
    "FindCoups.number": _from(1, example=31),
    "FindCoups.since": _SINCE,
    "FindCoups.until": _SINCE,
    "FindCoups.before": _text(_COUP, "20261127-02/31"),
    "CoupFound.position": _from(1, example=17),
    "CoupFound.revision": _from(0, example=1),
    "CoupsFound.position": _from(0, example=20),
    "CoupProved.file": _text(r"[a-z0-9_.-]+\.json", "coup-harbour-b7-20261127-01-31.json"),
    "FindCoups.limit": _from(1, 50, example=20),
    "seq": _from(0, example=3),
    "ShoeEvent.seq": _from(1, example=3),
    "session": _from(1, example=4),
    "player_total": _POINTS,
    "banker_total": _POINTS,
}

_FREE: Final = """
    reason text detail words title hint transport dealer supervisor patron device device_seq mode
    place by kind method timing expected got lines pay_scale game pays errors rule signed reference
    occasion help_line confirmed_by less values
    CardView.source LinkStatusView.state PublicLink.state troubles evidence kept template
"""
FREE_TEXT: Final = frozenset(_FREE.split())
"""Fields whose text is free."""
