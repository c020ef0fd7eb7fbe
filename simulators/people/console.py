"""A console: sends several users' requests to the table over the bus, until each is answered."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from events.clock import SystemClock
from events.commands import ANSWER_REFUSED, Answer, CollectCommission, Command
from events.errors import OurBug, TableError
from events.mqtt.bus import Bus, BusSettings, Handler
from events.mqtt.messages import Message
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.process import Steps
from events.mqtt.process_shell import Performer
from events.mqtt.request_client import USUAL_RETRY, RequestClient, Retry
from events.mqtt.topics import Topics

__all__ = [
    "COMMISSION_OUTSTANDING",
    "DUMMY_DUE",
    "PASSING",
    "Console",
    "RequestRefused",
    "refused",
]

COMMISSION_OUTSTANDING: Final = "commission_outstanding"
"""The refusal of what must wait until marked commission has been collected."""
DUMMY_DUE: Final = "dummy_coup_due"
"""The refusal of betting where a coup without wagers is due."""
PASSING: Final = frozenset(
    {"coup_in_progress", "link_down", "shoe_error", "shoe_locked", "log_unwritable"}
)
"""Reasons to wait and ask again for betting."""


class RequestRefused(TableError):  # noqa: N818 - named for what happened
    """The table refused a necessary request, for a reason that does not pass."""


def refused(answer: Answer) -> bool:
    """Return whether the table refused."""
    return answer.result == ANSWER_REFUSED


class Console:
    """Several users' requests over one connection.

    Args:
        settings: the broker and the login; one that may send requests for all `users`.
        topics: the table.
        users: the users whose answers it subscribes to.
        subscriptions: further topics, for a caller that also watches the table.
        on_connect: called after every connect; must not wait for an answer.
        retry: when a request is sent again.
        keys: of all `users`; None where they have none.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        users: Sequence[str],
        *,
        subscriptions: Mapping[str, Handler] | None = None,
        on_connect: Callable[[], Awaitable[None]] | None = None,
        retry: Retry = USUAL_RETRY,
        keys: PeerKeys | None = None,
    ) -> None:
        self._users = tuple(users)
        self._requests = RequestClient(topics, keys)
        self._retry = retry
        self._bus = Bus(
            settings,
            subscriptions={topics.response(user): self._answered for user in users}
            | dict(subscriptions or {}),
            on_connect=on_connect,
        )
        self._performer = Performer(self._bus, SystemClock())

    @property
    def resent(self) -> int:
        """Repeated requests since the start."""
        return self._requests.resent

    @property
    def connected(self) -> bool:
        """Whether the broker is connected."""
        return self._bus.connected

    async def run(self) -> None:
        """Keep the connection open until cancelled."""
        await self._bus.run()

    async def request(self, user: str, command: Command) -> Answer:
        """Send `command` as `user`, repeat it as needed, and return the table's answer.

        Raises:
            OurBug: the same transaction is already in flight, or `user` is not this console's.
        """
        if user not in self._users or self._requests.is_pending(user, command):
            raise OurBug(
                f"{user} cannot ask for {command.transaction!r} here, or not twice at once"
            )
        return await self._perform(self._requests.ask(user, command, self._retry))

    async def must(self, user: str, command: Command) -> Answer:
        """As `request`, for a command that must succeed.

        Raises:
            RequestRefused: the table refused.
        """
        answer = await self.request(user, command)
        if refused(answer):
            name = type(command).__name__
            raise RequestRefused(f"{name} {command.transaction}: {answer.code}: {answer.text}")
        return answer

    async def once_paid(self, user: str, command: Command) -> Answer:
        """As `must`, for a command that must wait until marked commission has been collected.

        Raises:
            RequestRefused: the table refused.
        """
        answer = await self.request(user, command)
        if answer.code == COMMISSION_OUTSTANDING:
            await self.must(user, CollectCommission(transaction=f"m-{command.transaction}"))
        return answer if not refused(answer) else await self.must(user, command)

    async def _perform(self, steps: Steps[Answer]) -> Answer:
        return await self._performer.perform(steps)

    async def _answered(self, message: Message) -> None:
        self._performer.perform_at_once(self._requests.on_answer(message))
