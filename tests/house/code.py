"""Rules about one module at a time: lengths, names, voices, and reasons for exceptions."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator

from tests.house.sources import MAY_IMPORT, Source, dotted

FUNCTION_LINES = 70  # the house aims at 30; a module may be as long as its subject

# `noqa: S101 - why`, `type: ignore[code]  # why`, `pragma: no cover - why`.
_EXCEPTION = re.compile(r"#\s*(noqa|type:\s*ignore|pragma:|ruff:|mypy:)")
_REASONED = re.compile(
    r"#\s*(noqa: [A-Z]+\d+(, ?[A-Z]+\d+)*|type: ignore\[[a-z, -]+\]|pragma: no cover)"
    r"\s*(-|#)\s+\S.{4,}"
)
_MARKS = ("mark.skip", "mark.skipif", "mark.xfail", "pytest.skip", "pytest.xfail")


def too_long(source: Source) -> Iterator[str]:
    for function in source.functions():
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        if length > FUNCTION_LINES:
            yield source.at(
                function, f"{function.name} has {length} lines; at most {FUNCTION_LINES}"
            )


def undocumented(source: Source) -> Iterator[str]:
    if source.is_product and not ast.get_docstring(source.tree):
        yield source.at(1, "the module does not say what it is")


def unshown(source: Source) -> Iterator[str]:
    """A line for a person with a text in it is printed by `say`, which shows the text."""
    if not source.is_product:
        return
    for call in (node for node in source.nodes if isinstance(node, ast.Call)):
        if ast.unparse(call.func) == "click.echo" and isinstance(call.args[0], ast.JoinedStr):
            parts = (part for part in call.args[0].values if isinstance(part, ast.FormattedValue))
            if any(
                "show_text(" not in ast.unparse(part) and not part.format_spec for part in parts
            ):
                yield source.at(
                    call, "click.echo prints a text as it is; use baccarat.cli.shown.say"
                )


_LIBRARY = "baccarat.library"
"""The module that other programs import from."""


def open_patterns(source: Source) -> Iterator[str]:
    """msgspec searches for a pattern, and `$` also matches before a last line end."""
    for call in (node for node in source.nodes if isinstance(node, ast.Call)):
        for keyword in call.keywords if ast.unparse(call.func) == "Meta" else ():
            pattern = ast.unparse(keyword.value)
            if keyword.arg == "pattern" and not ("\\A" in pattern and "\\Z" in pattern):
                yield source.at(call, f"the pattern {pattern} is not between \\A and \\Z")


def inexact_all(source: Source) -> Iterator[str]:
    """`__all__` names every public thing the module defines, and nothing else. (ruff sorts it.)"""
    if not source.is_product:
        return
    listed = _listed(source.tree)
    if listed is None:
        yield source.at(1, "no __all__ that is a plain list of names")
        return
    defined = set(_defined(source.tree.body))
    public = {name for name in defined if not name.startswith("_")}
    # A package's own file may pass on what its modules define, and the library what all define.
    passed_on = {
        name
        for _, module, name in source.imports()
        if source.module == _LIBRARY or (source.is_package and module.startswith(source.module))
    }
    yield from (source.at(1, f"{n} is public and not in __all__") for n in public - set(listed))
    yield from (
        source.at(1, f"__all__ names {n}, which is not defined here")
        for n in set(listed) - defined - passed_on
    )
    if len(listed) != len(set(listed)):
        yield source.at(1, "__all__ names something twice")


def _listed(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        target = node.target if isinstance(node, ast.AnnAssign) else target
        if isinstance(target, ast.Name) and target.id == "__all__":
            value = getattr(node, "value", None)
            try:
                names = ast.literal_eval(value) if isinstance(value, ast.List) else None
            except ValueError:
                return None
            return names if isinstance(names, list) else None
    return None


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Names bound by definitions and assignments at module level, in branches too."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Assign():
                names = (n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
                yield from (n.id for n in names if isinstance(n.ctx, ast.Store))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If() | ast.For() | ast.While():
                yield from _defined([*node.body, *node.orelse])
            case ast.With():
                yield from _defined(node.body)
            case ast.Try():
                handlers = (s for h in node.handlers for s in h.body)
                yield from _defined([*node.body, *handlers, *node.orelse, *node.finalbody])
            case _:
                continue


def repeated_classes(tree: Iterable[Source]) -> Iterator[str]:
    """Public class names of the product that a second module defines, too."""
    first: dict[str, str] = {}
    for source in tree:
        if source.room == "tests" or source.room not in MAY_IMPORT:
            continue
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                known = first.setdefault(node.name, source.path)
                if known != source.path:
                    yield source.at(node, f"{node.name} is a class of {known}, too")


def printing(source: Source) -> Iterator[str]:
    """Only the command speaks on stdout; everything else returns values or logs in its shell."""
    if source.is_product and source.room != "baccarat":
        for call, name in source.calls():
            if name == "print" or name.startswith(("sys.stdout.", "sys.stderr.")):
                yield source.at(call, f"{name}() outside the command room")


def unreasoned(source: Source) -> Iterator[str]:
    """An exception to a rule says why, beside itself."""
    written = source.text if _EXCEPTION.search(source.text) else ""
    for token in tokenize.generate_tokens(io.StringIO(written).readline):
        excepts = token.type == tokenize.COMMENT and _EXCEPTION.search(token.string)
        if excepts and not _REASONED.search(token.string):
            yield source.at(token.start[0], f"no reason given: {token.string}")
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func).endswith(_MARKS):
            reasons = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "reason")]
            if not any(isinstance(reason, ast.Constant | ast.JoinedStr) for reason in reasons):
                yield source.at(node, f"{dotted(node.func)} without a reason")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            bare = (d for d in node.decorator_list if dotted(d).endswith(_MARKS))
            yield from (source.at(d, f"{dotted(d)} without a reason") for d in bare)


def asserting_functions(tree: Iterable[Source]) -> frozenset[str]:
    """Names of functions that assert, by themselves or through one that does."""
    calls: dict[str, set[str]] = {}
    asserting: set[str] = set()
    for source in tree:
        for function in source.functions():
            called = {dotted(n.func) for n in ast.walk(function) if isinstance(n, ast.Call)}
            calls.setdefault(function.name, set()).update(c.rpartition(".")[2] for c in called)
            raises = called & {"pytest.raises", "pytest.fail", "pytest.warns"}
            if raises or any(isinstance(n, ast.Assert) for n in ast.walk(function)):
                asserting.add(function.name)
    while more := {n for n, called in calls.items() if called & asserting} - asserting:
        asserting |= more
    return frozenset(asserting)


def asserting_nothing(source: Source, asserting: frozenset[str]) -> Iterator[str]:
    """A test that asserts nothing passes for ever."""
    if source.path.rpartition("/")[2].startswith("test_"):
        for function in source.functions():
            if function.name.startswith("test_") and function.name not in asserting:
                yield source.at(function, f"{function.name} asserts nothing")
