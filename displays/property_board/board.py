"""The property board's web application: all tables live, and queries of the archive. Read-only.

Without a users file, anybody who reaches the page sees everything; nobody can change anything. The
two protocols in this module supply its data.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from displays.auth.accounts import UserAccounts
from displays.http.pages import Pages, text_response
from displays.http.security import SecurityHeaders, TrustedHosts, same_origin
from displays.http.stream import HEADERS, last_event_id, wait_for_disconnect
from displays.live import BEAT_SECONDS
from displays.property_board.login import BoardLogin
from events.clock import SystemClock
from events.errors import InputError, TableError
from events.free_text import whole_number
from events.money import MAX_AMOUNT

__all__ = ["BoardSource", "QueryRunner", "make_board_app"]

# Most screens at once, and most queries at once.
_SCREENS_MOST: Final = 50
_QUESTIONS_MOST: Final = 2


class BoardSource(Protocol):
    """The source of the tables' state."""

    @property
    def live(self) -> bool:
        """Whether the state is up to date."""
        ...

    @property
    def reason(self) -> str:
        """Why it is not: `archive`, `parts` or `tables`; empty where it is."""
        ...

    @property
    def well(self) -> bool:
        """Whether nothing is wrong with any part; the page names what is."""
        ...

    @property
    def change(self) -> int:
        """The number of the newest change."""
        ...

    def news(self, since: int) -> bytes:
        """Return the changes after change `since`, as JSON: `{"tables": {name: fields}}`."""
        ...

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` at every change, until the caller calls the returned function."""
        ...


class QueryRunner(Protocol):
    """Runs the archive's named queries."""

    @property
    def questions(self) -> Sequence[Mapping[str, object]]:
        """The queries: `name`, `says` and `options`, each option with `name`, `kind` and `says`."""
        ...

    async def ask(self, name: str, given: Mapping[str, str]) -> bytes:
        """Return the result of a query as JSON: `{"columns": [...], "rows": [[...], ...]}`.

        Raises:
            InputError: the query or an option does not exist, or a value is invalid.
            TableError: the archive cannot answer.
        """
        ...


def make_board_app(
    source: BoardSource,
    asked: QueryRunner,
    stop: asyncio.Event,
    names: Collection[str] = (),
    replay: str = "",
    users: UserAccounts | None = None,
) -> Starlette:
    """Create the application.

    Args:
        source: the tables' state.
        asked: runs the queries.
        stop: ends the screens' streams.
        names: host names of the server, in addition to its addresses.
        replay: where a table's replay is, with `{site}` and `{table}`; empty for none.
        users: who may see the page; None lets everybody see it who reaches it.
    """
    pages = Pages(secure=False)
    board = _Board(source, asked, stop, pages, replay)
    return Starlette(
        routes=[
            Route("/", board.page, methods=["GET"]),
            Route("/events", board.events, methods=["GET"]),
            Route("/ask/{name}", board.ask, methods=["GET"]),
            Route("/health", board.health, methods=["GET"]),
            *pages.routes(),
        ],
        middleware=[
            Middleware(SecurityHeaders, secure=False),
            Middleware(TrustedHosts, names=names),
            *([Middleware(BoardLogin, users=users, clock=SystemClock())] if users else []),
        ],
    )


class _Board:
    def __init__(
        self,
        source: BoardSource,
        asked: QueryRunner,
        stop: asyncio.Event,
        pages: Pages,
        replay: str,
    ) -> None:
        self._source = source
        self._asked = asked
        self._stop = stop
        self._pages = pages
        self._replay = replay
        self._epoch = secrets.token_hex(4)
        self._screens = 0
        self._asking = 0

    async def page(self, request: Request) -> Response:
        questions = self._asked.questions
        return self._pages.render(request, "board.html", questions=questions, replay=self._replay)

    async def health(self, _: Request) -> Response:
        source = self._source
        told = {
            "live": source.live,
            "well": source.well,
            "reason": source.reason,
            "screens": self._screens,
        }
        return JSONResponse(told, 200 if source.live else 503)

    async def events(self, request: Request) -> "Response | _BoardStream":
        if not same_origin(request):
            return text_response("the stream is for our own page", 403)
        if self._screens >= _SCREENS_MOST:
            return text_response("too many screens", 503)
        since, _, epoch = last_event_id(request).partition("-")
        known = (whole_number(since, MAX_AMOUNT) or 0) if epoch == self._epoch else 0
        return _BoardStream(self, known)

    async def ask(self, request: Request) -> Response:
        if not same_origin(request):
            return text_response("answers are for our own page", 403)
        if self._asking >= _QUESTIONS_MOST:
            return text_response("others are asking: try again in a moment", 503)
        self._asking += 1
        try:
            given = dict(request.query_params)
            answer = await self._asked.ask(request.path_params["name"], given)
        except InputError as error:
            return text_response(str(error), 400)
        except TableError as error:
            return text_response(str(error), 503)
        finally:
            self._asking -= 1
        return Response(answer, media_type="application/json")

    async def stream(self, send: Send, known: int) -> None:
        """Send changes and beats until `stop` is set."""
        wake = asyncio.Event()
        unsubscribe = self._source.subscribe(wake.set)
        stopping = asyncio.ensure_future(self._stop.wait())
        stopping.add_done_callback(lambda _: wake.set())
        self._screens += 1
        try:
            build = b"retry: 500\nevent: build\ndata: %b\n\n" % self._pages.build.encode()
            await _send_chunk(send, build)
            while not self._stop.is_set():
                wake.clear()
                change = self._source.change
                if change != known:
                    mark = f"{change}-{self._epoch}".encode()
                    news = self._source.news(known)
                    await _send_chunk(send, b"event: state\nid: %b\ndata: %b\n\n" % (mark, news))
                    known = change
                told = {"live": self._source.live, "reason": self._source.reason}
                beat = msgspec.json.encode(told)
                await _send_chunk(send, b"event: beat\ndata: %b\n\n" % beat)
                try:
                    async with asyncio.timeout(BEAT_SECONDS):
                        await wake.wait()
                except TimeoutError:
                    continue
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._screens -= 1
            stopping.cancel()
            unsubscribe()


class _BoardStream:
    """An ASGI response that streams until its screen disconnects."""

    def __init__(self, board: _Board, known: int) -> None:
        self._board = board
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        gone = asyncio.ensure_future(wait_for_disconnect(receive))
        serving = asyncio.ensure_future(self._board.stream(send, self._known))
        try:
            await asyncio.wait({gone, serving}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
        finally:
            for task in (gone, serving):
                task.cancel()
            await asyncio.gather(gone, serving, return_exceptions=True)


async def _send_chunk(send: Send, text: bytes) -> None:
    await send({"type": "http.response.body", "body": text, "more_body": True})
