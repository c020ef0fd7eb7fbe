"""Every small change of a source file that a test should notice: its mutants.

A mutant replaces one stretch of the text, so that what was tried can be read, and typed in by hand.
The changes are those that mutmut and cosmic-ray make (comparisons, arithmetic, booleans, constants,
statements left out, nothing returned), and those that tables of rules need: an entry left out, an
argument by name left out, and each digit of a row of digits taken away or put in.

Left alone: annotations, documentation, what is exported, the words of an exception, and the
keywords of a class.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

__all__ = ["Mutant", "mutants_of"]


class Mutant(NamedTuple):
    """One change of one file.

    Args:
        path: the file, from the root.
        where: the function or class, dotted; empty at the module's own level.
        function: the outermost function around it, dotted; empty where the change is in none.
        line: of the change, from 1; it moves when something is written above it.
        before: the line as it is, stripped.
        after: the line as it becomes; empty where it is left out.
        nth: which of the changes of this file that read the same, from 1.
        start: of the stretch, in bytes.
        end: behind it.
        new: what stands there instead.
    """

    path: str
    where: str
    function: str
    line: int
    before: str
    after: str
    nth: int
    start: int
    end: int
    new: str

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What it is called in the list of survivors: nothing that moves with a line."""
        return self.path, self.where, self.before, self.after, self.nth

    def applied(self, source: bytes) -> bytes:
        """The file with the change in it."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        where = f" {self.where}" if self.where else ""
        count = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.path}:{self.line}{where}: {self.before}  ->  {self.after or '(gone)'}{count}"


class _Change(NamedTuple):
    where: str
    function: str
    start: int
    end: int
    new: str


_COMPARED: Final = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is not": "is",
    "is": "is not",
    "not in": "in",
    "in": "not in",
}
_COMPUTED: Final = {
    "**": "*",
    "//": "*",
    "<<": ">>",
    ">>": "<<",
    "+": "-",
    "-": "+",
    "*": "//",
    "/": "*",
    "%": "//",
    "|": "&",
    "&": "|",
    "^": "&",
}
_JOINED: Final = {"and": "or", "or": "and"}
_CALLED: Final = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "partition": "rpartition",
    "rpartition": "partition",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "startswith": "endswith",
    "endswith": "startswith",
}
_NAMED: Final = (ast.Name, ast.Attribute)
_PLAIN: Final = (*_NAMED, ast.Call)
_COLLECTIONS: Final = (ast.Tuple, ast.List, ast.Set)
_FEW_DIGITS: Final = re.compile(r"\d{1,10}\Z")


def mutants_of(path: str, source: bytes) -> list[Mutant]:
    """All of them, in the order in which they stand; the same for the same text."""
    changes = _in_toml(source) if path.endswith(".toml") else _Finder(source).found()
    seen: Counter[tuple[str, str, str]] = Counter()
    mutants = []
    for where, function, start, end, new in changes:
        mutated = source[:start] + new.encode() + source[end:]
        if mutated == source or not (path.endswith(".toml") or _compiles(mutated)):
            continue
        before, after = _shown(source, start, end, new)
        seen[where, before, after] += 1
        line = source.count(b"\n", 0, start) + 1
        nth = seen[where, before, after]
        mutants.append(Mutant(path, where, function, line, before, after, nth, start, end, new))
    return mutants


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def _shown(source: bytes, start: int, end: int, new: str) -> tuple[str, str]:
    """The first line that is touched, as it is and as it becomes."""
    begin = source.rfind(b"\n", 0, start) + 1
    head = source[begin:start].decode()
    before = source[begin:].partition(b"\n")[0].decode()
    tail = source[end:].partition(b"\n")[0].decode()
    return before.strip(), f"{head}{new}{tail}".partition("\n")[0].strip()


_TOML_LINE: Final = re.compile(rb"^(?:\[+(.+?)\]+|([\w.]+) = (.+))$", re.MULTILINE)
_TOML_TOLD: Final = re.compile(r"sign|title|lines|game")
_TOML_WORD: Final = re.compile(rb"\b(true|false|up|down|nearest|\d+)\b")
_TOML_OTHER: Final = {"true": "false", "false": "true", "up": "down", "down": "up", "nearest": "up"}


def _in_toml(source: bytes) -> Iterator[_Change]:
    """Each setting left out, each number one more, each switch the other way; not what is told."""
    section = ""
    for match in _TOML_LINE.finditer(source):
        if match[1]:
            section = match[1].decode()
            continue
        if _TOML_TOLD.search(f"{section} {match[2].decode()}"):
            continue
        yield _Change(section, "", match.start(), match.end(), "")
        for word in _TOML_WORD.finditer(source, match.start(3), match.end(3)):
            text = word[1].decode()
            yield _Change(section, "", *word.span(), _TOML_OTHER.get(text) or str(int(text) + 1))


class _Finder(ast.NodeVisitor):
    """Walks one module. It is used once."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._changes: list[_Change] = []
        self._scope: list[str] = []
        self._function = ""
        lines = source.splitlines(keepends=True)
        self._begin = [0]
        for line in lines:
            self._begin.append(self._begin[-1] + len(line))

    def found(self) -> list[_Change]:
        self.visit(ast.parse(self._source))
        return sorted(self._changes, key=lambda change: change[2:])

    # ---- where things stand ----

    def _start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._begin[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._begin[node.end_lineno - 1] + node.end_col_offset

    def _put(self, start: int, end: int, new: str) -> None:
        where = ".".join(self._scope)
        self._changes.append(_Change(where, self._function, start, end, new))

    def _replace(self, node: ast.expr | ast.stmt, new: str) -> None:
        self._put(self._start(node), self._end(node), new)

    def _negate(self, node: ast.expr) -> None:
        if isinstance(node, _PLAIN):
            self._put(self._start(node), self._start(node), "not ")

    def _between(self, left: ast.expr, right: ast.expr, others: dict[str, str]) -> None:
        """Replace the operator between two operands."""
        start, end = self._end(left), self._start(right)
        text = self._source[start:end].decode()
        for operator in sorted(others, key=len, reverse=True):
            at = text.find(operator)
            if at >= 0:
                self._put(start + at, start + at + len(operator), others[operator])
                return

    def _leave_out(self, begins: Sequence[int], whole: ast.expr) -> None:
        """Leave out each of the last parts of a whole, with the comma behind it."""
        close = self._end(whole) - 1
        if self._source[close : close + 1] in (b")", b"]", b"}"):
            for begin, end in pairwise([*begins, close]):
                self._put(begin, end, "")

    # ---- what is left alone ----

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        outermost = not self._function
        if outermost:
            self._function = ".".join([*self._scope, node.name])
        self._inside(node.name, node.body)
        if outermost:
            self._function = ""

    def _inside(self, name: str, body: list[ast.stmt]) -> None:
        self._scope.append(name)
        for statement in body:
            self.visit(statement)
        self._scope.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if ast.unparse(node.value) not in ("Literal", "Mapping", "Callable", "dict", "type"):
            self.generic_visit(node)

    # ---- statements ----

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id == "__all__":
            return
        if isinstance(target, ast.Attribute | ast.Subscript):
            self._replace(node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, "pass")
        self._between(node.target, node.value, _COMPUTED)
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._replace(node, "pass")
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self._replace(node, "pass")
        elif not isinstance(node.value, ast.Constant):
            self._replace(node.value, "None")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue")

    def visit_If(self, node: ast.If) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    # ---- expressions ----

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in pairwise(node.values):
            self._between(left, right, _JOINED)
        for value in node.values:
            self._negate(value)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right in pairwise([node.left, *node.comparators]):
            self._between(left, right, _COMPARED)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._between(node.left, node.right, _COMPUTED)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self._put(self._start(node), self._start(node.operand), "")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if name in ("TypeVar", "cast"):
            return
        if name in _CALLED:
            end = self._end(node.func)
            self._put(end - len(name), end, _CALLED[name])
        self._leave_out([self._start(argument) for argument in node.keywords], node)
        self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._replace(node.body, "None")
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        begins = [
            self._start(key) if key else self._start(value) - len("**")
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        self._leave_out(begins, node)
        values = {ast.unparse(value) for value in node.values if isinstance(value, _NAMED)}
        for key, value in zip(node.keys, node.values, strict=True):
            others = sorted(values - {ast.unparse(value)})
            if key and others and isinstance(value, _NAMED):
                self._replace(value, others[len(begins) % len(others)])
        for key in node.keys:  # half a key is none: what a pair of keys has in it stays a pair
            for part in key.elts if isinstance(key, ast.Tuple) else (key,):
                if part:
                    self.visit(part)
        for value in node.values:
            self.visit(value)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, _COLLECTIONS) and not isinstance(getattr(node, "ctx", None), ast.Store):
            self._leave_out([self._start(part) for part in node.elts], node)
        super().generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._replace(node, '"a mutant"')

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace(node, str(not value))
        elif isinstance(value, int):
            self._replace(node, str(value + 1))
        elif isinstance(value, str) and _FEW_DIGITS.match(value):
            for digit in "0123456789":
                less = value.replace(digit, "")
                self._replace(node, f'"{value + digit if less == value else less}"')
        elif isinstance(value, str):
            self._replace(node, repr(f"{value} mutant"))
        elif isinstance(value, bytes):
            self._replace(node, repr(value + b"\xaa"))
