"""This build, and a next one: the same code in a folder of its own, with shipped files changed."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tests.support.machine.processes import ROOT
from tests.tools.broken_builds import copy_of

_PATIENCE_S: Final = 120


class Build:
    """What is installed somewhere, run as people run it.

    Args:
        folder: where its rooms are.
    """

    def __init__(self, folder: Path = ROOT) -> None:
        self.folder = folder
        self._env = {**os.environ, "PYTHONPATH": str(folder)}

    @classmethod
    def next(cls, folder: Path) -> "Build":
        """The next one, so far without a difference."""
        return cls(copy_of(folder))

    def touch(self, file: str, change: tuple[bytes, bytes] = (b"", b"")) -> None:
        """Change a shipped file: one text in it for another, and a line at its end."""
        path = self.folder / file
        old, new = change
        source = path.read_bytes()
        assert source.count(old) == 1 or not old, f"{old!r} is not in {file} once"
        path.write_bytes(source.replace(old, new) + b"# touched\n")

    def add(self, file: str, older: str, change: tuple[bytes, bytes]) -> None:
        """Ship one more file, made of an older one."""
        shutil.copyfile(self.folder / older, self.folder / file)
        self.touch(file, change)

    def said(self, *words: object) -> str:
        """What the command says that ends well."""
        command, env = self._command(*words), self._env
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE_S,
            env=env, cwd=self.folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    @asynccontextmanager
    async def serving(self, config: Path, service: str) -> AsyncIterator[None]:
        """One service of a table, in a process of its own."""
        process = await asyncio.create_subprocess_exec(
            *self._command("run", config, "--only", service), env=self._env, cwd=self.folder
        )
        try:
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            async with asyncio.timeout(_PATIENCE_S):
                assert await process.wait() == 0

    def _command(self, *words: object) -> list[str]:
        return [sys.executable, "-m", "baccarat", *map(str, words)]
