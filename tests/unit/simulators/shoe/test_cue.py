"""A shoe that waits for a key, where nobody can press one."""

import asyncio
import sys
from pathlib import Path

import pytest

from simulators.shoe.cue import Cue, key_cues


@pytest.mark.parametrize("stdin", ["/dev/null", __file__])
def test_where_stdin_is_a_file_nobody_presses_a_key(
    stdin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cue() -> bool:
        with key_cues(Cue()):
            return True

    with Path(stdin).open(encoding="utf-8") as lines:
        monkeypatch.setattr(sys, "stdin", lines)
        assert asyncio.run(cue())
