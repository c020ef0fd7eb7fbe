"""Fixtures that several suites use."""

import asyncio
import gc
import os
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import structlog

from benchmarks.instruments.postgres import Postgres, postgres_cluster
from tests.support.brokers.brokers import BROKERS, Broker, running
from tests.support.machine.warm_starts import cold_starts, no_starts, warm_starts
from tests.support.property.nats_hub import Hub, made_streams, running_hub
from tests.tools.late.lateness import SEED

# For formats that no schema here names, jsonschema would build 39 grammars, in more than a second.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # so it is not imported

_UNIT: Final = Path(__file__).with_name("unit")
# Files that take more than half a minute, the longest first. A file's tests run in one worker, and
# these are to be under way while the others are run.
_LONG: Final = (
    *("test_kill", "test_install", "test_cage_service", "test_faults", "test_entry"),
    *("test_bench", "test_dealer_page", "test_geometry", "test_cage_reports", "test_archive"),
    *("test_pit_page", "test_scoreboard", "test_kept", "test_replay_page", "test_style"),
    *("test_integrator_examples", "test_fed_pages", "test_upgrade", "test_driver_link"),
    *("test_hostile_screens", "test_editions", "test_shoe_decode", "test_house_rules"),
    *("test_world", "test_storage", "test_cage_command", "test_demo", "test_doctor"),
    *("test_console_access", "test_imports", "test_displays_return", "test_screens_speak"),
)
# These are about the bus itself, or take turns by themselves.
_ON_BOTH: Final = {"events", "kill", "test_session_falls.py", "test_world_bus.py"}
# Of databases that nobody keeps: no forced writes, and no cleaning beside the tests.
_FLEETING: Final = ("fsync=off", "full_page_writes=off", "autovacuum=off")
# In memory, where there is enough, the 300 files of a new database take half of the work.
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - it is the kernel's, and a folder of our own is made
_ENOUGH: Final = 8 << 30
_UMASK: Final = os.umask(0o022)
os.umask(_UMASK)
_RANKS: Final = {name: rank for rank, name in enumerate(_LONG)}


def pytest_configure(config: pytest.Config) -> None:
    """What a shell's `&` makes deaf to Ctrl-C is not the services that the tests start."""
    gc.disable()  # until all is collected: what is loaded stays, and half of that time was garbage
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Of pytest-xdist: begin with the files that come first here, not with those of the most tests.
    config.option.loadscopereorder = False
    # A thousand children would compile the product, each for itself, in 0.15 s; and each run all
    # tests anew, in 8 s.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # How a command sets up this process's logs, no logger may keep.
    structlog.configure = partial(_configure_uncached, structlog.configure)
    if SEED not in os.environ:  # `make late` has each process patch itself when it starts
        stack = ExitStack()
        stack.enter_context(warm_starts())
        config.add_cleanup(stack.close)


def pytest_collection_finish() -> None:
    """Look for garbage again, but never in what was loaded and collected."""
    gc.freeze()
    gc.enable()


def _configure_uncached(configure: Callable[..., None], **settings: Any) -> None:
    configure(**settings | {"cache_logger_on_first_use": False})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Start children as a test's marks and folder say; those of its fixtures, too.

    How the test's commands set up the process's logs and umask is taken back.
    """
    with ExitStack() as stack:
        stack.callback(os.umask, _UMASK)
        stack.callback(structlog.configure, **structlog.get_config())
        if item.get_closest_marker("cold_start"):
            stack.enter_context(cold_starts())
        if _UNIT in item.path.parents and not item.get_closest_marker("process"):
            stack.enter_context(no_starts())
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes an hour or a minute begins first, or it is waited for last.

    Outside `_ON_BOTH` the brokers take turns: a file's first test has the one here and the other
    in a soak, and its next test the other way round. What has one broker only keeps it.
    """
    tests: dict[Path, dict[str, dict[str, pytest.Item]]] = defaultdict(dict)
    for item in items:
        if isinstance(item, pytest.Function) and not _ON_BOTH.intersection(item.path.parts):
            kind = item.callspec.params.get("broker") if hasattr(item, "callspec") else None
            if kind is not None:
                test = item.nodeid.replace(str(kind), "")
                tests[item.path].setdefault(test, {})[str(kind)] = item
    for of_file in tests.values():
        for turn, by_broker in enumerate(of_file.values()):
            here = sorted(BROKERS)[turn % len(BROKERS)]
            for kind, item in by_broker.items():
                if kind != here and here in by_broker:
                    item.add_marker(pytest.mark.soak)
    items.sort(key=lambda item: (not _goes_first(item), _RANKS.get(item.path.stem, len(_LONG))))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a soak is run for: the figures of its tests, wherever they ran."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, told in report.user_properties:
            if name == "figures":
                terminalreporter.write_line(f"{report.nodeid}: {told}")


def _goes_first(item: pytest.Item) -> bool:
    soak = item.get_closest_marker("soak")
    return soak is not None and bool(soak.kwargs.get("first"))


@pytest.fixture(params=sorted(BROKERS))
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    """Each of the brokers; `pytest_collection_modifyitems` says which of them only in a soak."""
    with running(request.param, tmp_path / "broker") as started:
        yield started


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[Broker]:
    """The embedded one, for what does not depend on the broker."""
    with running("nats", tmp_path / "broker") as started:
        yield started


def _for_databases() -> Path | None:
    """Where databases are kept; None is the temporary folder."""
    enough = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH
    return _MEMORY if enough else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests that want one: it takes three seconds to make."""
    with postgres_cluster(_for_databases(), *_FLEETING) as server:
        yield server


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """One to be killed: coming back, it forces every database of all tests to the disk first."""
    with postgres_cluster(_for_databases(), *_FLEETING) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be kept, each in turn: a file, or a database of its own."""
    if request.param == "sqlite":
        return str(tmp_path / "cage.sqlite")
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()


@pytest.fixture(params=["mosquitto+postgres", "nats+sqlite"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Broker, str]]:
    """Each broker and each database once: where the one does not touch the other."""
    kind, _, database = request.param.partition("+")
    url = str(tmp_path / "cage.sqlite")
    if database == "postgres":
        url = request.getfixturevalue("postgres").database()
    with running(kind, tmp_path / "broker") as broker:
        yield broker, url


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """A property's hub of three nodes, with its streams, and logins for three tables."""
    with running_hub(tmp_path / "hub", ["harbour/b7", "harbour/b8", "site/t1"]) as started:
        asyncio.run(made_streams(started))
        yield started


@pytest.fixture(scope="module")
def hub_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The same without streams, for all tests of a file."""
    folder = tmp_path_factory.mktemp("hub")
    with running_hub(folder, ["harbour/b7", "harbour/b8", "site/t1"]) as started:
        yield started


@pytest.fixture
def fresh_hub(hub_nodes: Hub) -> Hub:
    """That one with new streams: for tests that leave its nodes running."""
    asyncio.run(made_streams(hub_nodes, anew=True))
    return hub_nodes
