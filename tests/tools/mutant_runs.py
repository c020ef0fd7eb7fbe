"""Runs tests against mutants, in a copy of the tree, and in a process of its own for each.

A worker never imports a room of the tree: what it forks does. That process begins with the
third-party packages loaded, and lives for one test file. A change of what runs when a module is
imported is written into the copy, so that everything is imported with it. Most changes are inside
of functions that nobody has called yet when the tests are collected: there it comes to the same,
and costs a tenth, to collect the tests once and to put the function's new code in its place in one
more fork for each mutant.
"""

import gc
import json
import math
import os
import resource
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, NamedTuple

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from tests.tools.mutations import Mutant

__all__ = ["Covered", "Verdict", "cover", "try_mutants"]

_OK, _FAILED, _BROKEN = 0, 1, 2  # pytest's own exit codes: passed, a test failed, none could begin
_FAULT = 70
# What tests may take of a processor with a mutant: more by so much, and in times of it.
_LEAST_S: Final = 3
_TIMES: Final = 3
_WAITING: Final = 50  # ... and in all, on a busy machine, in times of that
_WHOLE_FILE_S: Final = 1800.0
_ROOMS: Final = frozenset(
    {
        "baccarat", "benchmarks", "cage", "displays", "events", "property", "shoe_driver",
        "simulators", "table_core", "tests",
    }
)  # fmt: skip
# Loading every plugin there is would take a third of the time.
_PYTEST: Final = (
    "-q", "-x", "-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin", "-p", "pytest_timeout",
    "--noconftest", "--no-header", "--tb=no", "--assert=plain",
)  # fmt: skip

Lines = dict[str, list[int]]


class Covered(NamedTuple):
    """What a test file runs of the files that are looked at.

    Args:
        file: the test file.
        seconds: of a processor, which it takes.
        collecting: lines of each file that run before its first test.
        tests: by test, the lines of each file that run in it; the quickest first.
    """

    file: str
    seconds: float
    collecting: Lines
    tests: Mapping[str, Lines]

    def those_that_run(self, mutant: Mutant, lines: range) -> list[str]:
        """The tests that a change on these lines may touch; all, where it runs while collecting."""
        if self.at_once(mutant, lines):
            return list(self.tests)
        return [name for name, ran in self.tests.items() if _any_of(ran, mutant.path, lines)]

    def at_once(self, mutant: Mutant, lines: range) -> bool:
        """Whether it matters before the first test, so that all must be imported with it."""
        return not mutant.function or _any_of(self.collecting, mutant.path, lines)


class Verdict(NamedTuple):
    """What became of a mutant.

    Args:
        mutant: the change.
        result: `killed`, `timed out`, `survived` or `untested`.
        by: the test file that killed it.
    """

    mutant: Mutant
    result: str
    by: str = ""

    @property
    def killed(self) -> bool:
        """Whether it was noticed; for ever is not in time."""
        return self.result in ("killed", "timed out")


def _any_of(ran: Mapping[str, list[int]], path: str, lines: range) -> bool:
    return not set(lines).isdisjoint(ran.get(path, ()))


def cover(tree: Path, file: str, targets: Iterable[str]) -> Covered:
    """Run a test file as it is, and see what it runs of the targets.

    Raises:
        RuntimeError: it does not pass.
    """
    told = tree / "covered.json"
    code = _forked(lambda: _pytest(tree, file, _Tracer(tree, targets, told)), _WHOLE_FILE_S)
    if code != _OK:
        said = (tree / "output.txt").read_text()[-1000:]
        raise RuntimeError(f"{file} does not pass on the tree as it is: exit code {code}: {said}")
    found = json.loads(told.read_text())
    return Covered(file, found["seconds"], found["collecting"], found["tests"])


