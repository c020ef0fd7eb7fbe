"""The search for contradictions: options, keys and figures of the documents against the product."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from typing import Final

__all__ = [
    "anchors_of",
    "figures_of",
    "lost_anchors",
    "repeated_figures",
    "unknown_keys",
    "unknown_options",
]

_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"`([^`\n]+)`")
_CALL: Final = re.compile(r"\bbaccarat((?: [a-z][a-z-]*)*)((?: .*)?)")
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_LINK: Final = re.compile(r"\]\(([^)\s#]*)#([^)\s]+)\)")
_FIGURE: Final = re.compile(
    r"(?<![\w.,/-])(\d[\d,]*(?:\.\d+)?)[ -]"
    r"(ms|s|seconds?|min|minutes?|hours?|days?|bytes|kB|KiB|KB|MB|MiB|GB|characters)\b"
)
_UNITS: Final = {
    "ms": ("s", 0.001), "s": ("s", 1), "second": ("s", 1), "min": ("s", 60), "minute": ("s", 60),
    "hour": ("s", 3600), "day": ("s", 86400), "byte": ("B", 1), "kB": ("B", 1000),
    "KB": ("B", 1024), "KiB": ("B", 1024), "MB": ("B", 1024**2), "MiB": ("B", 1024**2),
    "GB": ("B", 1024**3), "character": ("characters", 1),
}  # fmt: skip


def unknown_options(
    documents: Mapping[str, str], options: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Options that a document shows and the command does not have.

    Args:
        documents: Markdown by path.
        options: of each command, by its words behind `baccarat`; "" stands for the options of all.
    """
    for path, text in documents.items():
        code = [found[0].replace("\\\n", " ") for found in _FENCE.finditer(text)]
        code += _SPAN.findall(_FENCE.sub("", text))
        for line in (line for each in code for line in each.splitlines()):
            for words, rest in _CALL.findall(line.partition(" | ")[0]):
                name = _longest(words.split(), options)
                if name is not None:
                    known = {*options[name], *options[""]}
                    for option in sorted({*_OPTION.findall(rest)} - known):
                        yield f"{path}:1: `baccarat {name}` has no {option}"


def _longest(words: list[str], names: Collection[str]) -> str | None:
    candidates = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    return next((name for name in candidates if name in names), None)


def unknown_keys(documents: Mapping[str, str], keys: Collection[str]) -> Iterator[str]:
    """Keys of the configuration, written `section.key`, that no file has.

    Args:
        documents: Markdown by path.
        keys: every key and section, with dots.
    """
    sections = {key.partition(".")[0] for key in keys if "." in key}
    leaves = tuple(f"{key}." for key in keys if not any(k.startswith(f"{key}.") for k in keys))
    form = re.compile(rf"({'|'.join(sorted(sections))})(\.[a-z_]+)+")
    for path, text in documents.items():
        for span in _SPAN.findall(text):
            if form.fullmatch(span) and span not in keys and not span.startswith(leaves):
                yield f"{path}:1: the configuration has no `{span}`"


def figures_of(text: str) -> set[tuple[float, str]]:
    """The figures with a unit in the prose and tables of a document, in seconds or bytes."""
    found = set()
    for number, unit in _FIGURE.findall(_FENCE.sub("", text)):
        base, factor = _UNITS[unit if unit in _UNITS else unit.removesuffix("s")]
        found.add((round(float(number.replace(",", "")) * factor, 6), base))
    return found


def repeated_figures(
    documents: Mapping[str, str], known: Collection[float], measured: Collection[str]
) -> Iterator[str]:
    """Figures that stand in two documents and that no constant of the product has.

    Args:
        documents: Markdown by path.
        known: the values of the product's constants, in seconds, bytes or a count.
        measured: paths of documents whose figures are measurements of their own.
    """
    where: dict[tuple[float, str], list[str]] = {}
    for path, text in documents.items():
        if path not in measured:
            for figure in figures_of(text):
                where.setdefault(figure, []).append(path)
    values = {round(value, 6) for value in known}
    for (value, unit), paths in sorted(where.items()):
        if len(paths) > 1 and value not in values:
            yield f"{' and '.join(sorted(paths))}: {value:g} {unit} is no constant of the product"


def anchors_of(text: str) -> set[str]:
    """The anchors that a document's headings give, and those that it sets itself."""
    found = set(re.findall(r'<a id="([^"]+)"', text))
    for heading in re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
        found.add(re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-"))
    return found


def lost_anchors(documents: Mapping[str, str], within: Iterable[str]) -> Iterator[str]:
    """Links to a heading that is not there.

    Args:
        documents: Markdown by path.
        within: the folders whose documents are looked at, as source and as target.
    """
    looked_at = {
        path: text
        for path, text in documents.items()
        if any(PurePosixPath(path).is_relative_to(folder) for folder in within)
    }
    anchors = {path: anchors_of(text) for path, text in looked_at.items()}
    for path, text in looked_at.items():
        for target, anchor in _LINK.findall(text):
            there = normpath(join(dirname(path), target)) if target else path
            if there in anchors and anchor not in anchors[there]:
                yield f"{path}:1: {target}#{anchor} is no heading"
