"""Other projects' programs for comparison with the product: fetched, checked and run.

None of them is part of the package. The lock file next to this file pins every dependency of a peer
by its integrity hash. A row installs them into a cache when it first needs them.
"""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.rows import Unmeasurable

__all__ = ["run_node"]

_HERE: Final = Path(__file__).parent
_CACHE: Final = Path(".cache") / "baccarat-bench"  # of the user
_PINNED: Final = ("package.json", "package-lock.json")
# npm runs no script of a package, and requests nothing but the packages.
_INSTALL: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")
_PATIENCE_S: Final = 120.0


def run_node(script: str, *arguments: str | Path) -> bytes:
    """Run a script of this folder with the pinned packages, and return its output.

    Raises:
        Unmeasurable: node or npm is not here, or the packages cannot be installed.
    """
    node = _program("node")
    packages = _installed(_program("npm"))
    command = [node, str(_HERE / script), *map(str, arguments)]
    env = {"NODE_PATH": str(packages / "node_modules")}
    run = subprocess.run(  # noqa: S603 - no shell, and our own script
        command, env=env, capture_output=True, check=False
    )
    if run.returncode != 0:
        raise Unmeasurable(f"{script}: {_last_line(run.stderr)}")
    return run.stdout


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Unmeasurable(f"there is no program {name}: install Node.js and npm")
    return found


def _installed(npm: str) -> Path:
    """Return the folder with the lock's current packages; install them if they are missing."""
    lock = b"".join((_HERE / name).read_bytes() for name in _PINNED)
    folder = Path.home() / _CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if folder.exists():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as making:
            made = Path(making) / "made"
            made.mkdir()
            for name in _PINNED:
                shutil.copy(_HERE / name, made / name)
            run = subprocess.run(  # noqa: S603 - no shell, and our own words
                [npm, *_INSTALL], cwd=made, capture_output=True, check=False, timeout=_PATIENCE_S
            )
            if run.returncode != 0:
                raise Unmeasurable(f"npm ci: {_last_line(run.stderr)}")
            made.rename(folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unmeasurable(f"the peer's packages cannot be installed: {error}") from error
    return folder


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing"
