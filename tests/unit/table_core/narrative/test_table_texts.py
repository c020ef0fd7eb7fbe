"""Texts that the table writes itself: each has a form, so that it can be said in any language."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter

import pytest

from table_core.decide.decision import DecisionContext
from table_core.decide.shoe_reports import _BREAKS as BREAKS
from table_core.narrative.formatting import Phrase, Spoken, spoken
from table_core.narrative.table_texts import TEMPLATES, as_phrase
from table_core.projections.table_document import project_table
from table_core.rulebooks.shipped import load_rulebook
from tests.support.table.coups import World
from tests.support.table.histories import perform
from tests.support.table.shown_states import STATES

CORE = Path(__file__).parents[4] / "table_core"
# Call -> its argument that is a text for people: by place, or by name.
_CALLS: dict[str, int | str] = {
    "AlarmRaised": "text",
    "Alarm": "text",
    "ShoeHeld": "text",
    "raise_alarm": 2,
    "misalign": 2,
    "CoupMisaligned": "detail",
    "ResultDisputed": "detail",
}
# Put together of parts, or of what machines outside say: `SAID` has each in whole.
_IN_PARTS = {
    "7 (7)",
    "7 (the shoe has taken it out of play: it is burned)",
    "7. A supervisor releases the next shoe",
    "7: 7: 7",  # the fault of a rulebook, for its author
    "7; 7 since the start, and nothing of them was done",
    "coup 7: a card was drawn outside the game; 7",
    "shoe 7: its 7: 7",
    "the shoe driver: 7; set both by one time server",
    "the shoe link is 7",
}
_WHOLE = """
shoe s1: its count does not come out: 414 cards, 2 missing; KS 7 times. A supervisor releases
the next shoe

shoe s1: its cards cannot all be in it: KS came 9 times, 8 decks hold 8; 417 cards came, 8 decks
hold 416. A supervisor releases the next shoe

shoe s1: its count does not come out: 417 cards, 1 too many

shoe s1: of 52 cards, 12 cards in a row came in the order of new packs, two suits upwards and
two downwards, every 2. card, backwards, dealt to two piles; the longest run, of 12, in coup
s1/4: AS 2S .... An honest shuffle shows that in at most 1 of 10^9 shoes

shoe s1: of 52 cards, 3 groups of 4 cards came in the order of shoe s0, backwards; the longest
run, of 12, in coup s1/4: AS 2S .... An honest shuffle shows that in at most 1 of 10^9 shoes

shoe s1: of 52 cards, 3 groups of 4 cards came in an order that came in this shoe before; the
longest run, of 12, in coup s1/4: AS 2S .... An honest shuffle shows that in at most 1 of 10^9
shoes

coup s1/4: a card was drawn outside the game; say whether the table has seen it (the shoe has
taken it out of play: it is burned)

coup s1/4: a card was drawn outside the game; put it aside; when the faces are known it is
judged whether one was due

card drawn to banker 1 without open betting

player 1 disclosed, but no shoe is in play

a card that could not be read without open betting

the shoe drew a card where player 3 or banker 3 was due

the shoe drew player 3 where no card was due

player and banker drew a third card that was not due (banker_7_stands)

winner: the table says player, the shoe tie; Player pair: the table says yes, the shoe no

Banker with six: the table says no, the shoe yes

the shoe link is down

the shoe link is stalled

the shoe driver: its clock is 7 s ahead of this machine's; set both by one time server

the shoe driver: its clock is 7 s behind this machine's; set both by one time server

card_drawn: no bytes of the shoe come with it: not taken; the driver sends it again

card_drawn: the shoe's own bytes do not say so: not taken; the driver sends it again

shoe/event: its code does not fit: it was altered, moved or invented; 3 since the start, and
nothing of them was done

request/dealer/burn: the table's clock was set back by 3600 s: restart the table service; 2 since
the start, and nothing of them was done

shoe/event: it was made more than 30 s from now: held back, or a clock is wrong; 1 since the
start, and nothing of them was done

