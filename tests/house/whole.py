"""Rules about the tree as a whole: nothing dead, nothing private, documents that tell the truth."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from tests.house.sources import MAY_IMPORT, Source

# Product modules that something outside the product calls.
ENTRY_POINTS = {
    "baccarat.__main__": "python -m baccarat, and the console command through it",
    "baccarat.library": "what other programs may import",
    "baccarat.processes.tether": "a script that every child process of ours begins as",
    "benchmarks.casino.command": "`baccarat sim casino`, by an entry point of pyproject.toml",
    "benchmarks.command": "`baccarat bench`, by an entry point of pyproject.toml",
    "cage.migrations.env": "alembic runs it",
    "cage.migrations.versions.v0001_ledger": "... and this step",
    "cage.migrations.versions.v0002_chips": "... and this step",
    "cage.migrations.versions.v0003_currency": "... and this step",
    "property.migrations.env": "alembic runs it",
    "property.migrations.versions.v0001_archive": "... and this step",
    "property.migrations.versions.v0002_questions": "... and this step",
    "property.migrations.versions.v0003_editions": "... and this step",
    "property.migrations.versions.v0004_shifts": "... and this step",
    "property.migrations.versions.v0005_debts": "... and this step",
    "property.migrations.versions.v0006_blocks": "... and this step",
    "property.migrations.versions.v0007_readings": "... and this step",
    "property.migrations.versions.v0008_wagers": "... and this step",
    "property.migrations.versions.v0009_database_disk": "... and this step",
    "table_core.state.coup_mermaid": "draws the diagram of docs/reference/coup-states.md",
}
# Files of a room that are not code and that no module reads by name.
UNREAD = ("py.typed", "README.md", "OFL.txt")
# Files that name others of their room.
_WEB = (".html", ".css", ".js")
_FILE_NAME = re.compile(r"[\w-]+\.(?:html|css|js|svg|json|woff2)\b")
# Documents that a reader finds without a link.
FRONT_DOORS = ("README.md",)

# A letter of each word stands in brackets, so that this file passes its own rule.
_UNFINISHED = re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b")
_MACHINE = re.compile(r"(?<![\w.*-])/(wor[k]|roo[t]|hom[e])/\w|\bshare[d]/(design|seeds|vectors)")
_REGISTRY = re.compile(
    r"pypi[.]org|[p]ythonhosted|registry[.]npmjs|deb[.]debian|proxy[.]golang|--(extra-)?index-ur[l]"
)

_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_CODE = re.compile(r"^```.*?^```|``?[^`\n]+``?", re.MULTILINE | re.DOTALL)
_TEST = re.compile(r"\b(tests/[\w/]+\.py)(?:::(\w+))?")
_MAKE = re.compile(r"(?:^|[`;&|]|\bsudo )\s*make ([a-z]+)", re.MULTILINE)
_COMMAND = re.compile(r"(?:^|[`;&|/])\s*baccarat ([a-z]+)", re.MULTILINE)


def dead_modules(tree: Iterable[Source]) -> Iterator[str]:
    """Product modules that no entry point reaches. Tests keep a simulator alive, nothing else."""
    known = {source.module: source for source in tree}
    reached: set[str] = set()
    waiting = [name for name in ENTRY_POINTS if name in known]
    for source in known.values():
        if source.room == "tests":
            waiting += [m for m in _references(source, known) if known[m].room == "simulators"]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += _references(known[module], known)
            parents = [module[:end] for end, sign in enumerate(module) if sign == "."]
            waiting += [parent for parent in parents if parent in known]
    for name, source in sorted(known.items()):
        if source.is_product and name not in reached:
            yield source.at(1, "no entry point leads here: dead, or missing in ENTRY_POINTS")


def _references(source: Source, known: Mapping[str, Source]) -> list[str]:
    """Modules of ours that a file imports, or names in a string (`room.module:attribute`)."""
    named = {text.partition(":")[0] for text in source.strings()}
    for _, module, name in source.imports():
        named |= {module, f"{module}.{name}"}
    return [module for module in named if module in known and module != source.module]


def dead_data(
    paths: Iterable[str], tree: Iterable[Source], texts: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Data files in a room that nothing of that room names, by file or by folder.

    Args:
        paths: every file of ours.
        tree: the modules.
        texts: what is in the files; a web page names its scripts, and they one another.
    """
    words: dict[str, set[str]] = {}
    for path, text in (texts or {}).items():
        if path.endswith(_WEB):
            words.setdefault(path.partition("/")[0], set()).update(_FILE_NAME.findall(text))
    for source in tree:
        parts = {part for text in source.strings() for part in re.split(r"[/.]", text)}
        words.setdefault(source.room, set()).update(parts, source.strings())
    for path in paths:
        room, _, rest = path.partition("/")
        folder, _, name = rest.rpartition("/")
        if room not in MAY_IMPORT or name.endswith(".py") or name in UNREAD:
            continue
        if not {name, folder.rpartition("/")[2] or name} & words.get(room, set()):
            yield f"{path}:1: no module of {room} reads it"


