"""Runs tests against mutants, each in a process of its own.

A worker never imports a room of the product: what it forks does. That process begins with the
third-party packages loaded, and lives for one test file. A change of what runs when a module is
imported is put in its place while everything is imported. Most changes are inside of functions
that nobody has called yet when the tests are collected: there it comes to the same, and costs a
tenth, to collect the tests once and to put the function's new code in its place in one more fork
for each mutant. No file is written.
"""

import gc
import io
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import TemporaryFile
from types import CodeType, FunctionType
from typing import IO, Any, Final, NamedTuple

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from coverage import Coverage

from tests.tools.mutations import Mutant

_HERE: Final = Path(__file__).parents[2]
_OK, _FAILED, _BROKEN = 0, 1, 2  # pytest's own exit codes: passed, a test failed, none could begin
_FAULT = 70
# What tests may take of a processor with a mutant: more by so much, and in times of it.
_LEAST_S: Final = 3
_TIMES: Final = 3
_WHOLE_FILE_S: Final = 1800
# Loading every plugin there is would take a third of the time.
_PYTEST: Final = (
    "-q", "-x", "-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin", "-p", "pytest_timeout",
    "--noconftest", "--no-header", "--tb=no", "--assert=plain",
)  # fmt: skip
_IMPORTING: Final = ""  # coverage's name of what runs before the first test


class Covered(NamedTuple):
    """What a test file runs of the files that are looked at.

    Args:
        file: the test file.
        seconds: of a processor, which it takes.
        tests: the quickest first.
        ran: by file and line, the tests that run it; "" is the import of everything.
    """

    file: str
    seconds: float
    tests: Sequence[str]
    ran: Mapping[str, Mapping[int, Sequence[str]]]

    def those_that_run(self, mutant: Mutant) -> list[str]:
        """The tests that a mutant may touch; all, where it runs while they are collected."""
        run_it = self._tests_on(mutant)
        return [test for test in self.tests if test in run_it or self.at_once(mutant)]

    def at_once(self, mutant: Mutant) -> bool:
        """Whether it matters before the first test, so that all must be imported with it."""
        return not mutant.function or _IMPORTING in self._tests_on(mutant)

    def _tests_on(self, mutant: Mutant) -> set[str]:
        ran = self.ran.get(mutant.path, {})
        return {test for line in mutant.lines for test in ran.get(line, ())}


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


def cover(file: str, targets: Iterable[str]) -> Covered:
    """Run a test file as it is, and see what it runs of the targets.

    Raises:
        RuntimeError: it does not pass.
    """
    seconds, tests, ran = _reported(file, lambda report: _Watch(targets, report))
    lines = {path: {int(line): names for line, names in found.items()} for path, found in ran}
    return Covered(file, seconds, tests, lines)


def try_mutants(mutants: Sequence[Mutant], covered: Iterable[Covered]) -> Iterator[Verdict]:
    """Run what touches each mutant, a test file after the other, until one notices.

    Args:
        mutants: the changes.
        covered: the test files in the order in which they are to be run.

    Raises:
        RuntimeError: pytest could not say whether the tests pass.
    """
    alive = dict.fromkeys(mutants, "untested")
    for known in covered:
        limit = int(_LEAST_S + _TIMES * known.seconds) + 1
        touching = [(each, tests) for each in alive if (tests := known.those_that_run(each))]
        within = [(each, tests) for each, tests in touching if not known.at_once(each)]
        codes = dict.fromkeys((mutant for mutant, _ in touching), _FAULT)
        if within:
            found = _reported(known.file, partial(_Loop, within, limit))
            codes |= zip((mutant for mutant, _ in within), found, strict=True)
        for mutant, tests in touching:
            code = codes[mutant]
            if code == _FAULT:
                code = _forked(partial(_with_mutant, mutant, known.file, tests), limit)
            alive[mutant] = "survived"
            if code != _OK:
                del alive[mutant]
                yield Verdict(mutant, _word(mutant, known, code), known.file)
    for mutant, result in alive.items():
        yield Verdict(mutant, result)