cage has not acknowledged the settlement at position 7; hub has not acknowledged the settlement
at position 9
"""
SAID = [" ".join(text.split()) for text in _WHOLE.split("\n\n")]
# Every reason for which the table doubts a coup; what machines say may hold anything.
DOUBTED = """
card_carried_over: the shoe carried a card over (hand banker, number 1)
card_out_of_game: a card left the shoe for no hand (reason jam: player 1; banker)
card_reversed: a card moved backwards (place at the mouth)
carried_card_missing: a card was drawn from the shoe where the carried-over card was due
copy_conflict: two copies of one report differ (device_seq 4)
disclosure_contradicts: player 1 is AS and was disclosed as KD
disclosure_contradicts: player 2 was disclosed but never drawn
entry_contradicts: player 1 was entered as AS and was drawn as KD
excess_card: the shoe drew player 3 where no card was due
excess_card_was_due: a card was drawn outside the game where banker 3 was due
excess_card_was_due: a card was drawn outside the game, and behind it one to player 3
first_card_missing: a card that could not be read before Player's first card
first_card_missing: card drawn to banker 1 before Player's first card
first_card_missing: player 2 disclosed before Player's first card
link_lost: the shoe link was lost (reason port /dev/x: ready but empty)
link_reopened: the shoe link was opened again (transport tcp, port 4001)
position_contradicts_draw_table: player and banker drew a third card that was not due (natural)
position_contradicts_draw_table: the shoe drew a card where player 3 or banker 3 was due
report_lost: a report of the shoe never arrived (expected 3, got 5 or more)
result_too_early: the shoe says banker before the deal is complete
round_forced_end: the round was ended at the shoe
shoe_booted: the shoe powered up
too_many_copies: a face has come more often than 8 decks hold it
unreadable_card: a card that could not be read came to None
unreadable_card: a card that could not be read came to banker 3
""".strip().split("\n")
_BREAKS = (
    "link_down reason=gone",
    "link_open transport=serial",
    "shoe_booted",
    "report_lost expected=3 got=5",
    "copy_conflict device_seq=4 bodies=",
    "card_out_of_game reason=jammed",
    "card_carried_over hand=banker number=1",
    "card_reversed place=mouth",
    "round_forced_end",
)
TYPED = {"at", "cards", "expected", "got", "reason", "transport"}


def leaves(text: str) -> Iterator[str]:
    """Yield what stands in a text as it is: figures, ids, codes, cards."""
    phrase = as_phrase(text)
    if not isinstance(phrase, Phrase):
        yield text
        return
    for name, value in phrase.values.items():
        if name not in TYPED:
            yield from leaves(str(value))


def _source(node: ast.expr, function: ast.AST) -> Iterator[str]:
    """Yield each text that an argument is given in its function, with a 7 in each hole."""
    if isinstance(node, ast.Name):
        found = [
            each.value
            for each in ast.walk(function)
            if isinstance(each, ast.Assign)
            and any(isinstance(to, ast.Name) and to.id == node.id for to in each.targets)
        ]
        for value in found:
            yield from _source(value, function)
    if isinstance(node, ast.IfExp):
        for each in (node.body, node.orelse):
            if not isinstance(each, ast.Name):  # a name's own texts are found where it is given
                yield from _source(each, function)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "7" for v in node.values)
    elif isinstance(node, ast.Constant):
        yield str(node.value)


def written(calls: Mapping[str, int | str]) -> set[str]:
    """Every text that stands in an argument of these calls in the source."""
    found: set[str] = set()
    for path in CORE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                    continue
                at = calls.get(call.func.id)
                if isinstance(at, int) and len(call.args) > at:
                    found |= set(_source(call.args[at], function))
                for keyword in call.keywords:
                    if at is not None and keyword.arg == at:
                        found |= set(_source(keyword.value, function))
    return found


def test_every_alarm_and_every_doubt_of_the_source_has_a_form() -> None:
    texts = written(_CALLS)
    assert len(texts) > 20
    assert {text for text in texts if not isinstance(as_phrase(text), Phrase)} == _IN_PARTS


@pytest.mark.parametrize("text", SAID)
def test_nothing_in_a_text_stays_english(text: str) -> None:
    assert as_phrase(text) == text
    assert [each for each in leaves(text) if " " in each] == []


def test_a_text_without_a_form_stays_as_it_is() -> None:
    for text in ("disk I/O error, and more", "the dealer fell asleep: again", "x"):
        assert not isinstance(as_phrase(text), Phrase)
    called = as_phrase("the dealer asks for a supervisor: player 1, banker")
    assert isinstance(called, Phrase)
    assert called.values == {"reason": "player 1, banker"}


def test_every_code_of_a_doubt_is_tried() -> None:
    codes = written({"misalign": 1}) | {code for code, _ in BREAKS.values()}
    assert {reason.partition(": ")[0] for reason in DOUBTED} == codes


@pytest.mark.parametrize("reason", DOUBTED)
def test_a_doubt_is_its_code_and_its_detail(reason: str) -> None:
    phrases: dict[str, Spoken] = {}
    assert spoken(as_phrase(reason), phrases) == reason
    code, _, detail = reason.partition(": ")
    assert phrases[reason] == Spoken("{code}: {why}", {"code": code, "why": detail})
    assert {code, detail} <= phrases.keys()
    assert [each for each in leaves(reason) if " " in each] == []


@pytest.mark.parametrize(
    "form",
    ["the dealer asks for a supervisor: {reason}", "the shoe link was lost (reason {reason})"],
)
@pytest.mark.parametrize("template", TEMPLATES)
def test_what_a_person_typed_is_never_read(form: str, template: str) -> None:
    holes = {name: "7" for _, name, _, _ in Formatter().parse(template) if name}
    typed = template.format(**holes)
    for reason in (typed, f"link_lost: {typed}", f"{typed}; {typed}", f"{typed}, and so on"):
        phrase = as_phrase(form.format(reason=reason))
        assert isinstance(phrase, Phrase)
        assert (phrase.template, phrase.values) == (form, {"reason": reason})


@pytest.mark.parametrize("report", _BREAKS)
@pytest.mark.parametrize("state", ["betting", "dealing"])
def test_a_break_is_shown_with_the_form_of_its_text(report: str, state: str) -> None:
    rulebook = load_rulebook("nz-scale-one")
    world = World(DecisionContext(table="t1", rulebook=rulebook))
    perform(world, f"{STATES[state]}\nshoe {report}")
    shown = project_table(world.state, table="t1", rulebook=rulebook, catching_up=False)
    assert shown.coup is not None
    texts = [alarm.text for alarm in shown.alarms]
    assert texts
    assert set(texts) <= shown.spoken.keys()
    for text in (*texts, shown.coup.reason):
        assert [each for each in leaves(text) if " " in each] == []
