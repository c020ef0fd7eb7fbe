"""Holds what a log's readers tell of a history against the model: ledger, list, replay, evidence.

Everything is asked by the command line, as a site asks it.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import Filter, open_ledger
from events.commands import Command
from events.commands.registry import ROWS
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.types import AnyReport, TableEvent, decode_data, decode_envelope
from table_core.process.checkpoints import CheckpointKeys
from table_core.rules.pay_scale import pay_scale
from table_core.rules.rulebook import Rulebook
from table_core.service.table import Table
from table_core.state.table import TableState
from tests.support.cage.ledgers import book_log
from tests.support.clock import ticking_clock
from tests.support.machine.commands import here
from tests.support.money_model.compare import Difference
from tests.support.money_model.driver import texts
from tests.support.money_model.model import OVER, ModelCoup
from tests.support.money_model.rulebook import Line, Stake
from tests.support.money_model.steps import Steps, coup_id, shoe_id
from tests.support.table.coups import shoe_event
from tests.support.table.evidence import KEY, ORIGIN

USER: Final = "dealer"
_ROLES: Final = {USER: frozenset().union(*(row.roles for row in ROWS))}
_SIGNED_AFTER_S: Final = 300


class LoggedTable:
    """A table on its log with signed checkpoints; `folder` is set before it is made."""

    folder: Path

    def __init__(self, rulebook: Rulebook, library: Sequence[Rulebook]) -> None:
        self.path = self.folder / "table.sqlite"
        self._rulebook, self._library = rulebook, library
        self._clock = ticking_clock()
        self._seq = 0
        self._events: list[TableEvent] = []
        self._open()

    def _open(self) -> None:
        self._log = EventLog.open(self.path, ORIGIN)
        self._table = Table(
            self._log,
            Topics("site", "t1"),
            self._rulebook,
            self._clock,
            roles=_ROLES,
            library=self._library,
            property_scale=pay_scale(self._rulebook),
        )
        self._table.sign_checkpoints(CheckpointKeys(KEY, None, _SIGNED_AFTER_S))

    @property
    def state(self) -> TableState:
        """The table."""
        return self._table.state

    @property
    def events(self) -> Sequence[TableEvent]:
        """All that it recorded."""
        for stored in self._log.read(len(self._events) + 1):
            self._events.append(decode_data(decode_envelope(stored.stored)))
        return self._events

    def ask(self, command: Command, _: str | None) -> str | None:
        """Give a command; return why it was refused."""
        answer = self._table.ask(USER, command, caught_up=True)
        self._table.make_due_checkpoint()
        return answer.code if answer.result == "refused" else None

    def say(self, *reports: AnyReport) -> None:
        """The shoe reports."""
        for report in reports:
            self._seq += 1
            self._table.hear(shoe_event(self._seq, report))
        self._table.make_due_checkpoint()

    def play_by(self, rulebook: Rulebook) -> None:
        """The table begins again by another rulebook, whose pay scale is now the property's."""
        self._rulebook = rulebook
        self.restart()

    def restart(self) -> None:
        """The table ends and begins again."""
        self.close()
        self._open()

    def close(self) -> None:
        """It ends; what is over has been signed for."""
        self._log.close()


def logged(lines: Sequence[str], game: str, folder: Path) -> Steps:
    """Play a history on a table with a log in `folder`, and end it."""
    for name, text in texts(game).items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    made = type("Here", (LoggedTable,), {"folder": folder})
    steps = Steps(texts(game), made)
    for line in lines:
        steps.take(line)
    steps.table.close()  # type: ignore[attr-defined]  # it is a logged one
    return steps


def check_records(steps: Steps, folder: Path, ledger: str = "") -> list[Difference]:
    """Hold everything that can be asked of a log against the model; return all differences.

    It is booked in the ledger of that URL, or in a file in the folder.
    """
    records = _Records(steps, folder, ledger or str(folder / "cage.sqlite"))
    records.check()
    return records.found


