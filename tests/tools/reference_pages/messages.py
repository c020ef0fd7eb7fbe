"""The pages of commands and events: what each is, its fields, and a payload."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import fields

from baccarat.contract.asyncapi import CHANNELS
from baccarat.contract.samples import samples
from baccarat.contract.schemas import definitions, event_name, summary_of
from baccarat.site.identities import identities_of
from events.commands import Command
from events.commands.registry import DELEGATE, ROLES, ROWS
from events.commands.text_lengths import COMMAND_LENGTHS
from events.mqtt.topics import Topics
from events.types import TableEvent
from events.types.earlier import UPCASTS
from events.types.registry import KINDS
from table_core.process.publishers import SEALED
from tests.tools.reference_pages.markdown import fields_table, payload, structs_in, table

_SHARED: Final = frozenset(field.name for field in fields(Command))
_TEXTS: Final = {
    "by": "mary",
    "category": "win",
    "dealer": "d-4",
    "patron": "p-58c1",
    "reason": "camera 4 shows a seven",
    "signed": "c-2",
    "supervisor": "s-1",
    "text": "coup 20261127-02/1 is held",
}
"""Examples of texts that people write, by field."""
# Messages of which a hand-written page shows a whole one.
_SHOWN_ELSEWHERE: Final = ("checkpoint", "display", "settlement", "state")


def command_index() -> str:
    """Every command with what it does and who may give it."""
    rows = [
        (f"[`{row.name}`](#{row.name})", summary_of(row.type), _roles(row.roles)) for row in ROWS
    ]
    return table(("command", "does", "roles"), rows)


def commands() -> str:
    """A section a command: its fields, and a request with the fields that it needs."""
    made = samples(definitions())
    return "\n".join(
        [_command(row.name, row.type, made) for row in ROWS] + _objects(row.type for row in ROWS)
    )


def _command(name: str, kind: type[Command], made: Mapping[str, list[Any]]) -> str:
    needed = {field.encode_name for field in fields(kind) if field.required}
    sample = made[f"request.{name}"][0]
    if needed == {"transaction"}:
        needed = sample.keys() - {"actor", "during"}
    asked = {key: value for key, value in _readable(sample).items() if key in needed}
    own = fields_table(kind, besides=_SHARED)
    return (
        f"### {name}\n\n{summary_of(kind)}\n\n"
        + (f"{own}\n" if own else "")
        + payload(f"request/{name}", asked)
    )


def _readable(value: Any, key: str = "") -> Any:
    """Return an example with free texts that a reader recognises."""
    if isinstance(value, dict):
        return {name: _readable(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_readable(each, key) for each in value]
    return _TEXTS.get(key, "other") if value == "as people write" else value


def events() -> str:
    """A section a type of event: its newest version, its fields, and an example of `data`."""
    made = samples(definitions())
    kinds = sorted(KINDS, key=lambda kind: kind.TYPE)
    return "\n".join([_event(kind, made) for kind in kinds] + _objects(kinds))


def _event(kind: type[TableEvent], made: Mapping[str, list[Any]]) -> str:
    text = f"### {kind.TYPE}\n\nVersion {kind.VERSION}. {summary_of(kind)}\n\n{fields_table(kind)}"
    for upcast in (each for each in UPCASTS if each.shape.TYPE == kind.TYPE):
        names = ", ".join(f"`{field.encode_name}`" for field in fields(upcast.shape))
        text += f"\nVersion {upcast.shape.VERSION} has the fields {names}.\n"
    if kind.TYPE in SEALED:
        return text + "\nThe event is [sealed](../glossary.md#sealed): `data` is null on the bus.\n"
    return text + "\n" + payload(f"data/{kind.TYPE}", _readable(made[event_name(kind)][0]["data"]))


def _objects(kinds: Iterable[type[Struct]]) -> list[str]:
    """Return the sections of the objects that the messages share."""
    held = {each.__name__: each for kind in kinds for each in structs_in(kind)}
    head = "## Objects of several messages\n"
    return [head] + [
        f"### {name}\n\n{summary_of(kind)}\n\n{fields_table(kind)}"
        for name, kind in sorted(held.items())
    ]


def roles() -> str:
    """What each role may ask for that has a topic to ask on and speaks for itself."""
    rows = [
        (f"`{role}`", ", ".join(f"`{row.name}`" for row in ROWS if role in row.roles))
        for role in sorted(ROLES - {DELEGATE})
        if _asks(role)
    ]
    return table(("role", "may ask for"), rows)


def _asks(role: str) -> bool:
    logins = identities_of(Topics("site", "table"), {"somebody": (role,)})
    return any("/request/somebody/" in topic for login in logins for topic in login.says)


def _roles(allowed: frozenset[str]) -> str:
    return "every role" if allowed == ROLES else ", ".join(sorted(allowed))


def lengths() -> str:
    """The most characters of each field of a command that holds free text."""
    rows = [(str(most), names) for most, names in _by_length(COMMAND_LENGTHS.by_field)]
    rows.append((str(COMMAND_LENGTHS.other), "every other"))
    return table(("most characters", "fields"), rows)


def _by_length(bounds: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    for most in sorted(set(bounds.values())):
        names = sorted(name for name, bound in bounds.items() if bound == most)
        yield most, ", ".join(f"`{name}`" for name in names)


def event_index() -> str:
    """Every type of event with its meaning."""
    kinds = sorted(KINDS, key=lambda kind: kind.TYPE)
    rows = [
        (f"[`{kind.TYPE}`](#{kind.TYPE})", str(kind.VERSION), summary_of(kind)) for kind in kinds
    ]
    return table(("type", "version", "meaning"), rows)


def topics() -> str:
    """Every topic: who publishes it, whether the broker keeps it, and a payload."""
    made = samples(definitions())
    rows = [
        (f"`{_placed(c.topic)}`", _plain(c.sender), "yes" if c.retained else "no", c.what)
        for c in CHANNELS.values()
    ]
    text = table(("topic", "from", "retained", "content"), rows)
    for channel in CHANNELS.values():
        (name, *others) = channel.messages
        if not others and name not in _SHOWN_ELSEWHERE:
            example = payload(f"message/{name}", _readable(made[name][0]))
            text += f"\n`{_placed(channel.topic)}`:\n\n{example}"
    return text


def _placed(topic: str) -> str:
    return topic.replace("{", "<").replace("}", ">")


def _plain(sender: str) -> str:
    return {"the core": "table service", "the driver": "shoe driver"}.get(sender, sender)
