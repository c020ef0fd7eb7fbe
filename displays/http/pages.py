"""Renders templates and serves static files, for every page."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from displays.http.site_look import NO_SITE, SiteLook
from displays.http.words import LANGUAGES, choose_language, load_words

__all__ = ["Pages", "text_or_page", "text_response"]

# Of the process: each template is compiled once.
_TEMPLATES: Final = Environment(
    loader=PackageLoader("displays"),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_MAINTENANCE: Final = "/maintenance"
_MAINTENANCE_FILES: Final = (
    "/static/icon.svg",
    "/static/css/fonts.css",
    "/static/css/base.css",
    "/static/css/station.css",
    "/static/css/door.css",
    "/static/fonts/inter.woff2",
    "/static/js/maintenance/page.js",
    "/static/js/maintenance/register.js",
)
"""What `maintenance.html` loads."""
_LANGUAGE_COOKIE: Final = "lang"
_YEAR_S: Final = 365 * 24 * 3600


class Pages:
    """Renders pages.

    Args:
        secure: whether the server uses TLS.
        site: the site's name, logo and colours.

    Attributes:
        build: a hash of the files; a screen with another build reloads itself.
    """

    def __init__(self, *, secure: bool, site: SiteLook = NO_SITE) -> None:
        self._secure = secure
        self.site = site
        self.build = _build() + site.mark()

    def words(self, request: Request) -> Mapping[str, str]:
        """Return the texts in the request's language."""
        return load_words(self.language(request))

    def language(self, request: Request) -> str:
        """Return the language's tag: from `?lang=`, the cookie, or the browser, in this order."""
        asked = request.query_params.get("lang") or request.cookies.get(_LANGUAGE_COOKIE)
        return choose_language(asked, request.headers.get("accept-language", ""))

    def render(
        self, request: Request, template: str, *, status: int = 200, **values: object
    ) -> HTMLResponse:
        """Render a template, with `words`, `language`, `languages`, `build` and `values`."""
        language = self.language(request)
        text = self.html(language, template, **values)
        response = HTMLResponse(text, status, headers={"cache-control": "no-store"})
        if request.query_params.get("lang") in LANGUAGES:
            response.set_cookie(
                _LANGUAGE_COOKIE,
                language,
                max_age=_YEAR_S,
                secure=self._secure,
                httponly=True,
                samesite="lax",
            )
        return response

    def html(self, language: str, template: str, **values: object) -> str:
        """Return a page's text in one language, with the same values."""
        return _TEMPLATES.get_template(template).render(
            words=load_words(language),
            language=language,
            languages=LANGUAGES,
            build=self.build,
            **({"site": self.site} | values),
        )

    def routes(self) -> list[BaseRoute]:
        """Return the routes that every server has: static files, and what browsers keep of it."""
        return [
            Mount("/static", StaticFiles(packages=[("displays", "static")]), name="static"),
            Route(_MAINTENANCE, self._maintenance, methods=["GET"]),
            Route("/service-worker.js", self._service_worker, methods=["GET"]),
        ]

    async def _maintenance(self, request: Request) -> Response:
        """Answer with the page that a browser shows while this server does not answer."""
        language = self.language(request)
        others = {tag: load_words(tag) for tag in LANGUAGES if tag != language}
        return self.render(request, "maintenance.html", others=others)

    async def _service_worker(self, _: Request) -> Response:
        """Answer with the script that keeps the maintenance page, in this build and look."""
        look = [("/site.css", self.site.colours), ("/site-logo", self.site.logo)]
        kept = {
            "build": self.build,
            "page": _MAINTENANCE,
            "files": [_MAINTENANCE, *_MAINTENANCE_FILES, *(path for path, set_ in look if set_)],
        }
        script = f"const KEPT = {msgspec.json.encode(kept).decode()};\n{_worker()}"
        return Response(script, media_type="text/javascript")


def text_or_page(pages: Pages, request: Request, text: str, status: int) -> Response:
    """Return an error as a page to a person's browser, and as one line of text to all others."""
    if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
        return text_response(text, status)
    return pages.render(request, "error.html", status=status, code=status)


def text_response(text: str, status: int) -> PlainTextResponse:
    """Return a plain-text response of one line."""
    return PlainTextResponse(" ".join(text.split()) + "\n", status)


@cache
def _worker() -> str:
    folder = files("displays").joinpath("static", "js", "maintenance")
    return folder.joinpath("worker.js").read_text(encoding="utf-8")


@cache
def _build() -> str:
    digest = hashlib.sha256()
    for folder in ("static", "templates"):
        for path, content in _walk(files("displays").joinpath(folder), folder):
            digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _walk(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        below = f"{path}/{entry.name}"
        found += _walk(entry, below) if entry.is_dir() else [(below, entry.read_bytes())]
    return found
