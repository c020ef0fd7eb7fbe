"""The verifier's page: its policy, its hash, and the page with evidence in it."""

import hashlib
import json
import re
from base64 import b64encode
from importlib.resources import files
from pathlib import Path

import pytest

from displays.verifier.page import page_policy, page_with_evidence, verify_page
from tests.support.service.console_site import Site

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def test_its_policy_lets_run_what_stands_in_it_and_nothing_else() -> None:
    page = verify_page()
    directives = dict(part.strip().split(" ", 1) for part in page_policy(page).split(";"))
    assert directives.pop("default-src") == "'none'"
    for name, pattern in (("script-src", SCRIPT), ("style-src", STYLE)):
        (content,) = pattern.findall(page)
        digest = b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode()
        assert directives.pop(name) == f"'sha256-{digest}'"
    assert set(directives.values()) == {"'none'"}


def test_nothing_in_it_is_loaded() -> None:
    page = verify_page()
    (script,) = SCRIPT.findall(page)
    markup = page.replace(script, "")
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b|\ssrc=|@import|url\(", markup)
    asks = r"\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import\("
    assert not re.search(asks, re.sub(r"/\*.*?\*/", "", script, flags=re.DOTALL))


def test_its_hash_is_published_next_to_it() -> None:
    told = files("displays.verifier").joinpath("verify.html.sha256").read_text("ascii")
    assert told == f"{hashlib.sha256(verify_page().encode('utf-8')).hexdigest()}  verify.html\n"


@pytest.mark.parametrize(
    "text", ["{}\n", '{"reason": "</script><script>alert(1)</script>"}\n', "é"]
)
def test_evidence_stands_in_the_page_as_it_was(text: str) -> None:
    page = page_with_evidence(text.encode("utf-8"))
    held = re.search(r'<script type="application/json" id="evidence">(.*?)</script>', page)
    assert held is not None
    assert json.loads(held[1]) == text
    assert SCRIPT.findall(page) == SCRIPT.findall(verify_page())


async def test_the_displays_serve_it_with_its_own_policy(tmp_path: Path) -> None:
    async with Site(tmp_path, consoles=False).browser() as client:
        answer = await client.get("/verify.html")
    assert (answer.status_code, answer.text) == (200, verify_page())
    assert answer.headers["content-security-policy"] == page_policy(verify_page())
    assert answer.headers["x-content-type-options"] == "nosniff"