class _Records:
    def __init__(self, steps: Steps, folder: Path, ledger: str) -> None:
        self.steps, self.model, self.folder, self.url = steps, steps.model, folder, ledger
        self.log = folder / "table.sqlite"
        self.found: list[Difference] = []
        self.books = [
            word for each in sorted(folder.glob("*.toml")) for word in ("--rulebook", each)
        ]

    def same(self, what: str, told: object, right: object) -> None:
        if told != right:
            self.found.append(Difference(what, told, right, self.steps.lines))

    def _json(self, *words: object) -> Any:
        done = here(*words)
        self.same(f"exit code of {words[0]}: {done.err}", done.code, 0)
        return json.loads(done.out)

    def check(self) -> None:
        self._ledger()
        listed = self._json("replay", self.log, *self.books, "--json")["coups"]
        told = {line["coup"]: line for line in listed}
        self.same("coups listed", list(told), [coup_id(name) for name in self.model.coups])
        for coup in self.model.coups.values():
            self._line(coup, told[coup_id(coup.id)])
            if coup.phase in OVER:
                self._story(coup)
                self._evidence(coup)

    def _ledger(self) -> None:
        url = self.url
        book_log(url, self.log)
        done = here("cage", "reconcile", self.log, "--ledger", url)
        self.same(f"exit code of reconcile: {done.out}{done.err}", done.code, 0)
        accounts: dict[str, Counter[int]] = {}
        with open_ledger(parse_ledger_url(url)) as ledger:
            for each in ledger.balances(Filter(), "seat"):
                for name, amount in each.accounts.items():
                    accounts.setdefault(name, Counter())[int(each.key)] += amount
        for account, what in (
            ("outstanding", "outstanding"),
            ("uncollected", "given_up"),
            ("collected", "collected"),
            ("recovered", "recovered"),
        ):
            told = Counter({seat: n for seat, n in accounts.get(account, {}).items() if n})
            self.same(f"account {account}", told, self.model.owed(what))

        done = here("cage", "report", "--ledger", url, "--by", "shoe", "--json")
        self.same(f"exit code of report: {done.err}", done.code, 0)
        reports = {
            (each["key"], each["currency"]): each for each in map(json.loads, done.out.splitlines())
        }
        played: dict[tuple[str, str], list[ModelCoup]] = {}
        for coup in self.model.coups.values():
            shoe = shoe_id(int(coup.id.partition("/")[0]))
            played.setdefault((shoe, coup.rulebook.currency), []).append(coup)
        for where, coups in played.items():
            if where in reports:
                self._report(reports[where], coups)
            else:
                over = [coup.id for coup in coups if coup.phase in OVER]
                self.same(f"report of {where}", over, [])

    def _report(self, told: dict[str, Any], coups: Sequence[ModelCoup]) -> None:
        """What the report of a shoe says, and that its patrons come to the whole."""
        right = Counter[str]()
        patrons: Counter[tuple[str, int]] = Counter()
        for coup in coups:
            right["coups"] += coup.phase == "settled"
            right["voids"] += coup.phase == "voided"
            for debt in coup.debts.values():
                right["commission"] += debt.accrued
                for what in ("outstanding", "collected", "recovered"):
                    right[what] += getattr(debt, what)
                right["uncollected"] += debt.given_up
            for each in coup.settlements.values():
                right["corrections"] += each.revision - 1
                for name, line in each.lines.items():
                    stake = each.stakes[name]
                    right["handle"] += stake.chips if line.result != "void" else 0
                    won = (stake.chips if line.result == "lose" else 0) - line.winnings
                    right["win"] += won
                    patrons[stake.patron or "", 0 if stake.patron else stake.seat] += won
        right["house"] = right["win"] + right["commission"]
        said = {what: told[what] for what in right}
        self.same(f"report of {told['key']}", said, dict(right))
        whose = Counter({(each["patron"], each["seat"]): each["win"] for each in told["patrons"]})
        self.same(
            f"patrons of {told['key']}",
            {k: n for k, n in whose.items() if n},
            {k: n for k, n in patrons.items() if n},
        )

    def _line(self, coup: ModelCoup, told: dict[str, Any]) -> None:
        staked, paid, kept = _sums(coup)
        state = {"settled": "settled", "voided": "void"}.get(coup.phase, "in progress")
        self.same(f"listed state of {coup.id}", told["state"], state)
        money = (told["staked"], told["paid"], told["commission"])
        self.same(f"listed money of {coup.id}", money, (staked, paid, kept))
        newest = max((each.revision for each in coup.settlements.values()), default=0)
        self.same(f"listed revision of {coup.id}", told["revision"], newest)

    def _story(self, coup: ModelCoup) -> None:
        told = self._json("replay", self.log, *self.books, "--coup", coup_id(coup.id), "--json")
        own = f"t1/{coup_id(coup.id)}/"
        alien = [each["id"] for each in told["settlements"] if not each["id"].startswith(own)]
        self.same(f"alien settlements of {coup.id}", alien, [])
        in_force = {each["phase"]: each for each in told["settlements"] if each["in_force"]}
        self.same(f"phases told of {coup.id}", set(in_force), set(coup.settlements))
        for phase, right in coup.settlements.items():
            if phase not in in_force:
                continue
            lines = [
                (
                    each["wager"],
                    each["result"],
                    each["stake"],
                    each["winnings"],
                    each["commission"],
                    each["paid"],
                )
                for each in in_force[phase]["wagers"]
            ]
            rights = [
                (
                    name,
                    line.result,
                    right.stakes[name].stake,
                    line.winnings,
                    line.commission,
                    _received(right.stakes[name], line),
                )
                for name, line in right.lines.items()
            ]
            self.same(f"lines told of {coup.id} phase {phase}", lines, rights)
        seats = {each["seat"]: each["net"] for each in told["seats"] if each["net"]}
        self.same(f"seats told of {coup.id}", seats, _net(coup))

    def _evidence(self, coup: ModelCoup) -> None:
        name, file = coup_id(coup.id), self.folder / "evidence.json"
        made = here("evidence", self.log, *self.books, "--coup", name, "-o", file)
        if made.code:
            self.same(f"evidence made of {coup.id}", made.err, "made")
            return
        done = here("evidence", "verify", file, "--key", KEY.verifier, "--json")
        self.same(f"evidence of {coup.id}: {done.out}{done.err}", done.code, 0)
        verdict = json.loads(done.out)["expected"]
        told = (verdict["staked"], verdict["paid"], verdict["commission"])
        self.same(f"evidence sums of {coup.id}", told, _sums(coup))
        file.unlink()


def _sums(coup: ModelCoup) -> tuple[int, int, int]:
    """Staked, paid and kept by the settlements in force."""
    rows = [
        (each.stakes[name].chips, line.paid, line.commission)
        for each in coup.settlements.values()
        for name, line in each.lines.items()
    ]
    staked, paid, kept = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0)
    return staked, paid, kept


def _net(coup: ModelCoup) -> Counter[int]:
    """By seat what it won, after commission; a token counts where it is laid and goes back."""
    seats: Counter[int] = Counter()
    for each in coup.settlements.values():
        for name, line in each.lines.items():
            stake = each.stakes[name]
            seats[stake.seat] += _received(stake, line) - stake.stake
    return Counter({seat: amount for seat, amount in seats.items() if amount})


def _received(stake: Stake, line: Line) -> int:
    """What a seat has in hand, tokens that go back among it."""
    return line.paid + (stake.stake if (stake.kind, line.result) == ("promo", "void") else 0)