def _word(mutant: Mutant, known: Covered, code: int) -> str:
    if code in (_FAILED, _BROKEN):
        return "killed"
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return "timed out"
    raise RuntimeError(f"{mutant}: {known.file}: exit code {code}")


def _with_mutant(mutant: Mutant, file: str, tests: Sequence[str]) -> int:
    """Run tests in this process, which imports everything with the mutant in its place."""
    path = _HERE / mutant.path
    source = mutant.applied(path.read_bytes())
    code_of, opened = SourceFileLoader.get_code, Path.open

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return _compiled(mutant, source) if loader.path == str(path) else code_of(loader, name)

    def open_(file: Path, mode: str = "r", *args: Any, **named: Any) -> IO[Any]:
        if file.absolute() != path:
            return opened(file, mode, *args, **named)
        return io.BytesIO(source) if "b" in mode else io.StringIO(source.decode())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SourceFileLoader, "get_code", get_code)
        patch.setattr(Path, "open", open_)
        return _pytest(file, _Chosen(tests))


def _compiled(mutant: Mutant, source: bytes) -> CodeType:
    return compile(source, str(_HERE / mutant.path), "exec", dont_inherit=True)


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
    """A plugin of pytest: instead of running the tests once, run some of them for each mutant.

    It reports an exit code for each; `_FAULT` where the function cannot be changed in its place.
    """

    def __init__(
        self, mutants: Sequence[tuple[Mutant, list[str]]], limit: int, report: IO[str]
    ) -> None:
        self._mutants = mutants
        self._limit = limit
        self._report = report
        self._worker = os.getppid()

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
            theirs = functions[str(_HERE / mutant.path)]
            chosen = [items[name] for name in names]
            codes.append(_forked(partial(self._run, mutant, theirs, chosen), self._limit))
        json.dump(codes, self._report)
        return True

    def _run(self, mutant: Mutant, functions: list[FunctionType], items: list[pytest.Item]) -> int:
        whole = _compiled(mutant, mutant.applied((_HERE / mutant.path).read_bytes()))
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
            reports = runtestprotocol(item, log=False, nextitem=following)
            if any(report.failed for report in reports):
                return _FAILED
        return _OK


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class _Watch:
    """A plugin of pytest: reports which lines of the targets run, and in which test."""

    def __init__(self, targets: Iterable[str], report: IO[str]) -> None:
        self._paths = {str(_HERE / path): path for path in targets if path.endswith(".py")}
        self._coverage = Coverage(data_file=None, include=[*self._paths, "none"])
        self._report = report
        self._took: dict[str, float] = {}

    def pytest_configure(self) -> None:
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._coverage.switch_context(item.nodeid)
        begin = time.process_time()
        try:
            return (yield)
        finally:
            self._took[item.nodeid] = time.process_time() - begin

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        found = self._coverage.get_data()
        ran = [(path, found.contexts_by_lineno(full)) for full, path in self._paths.items()]
        tests = sorted(self._took, key=self._took.__getitem__)
        json.dump((time.process_time(), tests, ran), self._report)


# ---- processes ----


def _reported(file: str, plugin: Callable[[IO[str]], object]) -> Any:
    """What a plugin has written while pytest ran a test file.

    Raises:
        RuntimeError: the tests do not pass.
    """
    with TemporaryFile("w+", encoding="utf-8") as report:

        def run() -> int:
            code = _pytest(file, plugin(report))
            report.flush()
            return code

        code = _forked(run, _WHOLE_FILE_S)
        if code != _OK:
            raise RuntimeError(f"{file} does not pass as it is: exit code {code}")
        report.seek(0)
        return json.load(report)


def _forked(work: Callable[[], int], limit: int) -> int:
    """The exit code of `work` in a process forked from this one; killed where it takes too long.

    Args:
        work: what to do there.
        limit: seconds of a processor. What only waits is ended by pytest's own time-out.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = _FAULT
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    try:
        code = work()
    except BaseException:  # noqa: BLE001 - whatever it is, there must be no second parent
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _pytest(file: str, plugin: object) -> int:
    """Pytest on one test file, from a process that has imported nothing of the product."""
    os.chdir(_HERE)
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 1)
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
