"""The consoles' routes: login and logout, pages, state stream, commands, evidence.

A session in memory and a cookie with its token identify a person. An action needs the session, its
secret in `X-CSRF-Token`, and the server's own origin; the table decides whether the person may do
it. `CONSOLE_PAGES` lists the pages, each with the roles that may see it.
"""

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from displays.auth.accounts import NAME_MOST, UserAccounts
from displays.auth.login_policy import LoginPolicy, LoginResult, RateLimit, client_network
from displays.auth.login_record import LoginRecord
from displays.auth.sessions import Sessions
from displays.consoles.countersignatures import Countersignatures
from displays.consoles.layout import TableLayout
from displays.consoles.request_client import ConsoleRequestClient, MalformedCommand, NoAnswer
from displays.http.pages import Pages, text_or_page, text_response
from displays.http.security import read_form, read_json, same_origin
from displays.http.stream import StateStream, last_event_id
from displays.live import LiveState
from events.clock import Clock
from events.commands import ANSWER_REFUSED, Answer
from events.free_text import whole_number
from events.money import MAX_AMOUNT
from events.structured_log import structlog

__all__ = [
    "COMMAND_MS",
    "CONSOLE_PAGES",
    "ConsolePage",
    "ConsoleRoutes",
    "ConsoleUser",
    "CoupPrinter",
    "evidence_file",
    "printed_coup",
]

COMMAND_MS: Final = 5_000
"""A command lives so long: its page has given it up by then (docs/develop/adr/0058)."""
_PROVE: Final = "prove_coup"
_TELL: Final = "tell_coup"
CoupPrinter = Callable[[object, str], str]
"""Renders the page to print of a coup, from what `tell_coup` shows; `ValueError` if it cannot."""
_NAME: Final = re.compile(r"[a-z0-9_.-]{1,160}\Z")


class _Proved(Struct):
    file: str
    evidence: str


async def evidence_file(desk: ConsoleRequestClient, person: str, coup: str) -> Response:
    """Return the file, the table's refusal, or the error that the table did not answer.

    Args:
        desk: sends the request to the table.
        person: the user who requests it; the table decides whether that user may.
        coup: the coup's id, as requested.
    """
    fields = {"transaction": secrets.token_hex(16), "coup": coup}
    try:
        answer = await desk.ask(person, _PROVE, fields)
    except NoAnswer as error:
        return text_response(str(error), 503)
    if answer.result == ANSWER_REFUSED:
        return JSONResponse(msgspec.to_builtins(answer))
    try:
        proved = msgspec.convert(answer.shown, _Proved)
    except msgspec.ValidationError:
        return text_response("the table's answer holds no evidence", 502)
    name = proved.file if _NAME.match(proved.file) else "evidence.json"
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "cache-control": "no-store",
    }
    return Response(proved.evidence.encode(), media_type="application/json", headers=headers)


async def printed_coup(
    desk: ConsoleRequestClient,
    person: str,
    coup: str,
    printer: CoupPrinter,
    *,
    language: str,
    save: bool,
) -> Response:
    """Return a coup's page to print, the table's refusal, or the error that it did not answer.

    Args:
        desk: sends the request to the table.
        person: the user who requests it; the table decides whether that user may.
        coup: the coup's id, as requested.
        printer: renders the page.
        language: of the page.
        save: whether the browser is to save the page as a file.
    """
    try:
        answer = await desk.ask(person, _TELL, {"transaction": secrets.token_hex(16), "coup": coup})
    except NoAnswer as error:
        return text_response(str(error), 503)
    if answer.result == ANSWER_REFUSED:
        return JSONResponse(msgspec.to_builtins(answer))
    try:
        page = printer(answer.shown, language)
    except ValueError:
        return text_response("the table's answer holds no coup", 502)
    headers = {"cache-control": "no-store", "content-security-policy": _PRINTED}
    if save:
        name = f"coup-{coup.replace('/', '-')}.html"
        headers["content-disposition"] = f'attachment; filename="{name}"'
    return HTMLResponse(page, headers=headers)


