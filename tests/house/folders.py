"""Rules about the folders inside the rooms: size, order, and what each says of itself."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tests.house.sources import Source

FOLDER_FILES = 25
# Made by tools, or a numbered record that grows: nobody looks for a place among them.
UNCOUNTED = ("docs/develop/adr", "docs/screens", "tests/corpus")

# Of each room: what stands lower comes first. A module imports its own layer and lower ones.
LAYERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "events": (
        (
            "clock",
            "errors",
            "file_stamp",
            "free_text",
            "json_form",
            "money",
            "sql_migrations",
            "structured_log",
            "tls",
            "toml_form",
        ),
        ("cards",),
        ("types",),
        ("commands", "proof"),
        ("log", "mqtt"),
    ),
    "shoe_driver": (
        ("codes", "framing", "outbox"),
        ("profiles",),
        ("journal",),
        ("link",),
        ("decode",),
        ("learning", "reread"),
        ("transports",),
        ("process",),
        ("service",),
    ),
    "table_core": (
        ("kept_results", "persistent_list", "refusals"),
        ("rules",),
        ("batch", "odds", "roads", "rulebooks", "shuffle"),
        ("rulebook_check",),
        ("state",),
        ("fold",),
        ("decide", "replay"),
        ("narrative", "evidence"),
        ("texts",),
        ("projections",),
        ("history", "trust"),
        ("process",),
        ("service",),
    ),
    "cage": (("ledger",), ("reorder_buffer", "reports"), ("process",), ("service",)),
    "property": (
        ("background_tasks", "health", "hub"),
        ("archive", "uplink", "witness"),
        ("board",),
    ),
}


def folder_of(source: Source) -> str:
    """The folder as a node of the graph; a module of a room's own folder is a node by itself."""
    parts = source.module.split(".")
    if len(parts) < 3:
        return source.module
    return source.module if source.is_package else ".".join(parts[:-1])


def cycles(tree: Iterable[Source]) -> Iterator[str]:
    """Folders of a room that import one another, directly or around several corners."""
    known = {source.module: source for source in tree if source.room != "tests"}
    graph: dict[str, dict[str, str]] = defaultdict(dict)
    for source in known.values():
        for line, module, name in source.imports():
            target = known.get(f"{module}.{name}") or known.get(module)
            if target is None or target.is_package or target.room != source.room:
                continue
            here, there = folder_of(source), folder_of(target)
            if here != there:
                graph[here].setdefault(there, source.at(line, f"{here} imports {there}"))
    for here, targets in sorted(graph.items()):
        for there, where in sorted(targets.items()):
            if here in _reached(graph, there):
                yield f"{where}, which leads back to {here}"


def _reached(graph: dict[str, dict[str, str]], start: str) -> set[str]:
    reached, waiting = set[str](), [start]
    while waiting:
        folder = waiting.pop()
        if folder not in reached:
            reached.add(folder)
            waiting += graph.get(folder, ())
    return reached


def against_the_layers(source: Source) -> Iterator[str]:
    """Imports of a higher layer of the same room."""
    layers = LAYERS.get(source.room)
    parts = source.module.split(".")
    if layers is None or len(parts) < 2:
        return
    height = {name: level for level, names in enumerate(layers) for name in names}
    if parts[1] == "migrations":
        return
    if parts[1] not in height:
        yield source.at(1, f"{parts[1]} has no place among the layers of {source.room}")
        return
    for line, module, name in source.imports():
        room, *rest = f"{module}.{name}".split(".")
        if room == source.room and height.get(rest[0], -1) > height[parts[1]]:
            yield source.at(line, f"{parts[1]} imports {rest[0]}, which stands above it")


def crowded(paths: Iterable[str]) -> Iterator[str]:
    """Folders in which nothing is found at a glance."""
    counts = Counter(path.rpartition("/")[0] for path in paths if "/" in path)
    for folder, count in sorted(counts.items()):
        if count > FOLDER_FILES and not folder.startswith(UNCOUNTED):
            yield f"{folder}/: {count} files; a folder holds at most {FOLDER_FILES}"


def silent(source: Source) -> Iterator[str]:
    """A folder says in its `__init__` what lives there and what may import it: two sentences."""
    if not source.is_package or source.room == "tests" or "migrations" in source.path:
        return
    if source.module == source.room:
        return
    said = re.search(r'"""(.*?)"""', source.text, re.DOTALL)
    if said is None or len(re.findall(r"[.:](?:\s|$)", said[1])) < 2:
        yield source.at(1, "two sentences: what lives here, and what may import it")