def try_mutants(
    tree: Path, mutants: Sequence[Mutant], covered: Iterable[Covered]
) -> Iterator[Verdict]:
    """Run what touches each mutant, a test file after the other, until one notices.

    Args:
        tree: a copy of the tree.
        mutants: the changes.
        covered: the test files in the order in which they are to be run.

    Raises:
        RuntimeError: pytest could not say whether the tests pass.
    """
    alive = dict.fromkeys(mutants, "untested")
    lines = {mutant: _lines(tree, mutant) for mutant in mutants}
    for known in covered:
        codes: dict[Mutant, int] = {}
        within: list[tuple[Mutant, list[str]]] = []
        for mutant in alive:
            tests = known.those_that_run(mutant, lines[mutant])
            if tests and known.at_once(mutant, lines[mutant]):
                codes[mutant] = _try_at_once(tree, mutant, known, tests)
            elif tests:
                within.append((mutant, tests))
        for (mutant, tests), code in zip(within, _try_within(tree, known, within), strict=True):
            codes[mutant] = code if code != _FAULT else _try_at_once(tree, mutant, known, tests)
        for mutant, code in codes.items():
            alive[mutant] = "survived"
            if code != _OK:
                del alive[mutant]
                yield Verdict(mutant, _word(mutant, known, code), known.file)
    for mutant, result in alive.items():
        yield Verdict(mutant, result)


def _lines(tree: Path, mutant: Mutant) -> range:
    source = (tree / mutant.path).read_bytes()
    return range(mutant.line, mutant.line + source[mutant.start : mutant.end].count(b"\n") + 1)


def _word(mutant: Mutant, known: Covered, code: int) -> str:
    if code in (_FAILED, _BROKEN):
        return "killed"
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return "timed out"
    raise RuntimeError(f"{mutant}: {known.file}: exit code {code}")


def _try_at_once(tree: Path, mutant: Mutant, known: Covered, tests: list[str]) -> int:
    """With the mutant in its place in the copy, and out again."""
    file = tree / mutant.path
    source = file.read_bytes()
    try:
        _forget_compiled(file)
        file.write_bytes(mutant.applied(source))
        limit = _LEAST_S + _TIMES * known.seconds
        return _forked(lambda: _pytest(tree, known.file, _Chosen(tests)), limit)
    finally:
        file.write_bytes(source)
        _forget_compiled(file)


def _forget_compiled(file: Path) -> None:
    """A file that is changed twice in a second may look as it did: nothing compiled may stay."""
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        compiled.unlink()


def _try_within(
    tree: Path, known: Covered, mutants: Sequence[tuple[Mutant, list[str]]]
) -> list[int]:
    """With the tests collected once; `_FAULT` where the function cannot be changed in its place."""
    if not mutants:
        return []
    told = tree / "codes.json"
    told.unlink(missing_ok=True)
    limit = _LEAST_S + _TIMES * known.seconds
    loop = _Loop(tree, mutants, limit, told)
    code = _forked(lambda: _pytest(tree, known.file, loop), _WHOLE_FILE_S)
    if code != _OK:
        said = (tree / "output.txt").read_text()[-1000:]
        raise RuntimeError(f"{known.file}: exit code {code}: {said}")
    codes: list[int] = json.loads(told.read_text())
    return codes


# ---- what pytest is told ----


class _Chosen:
    """A plugin of pytest: these tests and no others, in this order."""

    def __init__(self, chosen: Sequence[str]) -> None:
        self._rank = {name: rank for rank, name in enumerate(chosen)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self._rank]
        items[:] = sorted(chosen, key=lambda item: self._rank[item.nodeid])

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        os._exit(int(exitstatus))  # all is known; what is tidied up after it would take as long