# The page is a file by itself: its style is in it, it has no script and loads nothing.
_PRINTED: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
# A person types no faster.
_COMMANDS_BURST: Final = 30
_COMMANDS_PER_S: Final = 10.0
_NONCE_S: Final = 3600
_FAILED: Final = 500
# Seconds after which the server forgets that a browser is a person's.
_DEVICE_S: Final = 180 * 24 * 3600
# Most streams of consoles, in addition to the scoreboards.
_STREAMS_MOST: Final = 256
_log: Final = structlog.get_logger()
# The reply to an attempt; `ok` is for an account that was removed meanwhile.
_LOGIN_REPLIES: Final[Mapping[LoginResult, tuple[str, int]]] = {
    "ok": ("login.wrong", 403),
    "wrong": ("login.wrong", 403),
    "locked": ("login.locked", 429),
    "often": ("login.too_many", 429),
    "expired": ("login.expired", 403),
}


class ConsolePage(Struct, frozen=True):
    """A page of the consoles.

    Args:
        template: in `templates/`; extends `console.html`.
        roles: a person needs one of them.
    """

    template: str
    roles: frozenset[str]


CONSOLE_PAGES: Final[Mapping[str, ConsolePage]] = {
    "/dealer": ConsolePage("dealer.html", frozenset({"dealer", "supervisor"})),
    "/pit": ConsolePage("pit.html", frozenset({"supervisor"})),
    "/replay": ConsolePage("replay.html", frozenset({"supervisor", "technician"})),
}


def _login_for(request: Request) -> str:
    """Return the login's address, which comes back to the page that was asked for."""
    query = f"?{request.url.query}" if request.url.query else ""
    return f"/login?{urlencode({'next': request.url.path + query})}"


def _wanted(address: str | None) -> str:
    """Return the page to go to after the login: one of the consoles', and never another site's."""
    path = (address or "").partition("?")[0]
    return address if address and path in CONSOLE_PAGES else "/console"


class ConsoleUser(Struct, frozen=True):
    """The logged-in person who sent a request."""

    name: str
    roles: frozenset[str]
    csrf: str


