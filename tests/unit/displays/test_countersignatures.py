"""Second signatures: by password, of another person, at one page, for two minutes."""

from pathlib import Path

import pytest

from displays.consoles.countersignatures import GOOD_SECONDS
from tests.support.service.console_site import PASSWORD, Site, log_in, secret_of

_US = 1_000_000


@pytest.mark.parametrize(
    ("user", "password", "wait_s", "signed", "sent"),
    [
        ("sam", PASSWORD, 0, ["tec", "sam"], True),
        ("sam", PASSWORD, GOOD_SECONDS - 1, ["tec", "sam"], True),
        ("sam", PASSWORD, GOOD_SECONDS, ["tec", "sam"], False),
        ("sam", "guessed", 0, ["tec", "sam"], False),
        ("tec", PASSWORD, 0, ["tec", "sam"], False),
        ("dora", PASSWORD, 0, ["tec", "sam"], False),
        ("nobody", PASSWORD, 0, ["tec", "nobody"], False),
        ("sam", PASSWORD, 0, ["tec"], True),  # the table refuses one signature
    ],
)
async def test_who_is_named_has_signed(
    tmp_path: Path, user: str, password: str, wait_s: int, signed: list[str], *, sent: bool
) -> None:
    site = Site(tmp_path, countersign=True)
    async with site.browser() as client:
        await log_in(client, "tec")
        from_page = {"x-csrf-token": await secret_of(client, "/replay")}
        await client.post(
            "/countersign", json={"user": user, "password": password}, headers=from_page
        )
        site.clock.now_us += wait_s * _US
        body = {"transaction": "t" * 16, "signed": signed, "chips": []}
        answer = await client.post("/command/close_float", json=body, headers=from_page)
    assert answer.json()["result"] == ("accepted" if sent else "refused")
    assert bool(site.sent) == sent