def lost_documents(documents: Mapping[str, str], paths: Collection[str]) -> Iterator[str]:
    """Broken links between documents, and documents that no path of links leads to.

    Args:
        documents: Markdown by path.
        paths: every file of ours.
    """
    folders = {
        "/".join(path.split("/")[:depth])
        for path in paths
        for depth in range(1, path.count("/") + 1)
    }
    reached: set[str] = set()
    waiting = [path for path in FRONT_DOORS if path in documents]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        for line, target in _links(documents[path]):
            there = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            index = posixpath.join(there, "README.md")
            waiting += [found for found in (there, index) if found in documents]
            if there not in paths and there not in folders:
                yield f"{path}:{line}: the link to {target} leads nowhere"
    for path in sorted(set(documents) - reached):
        yield f"{path}:1: no document links to it"


def _links(text: str) -> Iterator[tuple[int, str]]:
    for line, content in enumerate(text.splitlines(), start=1):
        for match in _LINK.finditer(content):
            target = match[1].partition("#")[0]
            if target and not re.match(r"[a-z]+:", target):
                yield line, target


def lost_tests(documents: Mapping[str, str], texts: Mapping[str, str]) -> Iterator[str]:
    """Tests that a document names, by file or by `file::test`, and that do not exist.

    Args:
        documents: Markdown by path.
        texts: every file of ours.
    """
    for path, text in documents.items():
        for line, content in enumerate(text.splitlines(), start=1):
            for file, name in _TEST.findall(content):
                if f"def {name}(" not in texts.get(file, "") if name else file not in texts:
                    yield f"{path}:{line}: there is no test {file}{name and '::'}{name}"


def unknown_commands(
    documents: Mapping[str, str], makefile: str, commands: Collection[str]
) -> Iterator[str]:
    """Commands that a document shows and the project does not have, and targets nobody explains."""
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    explained = set(re.findall(r"^([a-z]+):[^#\n]*## ", makefile, re.MULTILINE))
    shown: set[str] = set()
    for path, text in documents.items():
        code = "\n".join(match[0].strip("`") for match in _CODE.finditer(text))
        made, called = set(_MAKE.findall(code)), set(_COMMAND.findall(code))
        shown |= made
        yield from (f"{path}:1: there is no `make {name}`" for name in sorted(made - targets))
        yield from (
            f"{path}:1: there is no `baccarat {name}`" for name in sorted(called - set(commands))
        )
    for name in sorted(targets - explained):
        yield f"Makefile:1: {name} has no `## explanation` for `make help`"
    for name in sorted(explained - shown):
        yield f"Makefile:1: no document tells what `make {name}` is for"


def forbidden_words(path: str, text: str) -> Iterator[str]:
    """Marks of unfinished work, paths of one machine, and registry hosts."""
    rules = (
        (_UNFINISHED, "unfinished work"),
        (_MACHINE, "a path of one machine"),
        (_REGISTRY, "a registry's address"),
    )
    if not any(pattern.search(text) for pattern, _ in rules):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, what in rules:
            if match := pattern.search(line):
                yield f"{path}:{number}: {what}: {match[0]}"


def unreasoned_ignores(pyproject: str) -> Iterator[str]:
    """Every lint rule that pyproject.toml switches off says why on its line."""
    for number, line in enumerate(pyproject.splitlines(), start=1):
        codes = re.findall(r'"([A-Z]{1,4}\d{0,4})"', line)
        if codes and codes != ["ALL"] and "#" not in line:
            yield f"pyproject.toml:{number}: no reason beside {', '.join(codes)}"