class ConsoleRoutes:
    """All routes that need a login.

    Args:
        accounts: the people who may log in.
        sessions: the people who are logged in.
        desk: sends commands to the table.
        live: the table's live state.
        pages: renders templates.
        clock: for rate limits.
        secure: whether the server uses TLS; then cookies are sent over TLS only.
        epoch: marks this process's state ids.
        layout: of the table, for the dealer's page.
        record: where logins are recorded; None for nowhere.
        password_days: days after which a password lets nobody in; None for no end.
        printer: renders a coup's page to print; None has none.
        countersign: whether a second signature is given by password, in the form.
    """

    def __init__(  # noqa: PLR0913 - each is a part of the application
        self,
        *,
        accounts: UserAccounts,
        sessions: Sessions,
        desk: ConsoleRequestClient,
        live: LiveState,
        pages: Pages,
        clock: Clock,
        secure: bool,
        epoch: str,
        layout: TableLayout,
        record: LoginRecord | None = None,
        password_days: int | None = None,
        printer: CoupPrinter | None = None,
        countersign: bool = False,
    ) -> None:
        self._layout, self._clock = layout, clock
        self._printer = printer
        self._countersign = countersign
        self._signatures = Countersignatures(clock)
        self._accounts = accounts
        self._record = record
        self._sessions = sessions
        self._desk = desk
        self._live = live
        self._pages = pages
        self._secure = secure
        self._epoch = epoch
        self._login_policy = LoginPolicy(accounts, clock, password_days)
        self._commands = RateLimit(clock, burst=_COMMANDS_BURST, per_s=_COMMANDS_PER_S)
        # By this prefix a browser accepts the cookie only from this host, and only over TLS.
        prefix = "__Host-" if secure else ""
        self._cookie, self._nonce_cookie = f"{prefix}session", f"{prefix}login"
        # One cookie for each person of a shared screen, so its path is the login's only.
        self._device_cookie = f"{'__Secure-' if secure else ''}device-"

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/login", self._login_page, methods=["GET"]),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Route("/stay", self._stay, methods=["POST"]),
            Route("/countersign", self._sign, methods=["POST"]),
            Route("/console", self._home, methods=["GET"]),
            Route("/console/events", self._events, methods=["GET"]),
            Route("/command/{name}", self._command, methods=["POST"]),
            Route("/fate/{transaction}", self._fate, methods=["POST"]),
            Route("/replay/evidence/{shoe}/{number}", self._evidence, methods=["GET"]),
            Route("/replay/print/{shoe}/{number}", self._print, methods=["GET"]),
            *(Route(path, self._page, methods=["GET"]) for path in CONSOLE_PAGES),
        ]

    def _person(self, request: Request, *, touch: bool = True) -> ConsoleUser | None:
        token = request.cookies.get(self._cookie)
        session = self._sessions.find(token, touch=touch) if token else None
        account = self._accounts.get(session.user) if session else None
        if token is None or session is None:
            return None
        if account is None or not session.is_of(account, self._clock.utc_ns()):
            self._sessions.end(token)  # the account was removed, or has another password
            return None
        return ConsoleUser(session.user, frozenset(account.roles), session.csrf)

    async def _page(self, request: Request) -> Response:
        person = self._person(request)
        if person is None:
            return RedirectResponse(_login_for(request), 303)
        page = CONSOLE_PAGES[request.url.path]
        if not page.roles & person.roles:
            return text_or_page(self._pages, request, "this page is not for your role", 403)
        return self._pages.render(
            request,
            page.template,
            person=person,
            layout=self._layout,
            countersign=self._countersign,
            dealers=sorted(
                name for name, each in self._accounts.all().items() if "dealer" in each.roles
            ),
        )

    async def _home(self, request: Request) -> Response:
        """Redirect to the first page that this person may see."""
        person = self._person(request)
        if person is None:
            return RedirectResponse("/login", 303)
        for path, page in CONSOLE_PAGES.items():
            if page.roles & person.roles:
                return RedirectResponse(path, 303)
        return text_or_page(self._pages, request, "no page is for your role", 403)

    async def _login_page(self, request: Request) -> Response:
        if self._person(request):
            return RedirectResponse(_wanted(request.query_params.get("next")), 303)
        was_in = "next" in request.query_params and self._cookie in request.cookies
        ended = "login.ended" if was_in else ""
        return self._form(request, said=ended and self._pages.words(request)[ended], status=200)

    def _form(self, request: Request, *, said: str, status: int, name: str = "") -> Response:
        nonce = secrets.token_urlsafe(32)
        response = self._pages.render(
            request,
            "login.html",
            status=status,
            said=said,
            csrf=self._sessions.login_token(nonce),
            to=request.query_params.get("next", ""),
            name=name,
        )
        self._set(response, self._nonce_cookie, nonce, max_age=_NONCE_S)
        return response

    def _set(
        self,
        response: Response,
        name: str,
        value: str,
        *,
        max_age: int | None = None,
        path: str = "/",
    ) -> None:
        response.set_cookie(
            name,
            value,
            max_age=max_age,
            path=path,
            secure=self._secure,
            httponly=True,
            samesite="strict",
        )

    async def _login(self, request: Request) -> Response:
        words = self._pages.words(request)
        form = await read_form(request)
        expected = self._sessions.login_token(request.cookies.get(self._nonce_cookie, ""))
        if not same_origin(request) or not secrets.compare_digest(
            form.get("csrf", "").encode(), expected.encode()
        ):
            return self._form(request, said=words["login.again"], status=403)
        name = form.get("user", "")[:NAME_MOST]
        device = request.cookies.get(self._device_cookie + name)
        place = client_network(request.client.host if request.client else "")
        verdict = await self._login_policy.judge(
            name, form.get("password", ""), place=place, cookie=device
        )
        account = self._accounts.get(name) if verdict == "ok" else None
        if account is None:
            if verdict in {"wrong", "expired"}:  # the other results can come in floods
                # A name that nobody has may be a password, typed into the wrong field.
                known = name if self._accounts.get(name) else ""
                _log.warning("login.failed", user=known or None, place=place)
                self._note("failed" if verdict == "wrong" else "expired", known, place)
                if self._login_policy.locks(name, place=place, cookie=device):
                    self._note("locked", known, place)
            said, status = _LOGIN_REPLIES[verdict]
            return self._form(request, said=words[said], status=status, name=name)
        token = self._sessions.begin(
            name, password=account.password, instead_of=request.cookies.get(self._cookie)
        )
        _log.info("login", user=name)
        self._note("login", name, place)
        response = RedirectResponse(_wanted(request.query_params.get("next")), 303)
        self._set(response, self._cookie, token)
        known = self._login_policy.device_cookie(name, device)
        self._set(response, self._device_cookie + name, known, max_age=_DEVICE_S, path="/login")
        response.delete_cookie(self._nonce_cookie, path="/", secure=self._secure, httponly=True)
        return response

    def _note(self, what: str, user: str, place: str = "") -> None:
        if self._record is not None:
            self._record.note(what, user, place=place)

    async def _logout(self, request: Request) -> Response:
        person = self._person(request)
        if person is not None:
            form = await read_form(request)
            if not self._is_from_own_page(request, person, form.get("csrf", "")):
                return text_response("this was not sent by our own page", 403)
            self._sessions.end(request.cookies[self._cookie])
            _log.info("logout", user=person.name)
            self._note("logout", person.name)
        response = RedirectResponse("/login", 303)
        response.delete_cookie(self._cookie, path="/", secure=self._secure, httponly=True)
        return response

    @staticmethod
    def _is_from_own_page(request: Request, person: ConsoleUser, token: str) -> bool:
        """Return whether a page of this server sent the request."""
        return same_origin(request) and secrets.compare_digest(token.encode(), person.csrf.encode())

    async def _events(self, request: Request) -> Response | StateStream:
        person = self._person(request, touch=False)
        if person is None:
            return text_response("log in", 401)
        if not same_origin(request):
            return text_response("this was not sent by our own page", 403)
        if self._live.screens >= _STREAMS_MOST:
            return text_response("too many screens", 503)
        return StateStream(
            self._live,
            form="full",
            known=last_event_id(request),
            epoch=self._epoch,
            build=self._pages.build,
            still_welcome=lambda: self._person(request, touch=False) is not None,
            left=lambda: self._sessions.left_s(request.cookies.get(self._cookie, "")),
        )

    def _at_own_page(self, request: Request) -> ConsoleUser | Response:
        """Return who asks at a page of this server, or why nobody does."""
        person = self._person(request)
        if person is None:
            return text_response("log in", 401)
        if not self._is_from_own_page(request, person, request.headers.get("x-csrf-token", "")):
            return text_response("this was not sent by our own page", 403)
        return person

    async def _stay(self, request: Request) -> Response:
        """Let the person go on: a press of the button that the page's warning has."""
        person = self._at_own_page(request)
        if isinstance(person, Response):
            return person
        return Response(status_code=204)

    async def _evidence(self, request: Request) -> Response:
        """Serve a coup's evidence as a file. It changes nothing, so a plain GET is enough."""
        asked = self._asks_for_coup(request)
        if isinstance(asked, Response):
            return asked
        return await evidence_file(self._desk, *asked)

    async def _print(self, request: Request) -> Response:
        """Serve a coup as the page to print that the command line writes."""
        asked = self._asks_for_coup(request)
        if isinstance(asked, Response):
            return asked
        if self._printer is None:
            return text_or_page(self._pages, request, "this server prints no coups", 404)
        save = "save" in request.query_params
        language = self._pages.language(request)
        page = await printed_coup(self._desk, *asked, self._printer, language=language, save=save)
        if page.status_code < _FAILED:
            return page
        return text_or_page(self._pages, request, bytes(page.body).decode(), page.status_code)

    def _asks_for_coup(self, request: Request) -> tuple[str, str] | Response:
        """Return the person and the coup, or why that person may not have it."""
        person = self._person(request)
        if person is None:
            return text_response("log in", 401)
        if not CONSOLE_PAGES["/replay"].roles & person.roles:
            return text_or_page(self._pages, request, "this is not for your role", 403)
        if not self._commands.allows(person.name):
            return text_or_page(self._pages, request, "too many commands", 429)
        return person.name, f"{request.path_params['shoe']}/{request.path_params['number']}"

    async def _command(self, request: Request) -> Response:
        async def ask(person: ConsoleUser) -> Answer:
            fields = await read_json(request)
            if self._expired(request):
                text = "it came long after it was given, and was not sent"
                own = str(fields.get("transaction", ""))
                return Answer(transaction=own, result=ANSWER_REFUSED, code="expired", text=text)
            if missing := self._unsigned(person, fields):
                text = f"{', '.join(missing)}: sign with name and password"
                return Answer(
                    transaction=str(fields.get("transaction", "")),
                    result=ANSWER_REFUSED,
                    code="not_countersigned",
                    text=text,
                )
            return await self._desk.ask(person.name, str(request.path_params["name"]), fields)

        return await self._answered(request, ask)

    def _expired(self, request: Request) -> bool:
        """Return whether a command is older than a person waits for it, by this server's clock."""
        given_ms = whole_number(request.headers.get("x-given-ms", ""), MAX_AMOUNT)
        if given_ms is None:
            return False
        return self._clock.mono_us() // 1000 - given_ms > COMMAND_MS

    def _unsigned(self, person: ConsoleUser, fields: Mapping[str, object]) -> tuple[str, ...]:
        """Return who is named in `signed` and has not signed."""
        signed = fields.get("signed")
        if not self._countersign or not isinstance(signed, list):
            return ()
        return self._signatures.missing(person.csrf, person.name, [str(name) for name in signed])

    async def _sign(self, request: Request) -> Response:
        """Take a second person's signature at this person's page."""
        person = self._at_own_page(request)
        if isinstance(person, Response):
            return person
        fields = await read_json(request)
        name = str(fields.get("user", ""))[:NAME_MOST]
        if name == person.name:
            return JSONResponse({"result": "refused", "code": "second_person"})
        place = client_network(request.client.host if request.client else "")
        verdict = await self._login_policy.judge(
            name, str(fields.get("password", "")), place=place, cookie=None
        )
        if verdict != "ok" or self._accounts.get(name) is None:
            known = name if self._accounts.get(name) else ""
            _log.warning("countersign.failed", user=known or None, place=place, beside=person.name)
            self._note("failed", known, place)
            said, _ = _LOGIN_REPLIES[verdict]
            return JSONResponse({"result": "refused", "code": said})
        self._signatures.add(person.csrf, name)
        _log.info("countersigned", user=name, beside=person.name)
        return JSONResponse({"result": "accepted", "user": name})

    async def _fate(self, request: Request) -> Response:
        """Answer with the outcome of a command that its page has given up."""

        async def ask(person: ConsoleUser) -> Answer:
            return await self._desk.fate(person.name, str(request.path_params["transaction"]))

        return await self._answered(request, ask)

    async def _answered(
        self, request: Request, ask: Callable[[ConsoleUser], Awaitable[Answer]]
    ) -> Response:
        """Pass on the table's answer, if a page of this server asks for a logged-in person."""
        person = self._at_own_page(request)
        if isinstance(person, Response):
            return person
        if not self._commands.allows(person.name):
            return text_response("too many commands", 429)
        try:
            answer = await ask(person)
        except MalformedCommand as error:
            return text_response(str(error), 400)
        except NoAnswer as error:
            return text_response(str(error), 503)
        # A refusal is a normal answer; a browser would report another status as an error.
        return JSONResponse(msgspec.to_builtins(answer))
