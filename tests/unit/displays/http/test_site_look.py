"""A house's name, logo and colours: what is read, what is refused, and what a page has of it."""

from pathlib import Path

import httpx
import pytest

from displays.app import make_app
from displays.http.site_look import NO_SITE, SiteLook, read_logo
from displays.live import LiveState
from events.errors import ConfigError
from tests.support.clock import FakeClock

LOOK = SiteLook(
    name="Harbour & Sons", logo=b"<svg/>", logo_kind="image/svg+xml", colours={"felt": "#102030"}
)


@pytest.mark.parametrize(
    ("name", "kind"), [("logo.svg", "image/svg+xml"), ("logo.PNG", "image/png")]
)
def test_a_logo_is_read(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(b"<svg/>")
    assert read_logo(tmp_path / name) == (b"<svg/>", kind)


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("logo.gif", 1, "is no picture: give one of .svg, .png, .webp"),
        ("logo.webp", 512 * 1024 + 1, "has 524289 bytes: at most 524288"),
        ("nowhere.svg", None, "cannot be read: No such file or directory"),
    ],
)
def test_a_logo_is_a_small_picture(tmp_path: Path, name: str, size: int | None, said: str) -> None:
    if size is not None:
        (tmp_path / name).write_bytes(b"x" * size)
    with pytest.raises(ConfigError, match=said):
        read_logo(tmp_path / name)


@pytest.mark.parametrize("look", [LOOK, NO_SITE])
async def test_a_page_has_the_houses_look(look: SiteLook) -> None:
    clock = FakeClock()
    app = make_app(LiveState(clock), clock, site=look)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        page, css, logo = [await client.get(at) for at in ("/", "/site.css", "/site-logo")]
    assert ('alt="Harbour &amp; Sons"' in page.text) == (look is LOOK)
    assert ('href="/site.css"' in page.text) == (look is LOOK)
    assert ("--felt: #102030;" in css.text) == (look is LOOK)
    assert (logo.status_code, logo.content == b"<svg/>") == (
        (200, True) if look is LOOK else (404, False)
    )
