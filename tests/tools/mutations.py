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
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from string import digits
from typing import Any, Final, NamedTuple


class Mutant(NamedTuple):
    """One change of one file.

    Args:
        path: the file, from the root.
        where: the function or class, dotted; empty at the module's own level.
        function: the outermost function around it, dotted; empty where the change is in none.
        line: of the change, from 1; it moves when something is written above it.
        last: line of it.
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
    last: int
    before: str
    after: str
    nth: int
    start: int
    end: int
    new: str

    @property
    def lines(self) -> range:
        """The lines it touches."""
        return range(self.line, self.last + 1)

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


# The longer operator first: it may have a shorter one in it.
_COMPARED: Final = {
    "is not": "is", "not in": "in", "<=": "<", ">=": ">", "==": "!=", "!=": "==", "is": "is not",
    "in": "not in", "<": "<=", ">": ">=",
}  # fmt: skip
_COMPUTED: Final = {
    "**": "*", "//": "*", "<<": ">>", ">>": "<<", "+": "-", "-": "+", "*": "//", "/": "*",
    "%": "//", "|": "&", "&": "|", "^": "&",
}  # fmt: skip
_JOINED: Final = {"and": "or", "or": "and"}
_SWAPPED: Final = (
    ("min", "max"), ("any", "all"), ("partition", "rpartition"), ("lstrip", "rstrip"),
    ("startswith", "endswith"),
)  # fmt: skip
_CALLED: Final = dict(_SWAPPED) | {new: old for old, new in _SWAPPED}
_FORMS: Final = {"Literal", "Mapping", "Callable", "dict", "type"}
_FEW_DIGITS: Final = re.compile(r"\d{1,10}\Z")


def mutants_of(path: str, source: bytes) -> list[Mutant]:
    """All of them, in the order in which they stand; the same for the same text."""
    changes = _in_toml(source) if path.endswith(".toml") else _in_python(source)
    seen: Counter[tuple[str, str, str]] = Counter()
    mutants = []
    for where, function, start, end, new in changes:
        mutated = source[:start] + new.encode() + source[end:]
        if mutated == source or not (path.endswith(".toml") or _compiles(mutated)):
            continue
        before, after = _shown(source, start, end, new)
        seen[where, before, after] += 1
        line, last = (source.count(b"\n", 0, at) + 1 for at in (start, end))
        nth = seen[where, before, after]
        mutants.append(
            Mutant(path, where, function, line, last, before, after, nth, start, end, new)
        )
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


def _in_python(source: bytes) -> list[_Change]:
    return sorted(_Finder(source).walk(ast.parse(source)), key=lambda change: change[2:])


_Stretch = tuple[int, int, str]


class _Finder:
    """Finds the changes of one module, as they come on the way through its tree."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._begin = [0, *accumulate(map(len, source.splitlines(keepends=True)))]

    def walk(
        self, node: ast.AST, scope: tuple[str, ...] = (), function: str = ""
    ) -> Iterator[_Change]:
        for stretch in self._changes(node):
            yield _Change(".".join(scope), function, *stretch)
        if isinstance(node, ast.FunctionDef):
            for default in filter(None, (*node.args.defaults, *node.args.kw_defaults)):
                yield from self.walk(default, scope, function)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            scope = (*scope, node.name)
        if isinstance(node, ast.FunctionDef):
            function = function or ".".join(scope)
        for part in _parts(node):
            yield from self.walk(part, scope, function)

    def _changes(  # noqa: C901, PLR0912 - a table with a row for each kind of node
        self, node: ast.AST
    ) -> Iterator[_Stretch]:
        match node:
            case (
                ast.Raise()
                | ast.Return(value=None)
                | ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_])
            ):
                yield self._replaced(node, "pass")
            case ast.AugAssign(target=target, value=value):
                yield self._replaced(node, "pass")
                yield from self._between([target, value], _COMPUTED)
            case ast.Expr(value=value) if not isinstance(value, ast.Constant):
                yield self._replaced(node, "pass")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._replaced(value, "None")
            case ast.Lambda(body=body):
                yield self._replaced(body, "None")
            case ast.Continue():
                yield self._replaced(node, "break")
            case ast.Break():
                yield self._replaced(node, "continue")
            case ast.If(test=test) | ast.IfExp(test=test):
                yield from self._negated([test])
            case ast.comprehension(ifs=tests):
                yield from self._negated(tests)
            case ast.BoolOp(values=values):
                yield from self._between(values, _JOINED)
                yield from self._negated(values)
            case ast.Compare(left=left, comparators=others):
                yield from self._between([left, *others], _COMPARED)
            case ast.BinOp(left=left, right=right):
                yield from self._between([left, right], _COMPUTED)
            case ast.UnaryOp(operand=operand):
                yield self._start(node), self._start(operand), ""
            case ast.Call(func=function, keywords=keywords) if not _is_of_types(node):
                name, end = _last_name(function), self._end(function)
                if name in _CALLED:
                    yield end - len(name), end, _CALLED[name]
                yield from self._left_out([self._start(each) for each in keywords], node)
            case ast.Dict():
                yield from self._dictionary(node)
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                if not isinstance(getattr(node, "ctx", None), ast.Store):
                    yield from self._left_out([self._start(each) for each in elts], node)
            case ast.JoinedStr():
                yield self._replaced(node, '"a mutant"')
            case ast.Constant(value=value):
                for other in _other_values(value):
                    yield self._replaced(node, other)

    def _start(self, node: Any) -> int:
        at: int = self._begin[node.lineno - 1] + node.col_offset
        return at

    def _end(self, node: Any) -> int:
        at: int = self._begin[node.end_lineno - 1] + node.end_col_offset
        return at

    def _replaced(self, node: ast.AST, new: str) -> _Stretch:
        return self._start(node), self._end(node), new

    def _negated(self, nodes: Sequence[ast.expr]) -> Iterator[_Stretch]:
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute | ast.Call):
                yield self._start(node), self._start(node), "not "

    def _between(self, operands: Sequence[ast.expr], others: dict[str, str]) -> Iterator[_Stretch]:
        """Replace the operator between each two operands."""
        for left, right in pairwise(operands):
            start = self._end(left)
            text = self._source[start : self._start(right)].decode()
            operator = next(operator for operator in others if operator in text)
            at = start + text.index(operator)
            yield at, at + len(operator), others[operator]

    def _left_out(self, begins: Sequence[int], whole: ast.expr) -> Iterator[_Stretch]:
        """Leave out each of the last parts of a whole, with the comma behind it."""
        close = self._end(whole) - 1
        if self._source[close : close + 1] in (b")", b"]", b"}"):
            for begin, end in pairwise([*begins, close]):
                yield begin, end, ""

    def _dictionary(self, node: ast.Dict) -> Iterator[_Stretch]:
        """Leave out each entry, and put another's value in the place of each that is a name."""
        entries = list(zip(node.keys, node.values, strict=True))
        begins = [self._start(key) if key else self._start(value) - 2 for key, value in entries]
        yield from self._left_out(begins, node)
        named = {ast.unparse(value) for value in node.values if _is_name(value)}
        for key, value in entries:
            others = sorted(named - {ast.unparse(value)})
            if key and others and _is_name(value):
                yield self._replaced(value, others[len(begins) % len(others)])


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    """What is looked at inside of a node; the rest is left alone."""
    match node:
        case ast.FunctionDef(body=body) | ast.ClassDef(body=body):
            return body
        case ast.AnnAssign(value=value) | ast.AugAssign(value=value):
            return [value] if value else []
        case ast.Dict(keys=keys, values=values):  # half a key is none: a pair stays a pair
            parts = [key.elts if isinstance(key, ast.Tuple) else [key] for key in keys if key]
            return [*chain.from_iterable(parts), *values]
        case (
            ast.Raise()
            | ast.JoinedStr()
            | ast.Expr(value=ast.Constant())
            | ast.Assign(targets=[ast.Name(id="__all__"), *_])
        ):
            return []
        case ast.Subscript(value=value):
            return [] if ast.unparse(value) in _FORMS else ast.iter_child_nodes(node)
    return [] if isinstance(node, ast.Call) and _is_of_types(node) else ast.iter_child_nodes(node)


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def _is_of_types(call: ast.Call) -> bool:
    return _last_name(call.func) in ("TypeVar", "cast")


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)


def _other_values(value: object) -> Iterable[str]:
    match value:
        case bool():
            return [str(not value)]
        case int():
            return [str(value + 1)]
        case bytes():
            return [repr(value + b"\xaa")]
        case str() if _FEW_DIGITS.match(value):
            without = [value.replace(digit, "") for digit in digits]
            return [
                f'"{value + digit if less == value else less}"'
                for digit, less in zip(digits, without, strict=True)
            ]
        case str():
            return [repr(f"{value} mutant")]
    return []
