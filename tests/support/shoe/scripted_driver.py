"""A driver's effects performed in memory, each noted, in an order that a test writes down."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from events.mqtt.process import (
    FOREVER_S,
    Begin,
    Effect,
    Instant,
    LogLine,
    Now,
    Post,
    Publish,
    Signal,
    Steps,
    Wait,
)
from events.mqtt.process_shell import AtOnce, perform_at_once
from events.mqtt.topics import Topics
from events.types import LinkStatus, ShoeAck, ShoeEvent
from shoe_driver.journal.records import RULES, JournalHeader, Record, RecordKind
from shoe_driver.process.driver import DriverProcess
from shoe_driver.process.effects import (
    AckReceived,
    BeginJournal,
    BytesWait,
    ClosePort,
    DropFile,
    JournalFile,
    JournalNote,
    ListFiles,
    LookUpJournal,
    NoteAcked,
    OpenJournal,
    OpenNewest,
    OpenPort,
    ReadJournal,
    StoreRecords,
    TakeRead,
    Uniform,
    WritePort,
)
from shoe_driver.process.retention import JournalRetention
from shoe_driver.profiles.catalogue import profile_text

TOPICS = Topics("sydney", "t1")
JOURNAL = "j20261127t000000-1"

_T = TypeVar("_T")


def _nothing() -> None:
    pass


class ScriptedDriver:
    """A driver that was started, on an empty disk.

    Attributes:
        now_us: both clocks; a wait moves them.
        noted: what was done, in order, in a word or two each.
        files: the journals on the disk, by id.
        acked: the notes of acknowledged numbers.
        fails: by type of effect, the error to raise.
        before: by type of effect, what happens just before it.
        settle_s: for how long after its opening what comes over the port is old.
        hangs: the broker accepts nothing, and does not say so.
        waits: the seconds of each wait.
        arriving: bytes that can be read, or the loss of the line.
        posts: whether the broker is there.
    """

    def __init__(
        self,
        profile: str = "enq-bcc",
        keep: JournalRetention = JournalRetention(),  # noqa: B008 - it is frozen
        transport: str = "pty:/x",
    ) -> None:
        self.now_us = 1_000
        self.noted: list[str] = []
        self.lines: list[LogLine] = []
        self.statuses: list[LinkStatus] = []
        self.files: dict[str, list[Record]] = {}
        self.acked: dict[str, int] = {}
        self.old_files: list[JournalFile] = []
        self.fails: dict[type[Effect[Any]], Exception] = {}
        self.before: dict[type[Effect[Any]], Callable[[], object]] = {}
        self.settle_s = 0.0
        self.hangs = False
        self.arriving: list[bytes | Exception] = []
        self.waits: list[float | None] = []
        self.posts = True
        self._arrived = Signal()
        self._waiting: list[tuple[Steps[Any], Wait]] = []
        self._performers: AtOnce = {
            AckReceived: lambda _: None,
            Begin: lambda effect: self.begin(effect.steps),
            BeginJournal: self._begin,
            BytesWait: lambda _: bool(self.arriving),
            ClosePort: lambda _: self._note("close"),
            DropFile: lambda effect: self._note(f"drop {effect.name}"),
            ListFiles: lambda _: self.old_files,
            LogLine: self.lines.append,
            LookUpJournal: lambda it: JournalNote(it.journal in self.files, 0),
            NoteAcked: lambda it: self.acked.update({it.journal: it.seq}),
            Now: lambda _: Instant(self.now_us * 1_000, self.now_us),
            OpenNewest: lambda _: self._described(max(self.files)) if self.files else None,
            OpenPort: self._open,
            Post: self._post,
            Publish: self._post,
            ReadJournal: self._read,
            StoreRecords: self._store,
            TakeRead: self._take,
            Uniform: lambda effect: effect.most,
            WritePort: lambda _: self._note("write"),
        }

        self._made = transport, profile_text(profile), keep
        self.live()

    def live(self) -> None:
        """Begin another life on the same disk."""
        self.process = DriverProcess(TOPICS, *self._made, 1, 0)
        self.do(self.process.start())
        self.link, self.beat, self.tick, self.tidy = self.process.running()

    def ack(self, seq: int, journal: str = JOURNAL, *, hello: bool = False) -> bytes:
        """Encode a message of the core."""
        return msgspec.json.encode(ShoeAck(journal=journal, seq=seq, hello=hello))

    def do(self, steps: Steps[_T]) -> _T:
        """Perform steps that wait for nothing."""
        return perform_at_once(steps, dict.fromkeys(self._performers, self._perform))

    def play(self, steps: Steps[Any], *script: Callable[[], object]) -> list[str]:
        """Perform steps and what they begin; return what was done.

        Each line of the script says what happens while all wait. If that ends no wait, the time of
        one is over.
        """
        self._waiting, before = [], len(self.noted)
        self.begin(steps)
        for line in script:
            line()
            self._wake()
        return self.noted[before:]

    def pass_time(self, steps: Steps[Any], seconds: float) -> None:
        """Perform steps for so long, in which nothing else happens."""
        ends_us = self.now_us + round(seconds * 1_000_000)
        self._waiting = []
        self.begin(steps)
        while self._waiting:
            [(_, wait)] = self._waiting
            if self.now_us + (wait.seconds or 0) * 1_000_000 > ends_us:
                break
            self._wake()
        self.now_us = max(self.now_us, ends_us)

    def begin(self, steps: Steps[Any], result: object = None) -> None:
        """Perform steps up to a wait."""
        try:
            effect = steps.send(result)
            while True:
                if isinstance(effect, Wait):
                    self.waits.append(effect.seconds)
                if isinstance(effect, Wait) and not (effect.signal and effect.signal.is_set):
                    self._waiting.append((steps, effect))
                    return
                if isinstance(effect, Wait):
                    self.now_us += int(effect.gather_s * 1_000_000)
                if self.hangs and isinstance(effect, Publish):
                    self._waiting.append((steps, Wait(FOREVER_S)))
                    return
                try:
                    given = True if isinstance(effect, Wait) else self._perform(effect)
                except Exception as error:  # noqa: BLE001 - the steps decide what it means
                    effect = steps.throw(error)
                else:
                    effect = steps.send(given)
        except StopIteration:
            return

    def _wake(self) -> None:
        """Let all go on whose signal was set, or else the first whose time can be over."""
        found = False
        while woken := [each for each in self._waiting if each[1].signal and each[1].signal.is_set]:
            found = True
            self._waiting.remove(woken[0])
            self.now_us += int(woken[0][1].gather_s * 1_000_000)
            self.begin(woken[0][0], True)
        limited = [each for each in self._waiting if each[1].seconds is not None]
        if not found and limited:
            steps, wait = limited[0]
            self._waiting.remove(limited[0])
            self.now_us += int((wait.seconds or 0) * 1_000_000)
            self.begin(steps, False)

    def says(
        self, *content: bytes | Exception, refusing: Exception | None = None
    ) -> Callable[[], None]:
        """Return what lets bytes arrive, or the line be lost, perhaps while the disk refuses."""

        def said() -> None:
            if refusing:
                self.fails[StoreRecords] = refusing
            self.arriving.extend(content)
            self._arrived.set()

        return said

    def later(self, seconds: float) -> Callable[[], None]:
        """Return what lets time pass, as if the process had stood still."""

        def passed() -> None:
            self.now_us += int(seconds * 1_000_000)

        return passed

    def _perform(self, effect: Effect[Any]) -> object:
        self.before.get(type(effect), _nothing)()
        if type(effect) in self.fails:
            raise self.fails[type(effect)]
        return self._performers[type(effect)](effect)

    def _note(self, what: str) -> None:
        self.noted.append(what)

    def _described(self, journal: str) -> OpenJournal:
        header = msgspec.json.decode(self.files[journal][0].payload, type=JournalHeader)
        acked = self.acked.get(journal, 0)
        return OpenJournal(header=header, file=f"{journal}.journal", size=0, acked=acked)

    def _begin(self, effect: BeginJournal) -> OpenJournal:
        journal = f"{JOURNAL[:-1]}{len(self.files) + 1}"
        header = JournalHeader(journal=journal, profile=effect.profile.decode(), rules=RULES)
        self.files[journal] = [Record(RecordKind.HEADER, 0, 0, msgspec.json.encode(header))]
        self._note("begin")
        return self._described(journal)

    def _read(self, effect: ReadJournal) -> None:
        for record in self.files[max(self.files)]:
            effect.visit(record)

    def _store(self, effect: StoreRecords) -> int:
        self.files[max(self.files)].extend(effect.records)
        self._note("store " + " ".join(record.kind.name for record in effect.records))
        return 0

    def _open(self, effect: OpenPort) -> float:
        self._note("open")
        self._arrived = effect.arrived
        return self.settle_s

    def _take(self, _: TakeRead) -> Iterable[Record]:
        if not self.arriving:
            return ()
        read = self.arriving.pop(0)
        if isinstance(read, Exception):
            self.arriving.clear()
            raise read
        if self.arriving:
            self._arrived.set()
        return (Record(RecordKind.DATA, self.now_us, self.now_us * 1_000, read),)

    def _post(self, effect: Post | Publish) -> bool:
        if not self.posts:
            return False
        if effect.topic == TOPICS.link_shoe:
            self.statuses.append(msgspec.json.decode(effect.payload, type=LinkStatus))
            self._note(f"{self.statuses[-1].state} {self.statuses[-1].head}")
        elif effect.topic == TOPICS.shoe_event:
            self._note(f"event {msgspec.json.decode(effect.payload, type=ShoeEvent).seq}")
        else:
            self._note(msgspec.json.decode(effect.payload)["state"])
        return True
