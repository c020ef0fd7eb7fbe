"""A private PostgreSQL: one cluster in a temporary folder, on a socket, a database per use."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from baccarat.processes.children import Child
from benchmarks.rows import Unmeasurable

__all__ = ["Postgres", "postgres_cluster"]

_USER: Final = "postgres"
# After a kill the server forces each file of every database to the disk before it accepts
# connections.
_READY_S: Final = 60.0
_AGAIN_S: Final = 0.05
_LAST_LINES: Final = 20


class Postgres:
    """A running server on a socket of this user.

    Args:
        folder: short, because a socket's path must be; it becomes the server's own.
        settings: of the server, such as `fsync=off`.
    """

    def __init__(self, folder: Path, *settings: str) -> None:
        self._folder = folder
        self._settings = ("listen_addresses=", "shared_buffers=16MB", *settings)
        self._child: Child | None = None
        self._names = count(1)
        # The server refuses to run as root: then it runs as the package's own user.
        self._as = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"]
        # Changing the user clears the parent-death signal, so it is set again: SIGQUIT, at once.
        self._as += ["--pdeathsig=QUIT"]
        if os.geteuid() != 0:
            self._as = []
        else:
            owner = pwd.getpwnam(_USER)
            os.chown(folder, owner.pw_uid, owner.pw_gid)

    def create(self) -> None:
        """Create the cluster, without forcing it to the disk, because nobody keeps it.

        Raises:
            Unmeasurable: there is no PostgreSQL here, or it refuses the folder.
        """
        made = [*self._as, _program("initdb"), "-D", str(self._folder / "data")]
        made += ["-U", _USER, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
        run = subprocess.run(  # noqa: S603 - no shell, and our own words
            made, check=False, capture_output=True, cwd=self._folder
        )
        if run.returncode != 0:
            raise Unmeasurable(f"initdb: {run.stderr.decode(errors='replace').strip()}")

    def start(self) -> None:
        """Start the server and wait until it accepts connections.

        After a kill its children may still have its memory for a moment: then the start is
        repeated.

        Raises:
            Unmeasurable: it does not come up.
        """
        command = [*self._as, _program("postgres"), "-D", str(self._folder / "data")]
        command += ["-k", str(self._folder)]
        command += [word for each in self._settings for word in ("-c", each)]
        log = self._folder / "log"
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            if self._child is None or self._child.code is not None:
                self._child = Child.start(command, name="postgres", output=log, cwd=self._folder)
            try:
                psycopg.connect(self.url(_USER)).close()
            except psycopg.OperationalError:
                time.sleep(_AGAIN_S)
            else:
                return
        said = "\n".join(log.read_text(errors="replace").splitlines()[-_LAST_LINES:])
        raise Unmeasurable(f"postgres does not start: {said}")

    def kill(self) -> None:
        """Kill the server with SIGKILL, without a shutdown."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def pids(self) -> list[int]:
        """Return the server's processes: each connection has one of its own."""
        if self._child is None:
            return []
        own = str(self._child.pid)
        stats = (each.read_text() for each in Path("/proc").glob("[0-9]*/stat") if each.exists())
        told = [stat.rpartition(")") for stat in stats]
        below = [int(head.split()[0]) for head, _, rest in told if rest.split()[1] == own]
        return [self._child.pid, *below]

    def stop(self) -> None:
        """Stop at once, because nobody keeps its data."""
        if self._child is not None:
            if self._child.code is None:
                os.kill(self._child.pid, signal.SIGQUIT)
            self._child.stop()
            self._child = None

    def database(self, encoding: str = "UTF8") -> str:
        """Return the URL of a new, empty database."""
        name = f"ledger{next(self._names)}"
        made = sql.SQL("CREATE DATABASE {} ENCODING {} TEMPLATE template0")
        with psycopg.connect(self.url(_USER), autocommit=True) as connection:
            connection.execute(made.format(sql.Identifier(name), sql.Literal(encoding)))
        return self.url(name)

    def url(self, database: str) -> str:
        """Return the URL of a database here."""
        return f"postgresql://{_USER}@/{database}?host={self._folder}"


def _program(name: str) -> str:
    """Return a server program's path; distributions keep it out of the PATH."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*map(str, places), os.environ["PATH"]]))
    if found is None:
        raise Unmeasurable("PostgreSQL is not installed: apt-get install postgresql")
    return found


@contextmanager
def postgres_cluster(data: Path | None = None, *settings: str) -> Iterator[Postgres]:
    """Run a private server until the block ends.

    Args:
        data: the parent of its folder; None is the temporary folder.
        settings: of the server.

    Raises:
        Unmeasurable: there is no PostgreSQL here, or it does not come up.
    """
    folder = Path(tempfile.mkdtemp(prefix="bac-pg-", dir=data))
    server = Postgres(folder, *settings)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