class _Loop:
    """A plugin of pytest: instead of running the tests once, run some of them for each mutant."""

    def __init__(
        self, tree: Path, mutants: Sequence[tuple[Mutant, list[str]]], limit: float, told: Path
    ) -> None:
        self._tree = tree
        self._mutants = mutants
        self._limit = limit
        self._told = told
        self._worker = os.getpid()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions: dict[str, list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                functions[each.__code__.co_filename].append(each)
        gc.freeze()
        codes = []
        for mutant, names in self._mutants:
            if os.getppid() != self._worker:
                os._exit(_FAULT)  # the time is over, and the worker gone
            theirs = functions[str(self._tree / mutant.path)]
            chosen = [items[name] for name in names]
            codes.append(_forked(partial(self._run, mutant, theirs, chosen), self._limit))
        self._told.write_text(json.dumps(codes))
        return True

    def _run(self, mutant: Mutant, functions: list[FunctionType], items: list[pytest.Item]) -> int:
        path = self._tree / mutant.path
        whole = compile(mutant.applied(path.read_bytes()), str(path), "exec", dont_inherit=True)
        new = {code.co_qualname: code for code in _codes(whole)}
        replaced = 0
        for function in functions:
            name = function.__code__.co_qualname
            if name == mutant.function or name.startswith(f"{mutant.function}.<locals>"):
                function.__code__ = new[name]
                replaced += 1
        if not replaced:
            return _FAULT
        for item, following in zip(items, [*items[1:], None], strict=True):
            if any(
                report.failed for report in runtestprotocol(item, log=False, nextitem=following)
            ):
                return _FAILED
        return _OK


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class _Tracer:
    """A plugin of pytest: which lines of the targets run, and in which test."""

    def __init__(self, tree: Path, targets: Iterable[str], told: Path) -> None:
        self._paths = {str(tree / path): path for path in targets if path.endswith(".py")}
        self._told = told
        self._ran: dict[str, dict[str, set[int]]] = {"": defaultdict(set)}
        self._now = self._ran[""]
        self._took = {"": 0.0}

    def pytest_configure(self) -> None:
        sys.settrace(self._call)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._now = self._ran[item.nodeid] = defaultdict(set)
        sys.settrace(self._call)
        begin = time.process_time()
        try:
            return (yield)
        finally:
            self._took[item.nodeid] = time.process_time() - begin

    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        ran = {
            test: {path: sorted(numbers) for path, numbers in self._ran[test].items()}
            for test in sorted(self._ran, key=self._took.__getitem__)
        }
        told = {"seconds": time.process_time(), "collecting": ran.pop(""), "tests": ran}
        self._told.write_text(json.dumps(told))

    def _call(self, frame: FrameType, _event: str, _argument: object) -> Any:
        path = self._paths.get(frame.f_code.co_filename)
        if path is None:
            return None
        self._now[path].add(frame.f_lineno)
        return self._line

    def _line(self, frame: FrameType, _event: str, _argument: object) -> Any:
        self._now[self._paths[frame.f_code.co_filename]].add(frame.f_lineno)
        return self._line


# ---- processes ----


def _forked(work: Callable[[], int], limit: float) -> int:
    """The exit code of `work` in a process forked from this one; killed where it takes too long.

    Args:
        work: what to do there.
        limit: seconds of a processor.
    """
    child = os.fork()
    if child == 0:
        code = _FAULT
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
        try:
            code = work()
        except BaseException:  # noqa: BLE001 - whatever it is, there must be no second parent
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + limit * _WAITING
    wait = 0.0005
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(wait)
        wait = min(wait * 1.5, 0.05)


def _pytest(tree: Path, file: str, plugin: object) -> int:
    """Pytest on one test file of the copy, from a process that has imported nothing of it."""
    os.chdir(tree)
    output = os.open(tree / "output.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    for name in list(sys.modules):
        if name.partition(".")[0] in _ROOMS:
            del sys.modules[name]
    here = str(Path(__file__).parents[2])
    sys.path[:] = [str(tree), *(p for p in sys.path if p not in ("", here, str(tree)))]
    sys.dont_write_bytecode = not isinstance(plugin, _Tracer)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    hypothesis.settings.register_profile(
        "mutants",
        database=None,
        derandomize=True,
        deadline=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    hypothesis.settings.load_profile("mutants")
    gc.freeze()  # pytest collects garbage several times, and there is none in what was loaded
    return int(pytest.main([*_PYTEST, file], plugins=[plugin]))
