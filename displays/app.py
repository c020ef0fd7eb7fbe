"""The web application: the public scoreboard and, if there are logins, the consoles."""

import secrets
from collections.abc import Collection
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from displays.auth.accounts import Accounts
from displays.auth.sessions import Sessions
from displays.consoles.request_client import Desk
from displays.consoles.routes import Consoles
from displays.http.pages import Pages, line
from displays.http.security import BadBody, Headers, Names, same_origin
from displays.http.stream import StateStream, known_id
from displays.live import Live
from events.clock import Clock

__all__ = ["IDLE_SECONDS", "SCREENS_MOST", "make_app"]

# Most scoreboards of one table at once; each costs some kilobytes.
SCREENS_MOST: Final = 200
# A working dealer acts in every coup, far more often than this.
IDLE_SECONDS: Final = 30 * 60


def make_app(
    live: Live,
    clock: Clock,
    *,
    accounts: Accounts | None = None,
    desk: Desk | None = None,
    secure: bool = False,
    idle_s: int = IDLE_SECONDS,
    names: Collection[str] = (),
) -> Starlette:
    """Create the application.

    Args:
        live: the table's live state.
        clock: for sessions and rate limits.
        accounts: the people who may log in; None serves the scoreboard alone.
        desk: sends commands to the table; None without accounts.
        secure: whether the server uses TLS.
        idle_s: seconds of inactivity that end a session.
        names: host names of the server, in addition to its addresses.
    """
    pages = Pages(secure=secure)
    epoch = secrets.token_hex(4)
    scoreboard = _Scoreboard(live, pages, epoch)
    routes: list[BaseRoute] = [*scoreboard.routes(), pages.static()]
    if accounts is not None and desk is not None:
        routes += Consoles(
            accounts=accounts,
            sessions=Sessions(clock, idle_s),
            desk=desk,
            live=live,
            pages=pages,
            clock=clock,
            secure=secure,
            epoch=epoch,
        ).routes()
    return Starlette(
        routes=routes,
        middleware=[Middleware(Headers, secure=secure), Middleware(Names, names=names)],
        exception_handlers={BadBody: _bad_body, HTTPException: _http_error},
    )


class _Scoreboard:
    """The public routes: the scoreboard, its stream, and the health check."""

    def __init__(self, live: Live, pages: Pages, epoch: str) -> None:
        self._live = live
        self._pages = pages
        self._epoch = epoch

    def routes(self) -> list[Route]:
        return [
            Route("/", self._page, methods=["GET"]),
            Route("/events", self._events, methods=["GET"]),
            Route("/health", self._health, methods=["GET"]),
        ]

    async def _page(self, request: Request) -> Response:
        return self._pages.render(request, "scoreboard.html")

    async def _events(self, request: Request) -> Response | StateStream:
        if not same_origin(request):
            return line("the stream is for our own page", 403)
        if self._live.screens >= SCREENS_MOST:
            return line("too many screens", 503)
        return StateStream(
            self._live,
            form="public",
            known=known_id(request),
            epoch=self._epoch,
            build=self._pages.build,
        )

    async def _health(self, _: Request) -> Response:
        """Answer a health check: 200 while the screens are live, else 503."""
        health = self._live.health()
        return JSONResponse(
            {"live": health.live, "reason": health.reason, "screens": self._live.screens},
            200 if health.live else 503,
        )


async def _bad_body(_: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, BadBody) else 400
    return line(str(error), status)


async def _http_error(_: Request, error: Exception) -> Response:
    """Answer an HTTP error, such as a missing page or a wrong method, with one line."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    answer = line(error.detail, error.status_code)
    answer.headers.update(error.headers or {})
    return answer
