"""The verifier's page in Chromium, as a local file: it proves, refuses, and asks nobody."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from displays.verifier.page import page_with_evidence, verify_page
from tests.support.verifier.second import KeptEvidence, kept_evidence


@pytest.fixture(scope="module")
def kept() -> KeptEvidence:
    return next(one for one in kept_evidence() if one.name.startswith("0.1.0/by-hand"))


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Page:
    file = tmp_path / "verify.html"
    file.write_text(verify_page(), "utf-8")
    opened = browser.new_page(locale="en-GB")
    opened.goto(file.as_uri())
    return opened


def give(page: Page, folder: Path, data: bytes, key: str) -> None:
    file = folder / "evidence.json"
    file.write_bytes(data)
    page.locator("#key").fill(key)
    page.locator("#file").set_input_files(file)


def test_a_coup_is_proved_and_shown_and_nothing_is_asked_for(
    page: Page, tmp_path: Path, kept: KeptEvidence
) -> None:
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    give(page, tmp_path, kept.data, kept.key)
    expect(page.locator(".verdict")).to_have_text("✓ It verifies")
    told = json.loads(kept.data)
    expect(page.locator("#coup")).to_contain_text(told["coup"])
    expect(page.locator(".steps tbody tr")).to_have_count(len(told["events"]))
    page.locator("#language").select_option("zh-Hant")
    expect(page.locator(".verdict")).to_have_text("✓ 驗證通過")
    assert (asked, said) == ([], [])
    page.close()


def test_a_forged_coup_is_refused_at_its_position(
    page: Page, tmp_path: Path, kept: KeptEvidence
) -> None:
    changed = json.loads(kept.data)
    event = changed["events"][4]
    event["stored"] = event["stored"].replace('"KS"', '"QS"')
    data = (json.dumps(changed, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
    give(page, tmp_path, data, kept.key)
    expect(page.locator(".verdict")).to_have_text("✗ It does NOT verify")
    wrong = page.locator(".steps tr.bad")
    expect(wrong).to_contain_text(str(event["position"]))
    page.close()


def test_a_page_with_evidence_warns_of_itself(
    browser: Browser, tmp_path: Path, kept: KeptEvidence
) -> None:
    file = tmp_path / "coup.html"
    file.write_text(page_with_evidence(kept.data), "utf-8")
    page = browser.new_page(locale="en-GB")
    page.goto(file.as_uri())
    expect(page.locator("#bundled")).to_be_visible()
    page.locator("#key").fill(kept.key)
    page.locator("#key").blur()
    expect(page.locator(".verdict")).to_have_text("✓ It verifies")
    with page.expect_download() as saved:
        page.locator("#save").click()
    assert saved.value.path().read_bytes() == kept.data
    page.close()
