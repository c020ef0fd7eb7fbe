"""Examples in the documents are read by the product's own strict decoders."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from baccarat.config.property_form import PropertyConfig
from baccarat.config.table import load_config
from baccarat.contract.schemas import MESSAGES, one_message
from events.commands import Answer
from events.commands.registry import COMMANDS
from events.types import Settlement, decode_data, decode_envelope
from events.types.earlier import UPCASTS
from events.types.registry import KINDS, TABLE_EVENTS
from events.types.upcasting import EventReader
from table_core.projections.wager_pages import WagerPage
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from tests.house.sources import texts
from tests.support.log.logs import json_bytes

_EXAMPLE = re.compile(r"<!-- type: (\S+) -->\n *```\w+\n(.*?)```", re.DOTALL)
_FENCED = re.compile(r"^ *```(?:json|toml)$", re.MULTILINE)


def _examples() -> list[tuple[str, str, str]]:
    return [
        (path, kind, text)
        for path, document in texts().items()
        if path.endswith(".md")
        for kind, text in _EXAMPLE.findall(document)
    ]


def _envelope(text: str, _: Path) -> object:
    fields: dict[str, object] = json.loads(text)
    digest = fields.pop("hash")
    assert isinstance(digest, str)
    assert len(bytes.fromhex(digest)) == 32
    return decode_data(decode_envelope(json_bytes(fields)))


def _answer(text: str, _: Path) -> object:
    return msgspec.json.decode(text, type=Answer)


def _settlement(text: str, _: Path) -> object:
    return msgspec.json.decode(text, type=Settlement)


def _wagers(text: str, _: Path) -> object:
    return msgspec.json.decode(text, type=WagerPage)


def _config(text: str, folder: Path) -> object:
    path = folder / "table.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def _property(text: str, _: Path) -> object:
    return msgspec.toml.decode(text, type=PropertyConfig)


def _sign(text: str, _: Path) -> object:
    return parse_rulebook("own.toml", shipped_source("ez") + b"\n" + text.encode())


def _data(name: str) -> Callable[[str, Path], object]:
    version = next(version for kind, version in TABLE_EVENTS if kind == name)
    return lambda text, _: EventReader(KINDS, UPCASTS).read(name, version, text.encode())


def _message(name: str) -> Callable[[str, Path], object]:
    schema = Draft202012Validator(one_message(name))
    return lambda text, _: schema.is_valid(json.loads(text))


def _request(name: str) -> Callable[[str, Path], object]:
    return lambda text, _: msgspec.json.decode(text, type=COMMANDS[name])


READERS: dict[str, Callable[[str, Path], object]] = {
    "envelope": _envelope,
    "answer": _answer,
    "settlement": _settlement,
    "wagers": _wagers,
    "config": _config,
    "property": _property,
    "rulebook/sign": _sign,
    **{f"data/{name}": _data(name) for name, _ in TABLE_EVENTS},
    **{f"message/{name}": _message(name) for name in MESSAGES if not name.startswith("event")},
    **{f"request/{name}": _request(name) for name in COMMANDS},
}


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    _examples(),
    ids=[f"{path}-{index}-{kind}" for index, (path, kind, _) in enumerate(_examples())],
)
def test_an_example_is_what_it_says(path: str, kind: str, text: str, tmp_path: Path) -> None:
    assert READERS[kind](text, tmp_path), path


def test_every_json_and_toml_example_says_what_it_is() -> None:
    for path, document in texts().items():
        if path.endswith(".md"):
            assert len(_FENCED.findall(document)) == len(_EXAMPLE.findall(document)), path
