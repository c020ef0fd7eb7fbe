"""A process driven by hand: each effect is recorded, and gets the result that a test says."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from events.mqtt.process import Effect, Instant, LogLine, Now, Post, Publish, Signal, Steps, Wait

_T = TypeVar("_T", bound=Effect[Any])
_US = 1_000_000


class Scripted:
    """Runs steps until they wait; time passes when a test says so.

    Args:
        results: the result of an effect by its type, or the error that it raises. Clocks, log lines
            and messages need none: the broker takes every message while `online`.
    """

    def __init__(self, results: Mapping[type[Effect[Any]], Callable[[Any], object]]) -> None:
        self.online = True
        self.done: list[Effect[Any]] = []
        self.now_us = 0
        self._waits: list[tuple[Steps[None], int | None, Signal | None]] = []
        self._perform: dict[type[Effect[Any]], Callable[[Any], object]] = {
            Now: lambda _: Instant(self.now_us * 1_000, self.now_us),
            LogLine: lambda _: None,
            Post: lambda _: self.online,
            Publish: lambda _: self.online,
            **results,
        }

    def of(self, kind: type[_T]) -> list[_T]:
        """The effects of a type so far."""
        return [each for each in self.done if isinstance(each, kind)]

    def run(self, *begun: Steps[None]) -> None:
        """Run steps, and all those that they wake."""
        for steps in begun:
            self._go_on(steps, None)
        while woken := [wait for wait in self._waits if wait[2] is not None and wait[2].is_set]:
            self._waits.remove(woken[0])
            self._go_on(woken[0][0], True)

    def passes(self, seconds: float) -> int:
        """Let time pass, and end the waits that are over meanwhile; return how many were."""
        ended = 0
        end_us = self.now_us + round(seconds * _US)
        while due := [wait for wait in self._waits if wait[1] is not None and wait[1] <= end_us]:
            first = min(due, key=lambda wait: wait[1] or 0)
            self._waits.remove(first)
            ended += 1
            self.now_us = max(self.now_us, first[1] or 0)
            self._go_on(first[0], False)
            self.run()
        self.now_us = end_us
        return ended

    def _go_on(self, steps: Steps[None], result: object) -> None:
        error: Exception | None = None
        try:
            while True:
                effect = steps.throw(error) if error else steps.send(result)
                result, error = None, None
                if isinstance(effect, Wait):
                    if effect.signal is None or not effect.signal.is_set:
                        seconds = effect.seconds
                        limit = None if seconds is None else self.now_us + round(seconds * _US)
                        self._waits.append((steps, limit, effect.signal))
                        return
                    result = True
                    continue
                if not isinstance(effect, Now):
                    self.done.append(effect)
                try:
                    result = self._perform[type(effect)](effect)
                except Exception as refused:  # noqa: BLE001 - raised where the effect was yielded
                    error = refused
        except StopIteration:
            return
