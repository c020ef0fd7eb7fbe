"""Rules about who may import whom, and about what a pure module may touch."""

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatch

from tests.house.sources import MAY_IMPORT, Source

# In these rooms a module is pure unless it is named here: whoever adds a shell says so.
PURE_ROOMS = frozenset({"cage", "events", "property", "shoe_driver", "table_core"})
SHELLS = (
    "cage.ledger.database",  # SQLite and PostgreSQL
    "cage.ledger.reading",  # reads a ledger
    "cage.ledger.sql_tables",  # what it is made of, in SQLAlchemy's words
    "cage.ledger.store",  # writes the ledger
    "cage.migrations*",  # the schema's steps
    "cage.reports*",  # read a ledger and sum it up
    "cage.service",  # runs the consumer
    "events.clock",  # where time comes from
    "events.log*",  # the SQLite files of a log
    "events.mqtt.bus",  # MQTT
    "events.mqtt.connection",  # one connection to a broker
    "events.mqtt.process_shell",  # runs a process on asyncio
    "events.proof.keys",  # key files, and where a new key comes from
    "events.proof.message_keys",  # as above
    "events.proof.key_file",  # as above
    "events.file_stamp",  # files, as the disk tells of them
    "events.sql_migrations",  # databases by alembic
    "events.structured_log",  # logging
    "events.tls",  # certificates and keys, as files
    "property.archive.client",  # queries the archive
    "property.archive.database",  # where it is, and its schema
    "property.archive.giving_way",  # PostgreSQL
    "property.archive.readings",  # PostgreSQL
    "property.archive.rounds",  # asks the nodes
    "property.archive.stream_listener",  # listens to what uplinks say and carry
    "property.archive.backup",  # PostgreSQL, and a file
    "property.archive.reader",  # PostgreSQL
    "property.archive.retention",  # PostgreSQL
    "property.archive.rebuild",  # PostgreSQL
    "property.archive.rows",  # PostgreSQL
    "property.archive.partition_consumer",  # reads the hub, and locks what it reads
    "property.archive.store",  # PostgreSQL
    "property.archive.shuffles",  # reads and writes the archive
    "property.archive.stream_reader",  # reads the hub
    "property.archive.worker",  # runs the archive
    "property.board.feed",  # fills the board from the archive
    "property.hub.connection",  # the connection to the hub, and its streams
    "property.migrations*",  # the archive's steps
    "property.background_tasks",  # ends what runs
    "property.uplink.editions",  # reads the folders beside a log
    "property.uplink.hub_client",  # talks to the hub
    "property.uplink.log_reader",  # reads a log
    "property.uplink.service",  # sends logs to the hub
    "property.witness.store",  # the witness's SQLite file
    "property.witness.service",  # listens to the hub
    "shoe_driver.journal.files",  # files of raw bytes
    "shoe_driver.journal.folder",  # the folder of a driver
    "shoe_driver.profiles.catalogue",  # reads profiles from files
    "shoe_driver.service*",  # runs the driver
    "shoe_driver.transports.*_port",  # one kind of port each
    "shoe_driver.transports.endpoint",  # reads URLs
    "shoe_driver.transports.port",  # opens them
    "table_core.rulebooks*",  # reads the shipped rulebooks
    "table_core.service*",  # runs the core
)
# Pure things that live in a shell's module.
PURE_NAMES = frozenset({"events.clock.rfc3339"})

_IMPURE_MODULES = """
    aiomqtt alembic asyncio atexit concurrent ctypes fcntl fileinput ftplib getpass glob http
    importlib io logging mmap multiprocessing nats os paho pathlib pickle platform psycopg pty queue
    random runpy sched secrets select selectors serial shelve shutil signal smtplib socket
    socketserver sqlalchemy sqlite3 ssl structlog subprocess sys tempfile termios threading time tty
    urllib uuid webbrowser
"""
IMPURE_MODULES = frozenset(_IMPURE_MODULES.split())
IMPURE_CALLS = frozenset({"__import__", "breakpoint", "eval", "exec", "input", "open", "print"})
IMPURE_METHODS = frozenset(
    {"now", "open", "read_bytes", "read_text", "today", "utcnow", "write_bytes", "write_text"}
)


def is_pure(source: Source) -> bool:
    return source.room in PURE_ROOMS and not any(fnmatch(source.module, shell) for shell in SHELLS)


def crossed_rooms(source: Source) -> Iterator[str]:
    """Imports against the arrows."""
    allowed = MAY_IMPORT.get(source.room)
    if allowed is None:
        return
    for line, module, _ in source.imports():
        room = module.partition(".")[0]
        if room == "tests" or (room in MAY_IMPORT and room not in allowed | {source.room}):
            yield source.at(line, f"{source.room} must not import {room}")
    if source.room not in {"baccarat", "benchmarks"}:
        for call, name in source.calls():
            if name.endswith(("import_module", "__import__")):
                yield source.at(call, "an import by name hides from this check")


def impurities(source: Source) -> Iterator[str]:
    """I/O, clocks, randomness, logging and waiting in a module that promises none."""
    if not is_pure(source):
        return
    for line, module, _ in source.imports():
        if module.partition(".")[0] in IMPURE_MODULES:
            yield source.at(line, f"a pure module imports {module}")
    for node in source.nodes:
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield source.at(node, "a pure module waits")
        if isinstance(node, ast.Global):
            yield source.at(node, "a pure module keeps state of its own")
    for call, name in source.calls():
        if name in IMPURE_CALLS or ("." in name and name.rpartition(".")[2] in IMPURE_METHODS):
            yield source.at(call, f"a pure module calls {name}()")


def leaning_on_shells(source: Source, tree: Mapping[str, Source]) -> Iterator[str]:
    """A pure module that imports an impure one of ours is not pure either."""
    if not is_pure(source):
        return
    for line, module, name in source.imports():
        for target in (module, f"{module}.{name}"):
            found = tree.get(target)
            if found is None or is_pure(found) or found.is_package:
                continue
            if f"{module}.{name}" not in PURE_NAMES:
                yield source.at(line, f"a pure module imports the shell {target}")


def undeclared(
    source: Source, distributions: Mapping[str, Collection[str]], declared: Collection[str]
) -> Iterator[str]:
    """Imports of packages that pyproject.toml does not name: they break when a lock moves.

    Args:
        source: the file.
        distributions: import name to the distributions that bring it.
        declared: distributions that the file may use, normalised.
    """
    for line, module, _ in source.imports():
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or top in MAY_IMPORT or top == "tests":
            continue
        names = {name.lower().replace("_", "-") for name in distributions.get(top, ())}
        if not names & set(declared):
            yield source.at(line, f"{top} is not among the declared dependencies")
