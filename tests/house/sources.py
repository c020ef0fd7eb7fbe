"""The tree as the house rules see it: every file that is ours, parsed once."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Each room, and which others it may import. `tests` may import all; nobody imports `tests`.
EVERY_ROOM = frozenset(
    {"events", "shoe_driver", "table_core", "displays", "cage", "property", "simulators"}
)
MAY_IMPORT: dict[str, frozenset[str]] = {
    "events": frozenset(),
    "shoe_driver": frozenset({"events"}),
    "table_core": frozenset({"events"}),
    "displays": frozenset({"events"}),
    "cage": frozenset({"events"}),
    "property": frozenset({"events"}),
    "simulators": EVERY_ROOM,
    "benchmarks": EVERY_ROOM | {"baccarat"},
    "baccarat": EVERY_ROOM,
}


@dataclass(frozen=True)
class Source:
    """One Python file: its path below the root, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The tree, which stays: to look for garbage in all of them takes 4 s."""
        gc.disable()
        tree = ast.parse(self.text, filename=self.path)
        gc.freeze()
        gc.enable()
        return tree

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, which a hundred rules look through."""
        return tuple(ast.walk(self.tree))

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def room(self) -> str:
        return self.path.partition("/")[0]

    @property
    def is_product(self) -> bool:
        return self.room in MAY_IMPORT and self.room != "benchmarks"

    def at(self, node: ast.AST | int, complaint: str) -> str:
        """`path:line: complaint`, which editors can follow."""
        line = node if isinstance(node, int) else getattr(node, "lineno", 1)
        return f"{self.path}:{line}: {complaint}"

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """Every call with the dotted name it is made by (`datetime.now`, `open`)."""
        for node in self.nodes:
            if isinstance(node, ast.Call):
                yield node, dotted(node.func)

    def strings(self) -> Iterator[str]:
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value

    def imports(self) -> tuple[tuple[int, str, str], ...]:
        """(line, module, name) of every import, relative ones resolved; `import x` has no name."""
        return self._imported

    @cached_property
    def _imported(self) -> tuple[tuple[int, str, str], ...]:
        return tuple(self._imports())

    def _imports(self) -> Iterator[tuple[int, str, str]]:
        package = self.module.split(".") if self.is_package else self.module.split(".")[:-1]
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*base, *([node.module] if node.module else [])])
                yield from ((node.lineno, module, alias.name) for alias in node.names)


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a chain of attributes; `?.c` where it begins with something else than a name."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


@cache
def our_files() -> tuple[str, ...]:
    """Every file that is or may be committed, as .gitignore has it, sorted."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().split()]

    def walk(folder: Path) -> Iterator[str]:
        for entry in sorted(folder.iterdir()):
            if entry.name == ".git" or any(fnmatch(entry.name, pattern) for pattern in ignored):
                continue
            if entry.is_dir():
                yield from walk(entry)
            else:
                yield entry.relative_to(ROOT).as_posix()

    return tuple(walk(ROOT))


@cache
def sources() -> tuple[Source, ...]:
    """Every Python file of ours."""
    return tuple(
        Source(path, (ROOT / path).read_text(encoding="utf-8"))
        for path in our_files()
        if path.endswith(".py")
    )


@cache
def texts() -> dict[str, str]:
    """Every text file of ours by path; what is not UTF-8 is no text."""
    found: dict[str, str] = {}
    for path in our_files():
        try:
            found[path] = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found
