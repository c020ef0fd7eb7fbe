"""Steps of a process whose effects a test sees, and whose waits it answers."""

from typing import Any

from events.mqtt.process import Effect, Steps
from events.mqtt.process_shell import AtOnce


class StepsByHand:
    """Runs steps up to each effect that waits.

    Args:
        steps: of a process.
        at_once: performs the effects that do not wait.

    Attributes:
        made: every effect so far.
        waiting: the effect at which the steps wait; None when they have ended.
    """

    def __init__(self, steps: Steps[None], at_once: AtOnce) -> None:
        self._steps, self._at_once = steps, at_once
        self.made: list[Effect[Any]] = []
        self.waiting: Effect[Any] | None = None
        self.answer(None)

    def answer(self, result: object) -> Effect[Any] | None:
        """Go on with the result of the effect that waits; return the next one that waits."""
        error: Exception | None = None
        self.waiting = None
        try:
            while True:
                effect = self._steps.throw(error) if error else self._steps.send(result)
                self.made.append(effect)
                perform, error = self._at_once.get(type(effect)), None
                if perform is None:
                    self.waiting = effect
                    return effect
                try:
                    result = perform(effect)
                except Exception as refused:  # noqa: BLE001 - the process decides what it means
                    error = refused
        except StopIteration:
            return None

    def kinds(self) -> list[str]:
        """The names of the effects so far; forget them."""
        made = [type(effect).__name__ for effect in self.made]
        self.made.clear()
        return made
