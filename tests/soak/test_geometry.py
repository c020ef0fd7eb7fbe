"""Every state on every page, in every size, language and rulebook: the geometry holds."""

import pytest

from tests.support.service.geometry import PAGES, every_screen, faults
from tests.support.service.screens import chromium


@pytest.mark.soak
@pytest.mark.parametrize("page", PAGES)
def test_every_screen_fits(page: str) -> None:
    with chromium() as browser:
        wanted = (shown for shown in every_screen() if shown.page == page)
        assert list(faults(browser, wanted)) == []
