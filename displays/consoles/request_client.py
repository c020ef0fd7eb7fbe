"""The consoles' request client: sends people's commands to the table as the delegate `console`.

The client publishes each command as `request/console/<command>` with the person as `actor`; the
table decides whether that person may. A missing answer is no refusal: the page sends the same
transaction again and gets the first answer. A page that gives up asks for the command's fate. This
closes the transaction: the client does not send a copy of the command that arrives later from the
browser or its network (docs/develop/adr/0058).
"""

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from displays.process import CONSOLE
from events.commands import ANSWER_ACCEPTED, ANSWER_REFUSED, Answer, Command, ShowRequest
from events.commands.registry import COMMANDS, ROWS, Decider
from events.mqtt.process import Post, Steps
from events.mqtt.request_client import RequestClient

__all__ = ["ANSWER_SECONDS", "ConsoleRequestClient", "MalformedCommand", "NoAnswer"]

ANSWER_SECONDS: Final = 3.0
# What programs ask for themselves, and no page for its person.
_PROGRAMS_OWN: Final = frozenset(
    {ShowRequest, *(row.type for row in ROWS if row.decider is Decider.CONSUMERS)}
)
# Most requests in flight of all people at a table's screens.
_WAITING_MOST: Final = 64
# Transactions remembered as given up: the server cuts a connection long before it is this late.
_GIVEN_UP_MOST: Final = 4096
_TRANSACTION: Final = re.compile(r"[A-Za-z0-9-]{8,64}\Z")


class MalformedCommand(ValueError):  # noqa: N818 - named for what it is
    """The request's body is not a valid command; `str()` of it is one line."""


class NoAnswer(Exception):  # noqa: N818 - named for what happened
    """The table is unreachable or did not answer in time: the outcome is unknown."""


class ConsoleRequestClient:
    """Sends commands to the table on behalf of people.

    Args:
        requests: sends them, and receives the answers.
        perform: runs steps on the bus.
    """

    def __init__(
        self, requests: RequestClient, perform: Callable[[Steps[Answer]], Awaitable[Answer]]
    ) -> None:
        self._requests, self._perform = requests, perform
        self._given_up: dict[str, None] = {}  # in order of giving up

    async def ask(self, actor: str, name: str, fields: Mapping[str, object]) -> Answer:
        """Send a command, and return the table's answer.

        Args:
            actor: the person's name.
            name: the command's name.
            fields: its body, with the page's own `transaction`.

        Raises:
            MalformedCommand: the command does not exist, or its body is invalid.
            NoAnswer: the outcome is unknown.
        """
        kind = COMMANDS.get(name)
        if kind is None or kind in _PROGRAMS_OWN:
            raise MalformedCommand(f"there is no command {name[:40]!r} here")
        own = fields.get("transaction")
        transaction = _of(actor, own)
        try:
            command = msgspec.convert({**fields, "transaction": transaction, "actor": actor}, kind)
        except msgspec.ValidationError as error:
            raise MalformedCommand(str(error)) from error
        if transaction in self._given_up:
            text = "this came when its page had given it up"
            answer = Answer(transaction="", result=ANSWER_REFUSED, code="given_up", text=text)
        else:
            answer = await self._perform(self._exchange(command))
        return msgspec.structs.replace(answer, transaction=str(own))

    async def fate(self, actor: str, own: str) -> Answer:
        """Find out the outcome of a command that its page has given up, and never send it again.

        The table decides on an earlier copy before this question, since both use the same path.

        Args:
            actor: the person's name.
            own: the page's own `transaction` of that command.

        Returns:
            `accepted` if it was carried out; else `refused` with the code `not_done`.

        Raises:
            MalformedCommand: the transaction is invalid.
            NoAnswer: the outcome is still unknown.
        """
        transaction = _of(actor, own)
        self._given_up[transaction] = None
        if len(self._given_up) > _GIVEN_UP_MOST:
            del self._given_up[next(iter(self._given_up))]
        question = ShowRequest(
            transaction=_of(actor, secrets.token_hex(16)), actor=actor, request=transaction
        )
        said = await self._perform(self._exchange(question))
        if said.result != ANSWER_ACCEPTED:
            raise NoAnswer(said.text or "the table does not say")
        position = said.shown["carried_out"]
        if position is None:
            text = "it was given up: it was not done, and will not be"
            return Answer(transaction=own, result=ANSWER_REFUSED, code="not_done", text=text)
        return Answer(transaction=own, result=ANSWER_ACCEPTED, position=position)

    def _exchange(self, command: Command) -> Steps[Answer]:
        if self._requests.in_flight >= _WAITING_MOST:
            raise NoAnswer("too many commands wait for the table")
        with self._requests.pending(CONSOLE, command) as request:
            body = yield from self._requests.authenticated(request)
            if not (yield from Post(request.topic, body)):
                raise NoAnswer("the table cannot be reached: nothing was sent")
            answer = yield from request.next_answer(ANSWER_SECONDS)
        if answer is None:
            raise NoAnswer("the table has not answered: send the same again")
        return answer


def _of(actor: str, own: object) -> str:
    """Return the delegate's transaction, unique although two people may choose the same.

    Raises:
        MalformedCommand: the page's own transaction is invalid.
    """
    if not isinstance(own, str) or not _TRANSACTION.match(own):
        raise MalformedCommand("transaction: 8 to 64 letters, digits and -")
    return f"{actor}.{own}"
