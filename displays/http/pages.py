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
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

__all__ = [
    "DEFAULT_LANGUAGE",
    "LANGUAGES",
    "Pages",
    "choose_language",
    "load_words",
    "text_response",
]

DEFAULT_LANGUAGE: Final = "en"
_SUFFIX: Final = ".json"
_WORDS: Final = files("displays").joinpath("static", "words")


def load_words(language: str) -> Mapping[str, str]:
    """Return the texts of one language by key."""
    text = _WORDS.joinpath(f"{language}{_SUFFIX}").read_bytes()
    return msgspec.json.decode(text, type=dict[str, str])


_FILES: Final = {
    tag: load_words(tag)
    for tag in sorted(
        entry.name.removesuffix(_SUFFIX)
        for entry in _WORDS.iterdir()
        if entry.name.endswith(_SUFFIX)
    )
}
LANGUAGES: Final[Mapping[str, str]] = {tag: words["language"] for tag, words in _FILES.items()}
"""The tag of each language, and its own name for itself: its file's `language`."""
# What a browser may call each, by its file's `language.accepts`; the longest that fits is meant.
_ACCEPTED: Final = sorted(
    ((start, tag) for tag, words in _FILES.items() for start in words["language.accepts"].split()),
    key=lambda row: -len(row[0]),
)


def choose_language(asked: str | None, accepted: str) -> str:
    """Return the tag of a page's language.

    Args:
        asked: the value of `?lang=` or of its cookie.
        accepted: the browser's `Accept-Language`.
    """
    if asked is not None and asked in LANGUAGES:
        return asked
    for part in accepted.lower().split(","):
        tag = part.partition(";")[0].strip()
        for start, language in _ACCEPTED:
            if tag.startswith(start):
                return language
    return DEFAULT_LANGUAGE


# Of the process: each template is compiled once.
_TEMPLATES: Final = Environment(
    loader=PackageLoader("displays"),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_LANGUAGE_COOKIE: Final = "lang"
_YEAR_S: Final = 365 * 24 * 3600


class Pages:
    """Renders pages.

    Args:
        secure: whether the server uses TLS.

    Attributes:
        build: a hash of the files; a screen with another build reloads itself.
    """

    def __init__(self, *, secure: bool) -> None:
        self._secure = secure
        self.build = _build()

    def words(self, request: Request) -> Mapping[str, str]:
        """Return the texts in the request's language."""
        return _FILES[self.language(request)]

    def language(self, request: Request) -> str:
        """Return the language's tag: from `?lang=`, the cookie, or the browser, in this order."""
        asked = request.query_params.get("lang") or request.cookies.get(_LANGUAGE_COOKIE)
        return choose_language(asked, request.headers.get("accept-language", ""))

    def render(
        self, request: Request, template: str, *, status: int = 200, **values: object
    ) -> HTMLResponse:
        """Render a template, with `words`, `language`, `languages`, `build` and `values`."""
        language = self.language(request)
        text = _TEMPLATES.get_template(template).render(
            words=_FILES[language],
            language=language,
            languages=LANGUAGES,
            build=self.build,
            **values,
        )
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

    def static(self) -> Mount:
        """Return the route of the static files."""
        return Mount("/static", StaticFiles(packages=[("displays", "static")]), name="static")


def text_response(text: str, status: int) -> PlainTextResponse:
    """Return a plain-text response of one line."""
    return PlainTextResponse(" ".join(text.split()) + "\n", status)


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
