"""The keys of a configuration file, each described once: in the type of its field.

A `Form` is made from the type that a file is read into. It writes a new file with every key
explained, and it reads a file and reports all faults at once.
"""

import difflib
import os
import ssl
import tomllib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_args,
    overload,
)

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields, replace

from baccarat.config.errors import ConfigFault, ConfigFaults, read_toml
from events.toml_form import read_table

__all__ = [
    "CREDENTIAL",
    "CaFile",
    "ConfigKey",
    "Form",
    "OpenFile",
    "PemFile",
    "PlacedConfig",
    "Port",
    "RequiredFile",
    "named_files",
]

CREDENTIAL: Final = "credential:"
"""The prefix of the name of a secret that the service manager hands over."""
_SECRET: Final = ("password", "secret", "token")


class ConfigKey(NamedTuple):
    """The description of a key; metadata of its field.

    Args:
        says: its explanation, for a person; empty where the end of the file explains it.
        example: its value in TOML; of a section with any keys, the value of one of them.
        given: whether a new configuration sets it; the others are comments there.
    """

    says: str
    example: str
    given: bool = False


class _File(NamedTuple):
    """Metadata of a key that names a file which must be readable: what reads it."""

    read: Callable[[Path], object]


def _opens(path: Path) -> None:
    path.open("rb").close()


def _pem(path: Path) -> None:
    # PEM is ASCII, and other text is refused as the wrong type.
    ssl.create_default_context(cadata=path.read_text("ascii", "ignore"))


Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
RequiredFile: TypeAlias = Annotated[str, _File(_opens)]
OpenFile: TypeAlias = Annotated[str | None, _File(_opens)]
PemFile: TypeAlias = Annotated[str | None, _File(_pem)]
CaFile: TypeAlias = Annotated[
    str | None, _File(lambda path: ssl.create_default_context(cafile=str(path)))
]


class PlacedConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configuration, its file, and the folder that its relative paths count from."""

    base: str = ""
    file: str = ""

    @overload
    def beside(self, path: str) -> Path: ...
    @overload
    def beside(self, path: str | None) -> Path | None: ...
    def beside(self, path: str | None) -> Path | None:
        """Resolve a path of the configuration against the folder of its file.

        `credential:NAME` is a file that the service manager provides to this service alone
        (systemd's `LoadCredential=NAME:...`), so the service's user need not be able to read the
        secret. A service with a runtime folder reads it there, where a newer one may replace it.
        """
        if path is None:
            return None
        if path.startswith(CREDENTIAL):
            given = os.environ.get("CREDENTIALS_DIRECTORY", "/run/credentials/none")
            folder = os.environ.get("RUNTIME_DIRECTORY", given)
            return Path(folder) / path.removeprefix(CREDENTIAL)
        return Path(self.base) / path


_C = TypeVar("_C", bound=PlacedConfig)


class Form(Generic[_C]):
    """The form of a configuration file.

    Args:
        kind: the type that the file is read into.
        owner: whose file it is, as in "give `the table's` TOML file".
        head: the beginning of a new file.
        tail: the end of a new file, for the keys that have no explanation of their own.
        whole: whether a section with a fault is not looked at further, because what its keys mean
            depends on one another; else the keys that can be read are.
    """

    def __init__(
        self, kind: type[_C], owner: str, *, head: str, tail: str = "", whole: bool = False
    ) -> None:
        self._kind = kind
        self._owner = owner
        self._head = head
        self._tail = tail
        self._whole = whole
        self.keys: dict[str, ConfigKey] = {}
        self.sections: dict[str, str] = {}
        self._gather(kind, "")

    def _gather(self, kind: type[Struct], where: str) -> None:
        for field in fields(kind):
            key = where + field.name
            if inner := _section(field.type):
                self.sections[key] = (inner.__doc__ or "").partition("\n")[0]
                self._gather(inner, f"{key}.")
            for each in _metadata(field):
                if isinstance(each, ConfigKey):
                    self.keys[key] = each

    def example_of(self, key: str) -> str:
        """Return a line of TOML that is right for a key; empty where there is no such key."""
        if key in self.sections:
            return f"[{key}]"
        found = next((name for name in self.keys if f"{key}.".startswith(f"{name}.")), None)
        if found is None:
            return ""
        example = self.keys[found].example
        shown = found.rpartition(".")[2] if example[0] == "{" else key.removeprefix(f"{found}.")
        return f"{shown.rpartition('.')[2] if key == found else shown} = {example}"

    def fault(self, key: str, reason: str) -> ConfigFault:
        """Return a fault with the example of its key."""
        return ConfigFault(key=key, reason=reason, example=self.example_of(key))

    def template(self) -> str:
        """Return a new file: every key is explained, and those that are not given are comments."""
        text, section = self._head, ""
        given = {name.partition(".")[0] for name, key in self.keys.items() if key.given}
        for name, key in self.keys.items():
            if not key.says:
                continue
            inside, _, last = name.rpartition(".")
            if inside != section:
                section = inside
                hidden = "" if section.partition(".")[0] in given else "# "
                text += f"\n# {self.sections[section]}\n{hidden}[{section}]\n"
            text += f"# {key.says}\n{'' if key.given else '# '}{last} = {key.example}\n"
        return text + self._tail

    def read(
        self,
        path: Path,
        look: Callable[[_C], Iterator[ConfigFault]],
        unread: Collection[str] = (),
    ) -> _C:
        """Read and check a file.

        Args:
            path: the file.
            look: yields the faults of values that are well formed but impossible.
            unread: names of keys in any section whose files may be missing.

        Raises:
            ConfigError: the file is missing or is not TOML.
            ConfigFaults: keys in it are wrong: all of them, each with the reason and an example.
        """
        tree = read_toml(path, self._owner)
        faults: list[ConfigFault] = []
        for own in ("base", "file"):
            if tree.pop(own, None) is not None:
                reason = "is set by the file's place and cannot be given"
                faults.append(ConfigFault(key=own, reason=reason))
        read_table(self._kind, tree, "", lambda line: faults.append(self._fault_of(line)))
        # The keys that could be read are checked all the same, so that one run reports everything.
        config = msgspec.convert(self._mended(self._kind, tree, ""), self._kind)
        config = replace(config, base=str(path.resolve().parent), file=str(path.resolve()))
        told = [f"{fault.key.partition('.')[0] if self._whole else fault.key}." for fault in faults]
        faults += [
            fault
            for fault in (*look(config), *self._unreadable(config, unread))
            if not any(f"{fault.key}.".startswith(key) or not fault.key for key in told)
        ]
        if faults:
            raise ConfigFaults(str(path), faults)
        return config

    def _fault_of(self, line: str) -> ConfigFault:
        """Turn a line of the reader of tables into a fault with an example of the key."""
        key, _, reason = line.partition(": ")
        if not reason:
            key, _, reason = line.partition(" ")
        if not reason.startswith("no such key"):
            return self.fault(key, reason[:1].lower() + reason[1:])
        if any(word in key.rpartition(".")[2] for word in _SECRET):
            instead = self.example_of(f"{key.rpartition('.')[0] or 'bus'}.password_file")
            return ConfigFault(key=key, reason="a secret never stands here", example=instead)
        near = difflib.get_close_matches(key, self.keys, n=1, cutoff=0.5)
        reason = reason.replace(" base, file,", "")  # the file's place sets them
        return ConfigFault(key=key, reason=reason, example=self.example_of(*near) if near else "")

    def _mended(self, kind: type[Struct], tree: dict[str, Any], where: str) -> dict[str, Any]:
        """Return the keys that can be read, and examples of those that are required.

        An empty text is no path, login or scale: an optional key with one is not given.
        """
        good: dict[str, Any] = {}
        for field in fields(kind):
            key, value = where + field.name, tree.get(field.name)
            if field.default is None and value == "":
                continue
            if not self._whole and (inner := _section(field.type)):
                if value is not None or field.required:
                    table = value if isinstance(value, dict) else {}
                    good[field.name] = self._mended(inner, table, f"{key}.")
            elif value is not None and _reads(field.type, value):
                good[field.name] = value
            elif field.required:
                good |= tomllib.loads(f"{field.name} = {self.keys[key].example}")
        return good

    def _unreadable(self, config: PlacedConfig, unread: Collection[str]) -> Iterator[ConfigFault]:
        """Yield the faults of files that are named and cannot be used."""
        for name in self.sections:
            section = getattr(config, name, None)
            pair = {key: getattr(section, key, None) for key in ("cert", "key")}
            if hasattr(section, "cert") and (pair["cert"] is None) is not (pair["key"] is None):
                missing = f"{name}.{next(key for key, value in pair.items() if value is None)}"
                yield self.fault(missing, "is missing: give both `cert` and `key`, or neither")
        for key, value, read in named_files(config):
            path = config.beside(value)
            if value.startswith(CREDENTIAL) or key.rpartition(".")[2] in unread:
                continue  # only the service that uses a credential can read it
            try:
                read(path)
            except ssl.SSLError as error:
                reason = f"{path}: no PEM of that kind: {error.reason or error}"
                yield ConfigFault(key=key, reason=reason)
            except OSError as error:
                reason = f"{path} cannot be read: {error.strerror or error}"
                yield ConfigFault(key=key, reason=reason)


def named_files(
    section: Struct, where: str = ""
) -> Iterator[tuple[str, str, Callable[[Path], object]]]:
    """Yield key, value and reader of each key that names a file which must be readable."""
    for field in fields(section):
        key, value = where + field.name, getattr(section, field.name)
        inner = value.items() if isinstance(value, dict) else [("", value)]
        for name, each in inner:
            if isinstance(each, Struct):
                yield from named_files(each, f"{key}.{name}." if name else f"{key}.")
        if isinstance(value, str):
            for each in _metadata(field):
                if isinstance(each, _File):
                    yield key, value, each.read


def _metadata(field: FieldInfo) -> tuple[object, ...]:
    return getattr(field.type, "__metadata__", ())


def _section(kind: Any) -> type[Struct] | None:
    """Return the type of a section, which may be one that can be absent."""
    options = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return next((o for o in options if isinstance(o, type) and issubclass(o, Struct)), None)


def _reads(kind: Any, value: object) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
