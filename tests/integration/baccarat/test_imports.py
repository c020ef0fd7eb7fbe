"""What a command leaves alone: an import takes time at every start, and memory in every service."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.cold_start

LOADED = """
import sys
from baccarat.cli.main import main
assert main(sys.argv[1:]) == 0
print(*{name.partition(".")[0] for name in sys.modules}, *sys.modules)
"""
CONSOLE = ("rich.traceback", "pygments", "attr")  # what structlog would load by itself
DATABASE = ("sqlalchemy", "alembic", "psycopg")
WEB = ("starlette", "uvicorn", "jinja2")
BROKERS = ("aiomqtt", "paho", "nats")
SERVICES = (*CONSOLE, *DATABASE, *WEB, *BROKERS, "asyncio", "structlog", "cryptography", "rich")


@pytest.mark.parametrize(
    ("command", "left_alone"),
    [
        ("cage --help", SERVICES),
        ("settle --help", SERVICES),
        ("rulebook list", SERVICES),
        ("shoe profiles", (*CONSOLE, *DATABASE, *WEB, *BROKERS, "structlog", "cryptography")),
        ("log --help", SERVICES),
        ("log verify --help", (*CONSOLE, *DATABASE, *WEB, *BROKERS, "asyncio", "table_core")),
        ("replay --help", (*CONSOLE, *DATABASE, *BROKERS, "starlette", "uvicorn")),
        ("run --help", (*CONSOLE, *DATABASE, *WEB, "nats", "cryptography", "table_core.decide")),
        ("cage run --help", SERVICES),
        ("cage balance --help", (*CONSOLE, *WEB, *BROKERS, "alembic", "table_core.decide")),
        ("property run --help", (*CONSOLE, *WEB, "alembic", "table_core.decide")),
    ],
)
def test_a_command_loads_no_packages_that_it_does_not_use(
    command: str, left_alone: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *command.split()], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "baccarat.cli.main" in loaded
    assert loaded.isdisjoint(left_alone), loaded.intersection(left_alone)


@pytest.mark.parametrize(
    ("service", "left_alone"),
    [
        ("table", (*CONSOLE, *DATABASE, *WEB, "nats", "rich", "serial")),
        ("shoe", (*CONSOLE, *DATABASE, *WEB, "nats", "rich", "cryptography", "table_core.rules")),
        ("screens", (*CONSOLE, *DATABASE, "nats", "rich", "serial", "table_core.decide")),
        (
            "cage",
            (*CONSOLE, *WEB, "alembic", "psycopg", "nats", "rich", "serial", "table_core.rules"),
        ),
        ("metrics", (*CONSOLE, *DATABASE, *WEB, "nats", "rich", "serial")),
    ],
)
def test_a_service_loads_no_packages_that_it_does_not_use(
    service: str, left_alone: tuple[str, ...]
) -> None:
    code = f"import sys, baccarat.cli.run, baccarat.services.{service}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "asyncio" in loaded
    assert loaded.isdisjoint(left_alone), loaded.intersection(left_alone)
