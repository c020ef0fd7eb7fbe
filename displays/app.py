"""The web application: the public scoreboard and, if there are logins, the consoles."""

import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from displays.auth.accounts import UserAccounts
from displays.auth.login_record import LoginRecord
from displays.auth.session_store import SessionStore
from displays.auth.sessions import SESSIONS_EACH, Sessions
from displays.consoles.layout import TableLayout
from displays.consoles.request_client import ConsoleRequestClient
from displays.consoles.routes import ConsoleRoutes, CoupPrinter
from displays.http.pages import Pages, text_or_page, text_response
from displays.http.security import BadBody, OneLength, SecurityHeaders, TrustedHosts, same_origin
from displays.http.site_look import NO_SITE, SiteLook
from displays.http.stream import StateStream, last_event_id
from displays.http.words import LANGUAGES
from displays.live import LiveState
from displays.scoreboard.public_view import PublicRulebook
from displays.verifier.page import page_policy, verify_page
from events.clock import Clock

__all__ = ["IDLE_SECONDS", "SCREENS_MOST", "LoginRules", "RulesSource", "make_app", "no_rules"]

RulesSource = Callable[[PublicRulebook, Mapping[str, str]], Awaitable[object | None]]
"""Gives what `rules.html` shows of a rulebook, by the words of a language; None if it has none."""

# Most scoreboards of one table at once; each costs some kilobytes.
SCREENS_MOST: Final = 200
# A working dealer acts in every coup, far more often than this.
IDLE_SECONDS: Final = 30 * 60


class LoginRules(Struct, frozen=True, kw_only=True):
    """What a site asks of logins.

    Args:
        record: where they are recorded; None for nowhere.
        password_days: days after which a password lets nobody in; None for no end.
        one_session: a further login of a person ends the earlier one.
    """

    record: LoginRecord | None = None
    password_days: int | None = None
    one_session: bool = False


async def no_rules(_: PublicRulebook, __: Mapping[str, str]) -> None:
    """Have no rules to show."""


def make_app(  # noqa: PLR0913 - all that a site sets of its screens
    live: LiveState,
    clock: Clock,
    *,
    accounts: UserAccounts | None = None,
    desk: ConsoleRequestClient | None = None,
    secure: bool = False,
    idle_s: int = IDLE_SECONDS,
    names: Collection[str] = (),
    rules: RulesSource = no_rules,
    login_rules: LoginRules | None = None,
    layout: TableLayout | None = None,
    site: SiteLook = NO_SITE,
    sessions: Path | None = None,
    printer: CoupPrinter | None = None,
    countersign: bool = False,
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
        rules: for the page `/rules`.
        login_rules: what the site asks of logins.
        layout: of the table, for the dealer's page; None for nine seats.
        site: how the pages look.
        sessions: the file that keeps logins over a restart; None keeps none.
        printer: renders a coup's page to print; None has none.
        countersign: whether a second signature is given by password.
    """
    pages = Pages(secure=secure, site=site)
    epoch = secrets.token_hex(4)
    scoreboard = _Scoreboard(live, pages, epoch, rules)
    routes: list[BaseRoute] = [*scoreboard.routes(), *pages.routes()]
    if accounts is not None and desk is not None:
        login = login_rules or LoginRules()
        if login.record is not None:
            login.record.note_changes(accounts.all())
            accounts.on_change = login.record.note_changes
        routes += ConsoleRoutes(
            accounts=accounts,
            sessions=_sessions(clock, idle_s, login, sessions, accounts),
            desk=desk,
            live=live,
            pages=pages,
            clock=clock,
            secure=secure,
            epoch=epoch,
            record=login.record,
            password_days=login.password_days,
            layout=layout or TableLayout(),
            printer=printer,
            countersign=countersign,
        ).routes()
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(SecurityHeaders, secure=secure),
            Middleware(OneLength),
            Middleware(TrustedHosts, names=names),
        ],
        exception_handlers={BadBody: _bad_body, HTTPException: partial(_http_error, pages)},
    )


def _sessions(
    clock: Clock, idle_s: int, login: LoginRules, file: Path | None, accounts: UserAccounts
) -> Sessions:
    each = 1 if login.one_session else SESSIONS_EACH
    kept = Sessions(clock, idle_s, each, SessionStore(file, clock) if file else None)
    if login.record is not None:
        for person in kept.people(accounts.all()):
            login.record.note("resumed", person)
    return kept


class _Scoreboard:
    """The public routes: the scoreboard, its stream, and the health check."""

    def __init__(self, live: LiveState, pages: Pages, epoch: str, rules: RulesSource) -> None:
        self._live = live
        self._pages = pages
        self._epoch = epoch
        self._rules_of = rules

    def routes(self) -> list[Route]:
        return [
            Route("/", self._page, methods=["GET"]),
            Route("/kiosk", self._page, methods=["GET"]),
            Route("/site.css", self._site_css, methods=["GET"]),
            Route("/site-logo", self._site_logo, methods=["GET"]),
            Route("/events", self._events, methods=["GET"]),
            Route("/rules", self._rules, methods=["GET"]),
            Route("/verify.html", self._verify, methods=["GET"]),
            Route("/health", self._health, methods=["GET"]),
        ]

    async def _page(self, request: Request) -> Response:
        """Answer with the scoreboard; at `/kiosk` without a link to leave it by."""
        kiosk = request.url.path == "/kiosk"
        return self._pages.render(request, "scoreboard.html", kiosk=kiosk)

    async def _site_css(self, _: Request) -> Response:
        return Response(self._pages.site.css(), media_type="text/css")

    async def _site_logo(self, _: Request) -> Response:
        site = self._pages.site
        if site.logo is None:
            raise HTTPException(404)
        return Response(site.logo, media_type=site.logo_kind)

    async def _events(self, request: Request) -> Response | StateStream:
        if not same_origin(request):
            return text_response("the stream is for our own page", 403)
        if self._live.screens >= SCREENS_MOST:
            return text_response("too many screens", 503)
        return StateStream(
            self._live,
            form="public",
            known=last_event_id(request),
            epoch=self._epoch,
            build=self._pages.build,
        )

    async def _rules(self, request: Request) -> Response:
        """Answer with the rules in force; 503 while they are not known here."""
        state, words = self._live.public, self._pages.words(request)
        page = await self._rules_of(state.rulebook, words) if state else None
        missing = "help.unknown" if state else "help.waiting"
        links = {tag: f"?lang={tag}" for tag in LANGUAGES}
        return self._pages.render(
            request,
            "rules.html",
            status=200 if page else 503,
            page=page,
            missing=words[missing],
            links=links,
            style=None,
        )

    async def _verify(self, _: Request) -> Response:
        """Answer with the verifier's page, whose own policy names the script that stands in it."""
        page = verify_page()
        return HTMLResponse(page, headers={"content-security-policy": page_policy(page)})

    async def _health(self, _: Request) -> Response:
        """Answer a health check: 200 while the screens are live, else 503."""
        health = self._live.health()
        return JSONResponse(
            {"live": health.live, "reason": health.reason, "screens": self._live.screens},
            200 if health.live else 503,
        )


async def _bad_body(_: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, BadBody) else 400
    return text_response(str(error), status)


async def _http_error(pages: Pages, request: Request, error: Exception) -> Response:
    """Answer an HTTP error, such as a missing page or a wrong method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    answer = text_or_page(pages, request, error.detail, error.status_code)
    answer.headers.update(error.headers or {})
    return answer
