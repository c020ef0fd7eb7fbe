"""A Chinese line of a sign in the English words by which lines are compared with the rules. Pure.

It is no translation for people. What has no row here is left out, numbers stay.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final
from unicodedata import normalize

from table_core.rules.wagers import BET_KINDS

__all__ = ["in_english"]

_CHINESE: Final = re.compile("[\u4e00-\u9fff]")
_SIMPLIFIED: Final = str.maketrans(
    "莊閒對級寶運龍貓賠額點牌贏輸補種項總過費兩張須註注單雙無顧萬數於還與開歲滿",
    "庄闲对级宝运龙猫赔额点牌赢输补种项总过费两张须注注单双无顾万数于还与开岁满",
)
_DIGITS: Final = {digit: str(value) for value, digit in enumerate("一二三四五六七八九十", 1)} | {
    "两": "2"
}
_NAMES: Final = {
    "大老虎": "big_tiger",
    "小老虎": "small_tiger",
    "老虎和": "tiger_tie",
    "老虎对": "tiger_pair",
    "老虎": "tiger",
    "完美对子": "perfect_pairs",
    "完美对": "perfect_pair_either",
    "任意对子": "either_pair",
    "闲对": "player_pair",
    "庄对": "banker_pair",
    "超级六": "super_six",
    "闲幸运 8": "lucky8_player",
    "庄幸运 8": "lucky8_banker",
    "闲龙宝": "dragon_bonus_player",
    "庄龙宝": "dragon_bonus_banker",
    "幸运六": "lucky6",
    "龙七": "dragon7",
    "熊猫八": "panda8",
    "和局": "tie",
    "闲": "player",
    "庄": "banker",
}
_Row = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _odds(found: re.Match[str]) -> str:
    """Say the odds, which Chinese has the other way round: what is laid, and what it wins."""
    odds = Fraction(found[2]) / (Fraction(found[1]) or 1)
    return f" pays {odds.numerator} to {odds.denominator} "


def _rows() -> list[_Row]:
    names: dict[str, str | Callable[[re.Match[str]], str]] = {
        rf"{word}家?": f" {BET_KINDS[bet].name} " for word, bet in _NAMES.items()
    }
    said: dict[str, str | Callable[[re.Match[str]], str]] = {
        "[一二三四五六七八九十两](?= ?[副种张])": lambda it: _DIGITS[it[0]],
        r"(\d[\d.]*) ?万": lambda it: f"{Fraction(it[1]) * 10_000}",
        "百家乐|百家樂": " ",
        "幸运 ?8": " Lucky 8 ",
        r"(?<![\u4e00-\u9fff])和(?=[: ]*(?:\d|赔|退))": " Tie ",
        "赔率表 ?一": " pay scale one ",
        "赔率表 ?二": " pay scale two ",
        r"(\d+) ?赔 ?(\d+(?:\.\d+)?)": _odds,
        r"赔(?:率)?[: ]*(\d+)(?: ?倍)?": r" pays \1 to 1 ",
        "赔付": " pays ",
        "免佣": " no commission ",
        "抽佣|抽水|佣金": " commission ",
        r"(\d) ?种[^.;]*?最多\D{0,2} ?(\d) ?种": r" \2 of \1 options ",
        r"最多\D{0,2} ?(\d) ?种": r" \1 options ",
        r"(\d+) ?副牌?": r" \1 decks ",
        "最高|最多|上限|至多|不超过": " maximum ",
        "最低|最少|至少|下限": " minimum ",
        r"以? ?(\d) ?张牌? ?(\d) ?点(?:赢|胜)?": r" winning \1-card \2 ",
        r"以? ?(\d) ?点(?:赢|胜)": r" winning \1 ",
        r"(\d) ?张牌?": r" \1 cards ",
        r"(?:年满|未满|不满)? ?(\d+) ?岁": r" aged \1 ",
        "退注|退回": " push ",
        "无须|无需|不必": " no wager is required ",
        "须|需": " required ",
        "混合": " mixed ",
        "同色": " coloured ",
        "完美": " perfect ",
        "赢|胜": " wins ",
        "注": " wagers ",
        r"(\d[\d,]*(?:\.\d+)?) ?元": r"$\1",
    }
    return [(re.compile(pattern), to) for pattern, to in (names | said).items()]


_ROWS: Final = _rows()


def in_english(text: str) -> str:
    """Return a text that holds Chinese in the words of English lines; another as it is."""
    if not _CHINESE.search(text):
        return text
    text = normalize("NFKC", text).translate(_SIMPLIFIED)
    text = text.replace("\u3002", ". ").replace("\u3001", ", ").replace(";", "; ")
    for pattern, to in _ROWS:
        text = pattern.sub(to, text)
    return _CHINESE.sub(" ", text)
