"""Generate the AsyncAPI 3.0 document of a table's bus from its topics and message types."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from baccarat.contract.rules import SEGMENT
from baccarat.contract.samples import samples
from baccarat.contract.schemas import EVENTS, MESSAGES, REF, definitions
from events.commands.registry import COMMANDS

__all__ = ["CHANNELS", "PARAMETERS", "ROOT", "Channel", "document"]

_QOS: Final = 1
_BINDING: Final = "0.2.0"
_SCHEMAS: Final = "#/components/schemas/"
_SEGMENTS: Final = re.compile(r"\{(\w+)\}")


ROOT: Final = "bac/v1/{site}/{table}"
PARAMETERS: Final = {
    "site": "the site's name",
    "table": "the table's name",
    "service": "which service speaks: `shoe` (the driver), `table` (the core), or another",
    "user": "the login that the broker knows; its permissions tie the topic to it",
    "command": "the command's name",
    "page": "1, 2, 3...: `coup.sums.pages` of `state` are in use",
}
"""The variable segments of the topics, each with its explanation."""


class Channel(Struct, frozen=True, kw_only=True):
    """One topic, or one for each value of a variable segment.

    Args:
        topic: below the root.
        what: one line for a person.
        sender: the service or login that publishes.
        receivers: the services or logins that subscribe.
        messages: the definitions of the messages.
        retained: whether the broker keeps the newest.
        core: whether the table core sends, receives, or both.
    """

    topic: str
    what: str
    sender: str
    receivers: str
    messages: tuple[str, ...]
    retained: bool = False
    core: tuple[Literal["send", "receive"], ...]


CHANNELS: Final[dict[str, Channel]] = {
    "status": Channel(
        topic="status/{service}",
        what="Online or offline, said again every second; older than 10 s it is not believed.",
        sender="each service, and its Will",
        receivers="everybody",
        messages=("status",),
        retained=True,
        core=("send", "receive"),
    ),
    "shoeEvent": Channel(
        topic="shoe/event",
        what="What the shoe said. Carries faces that the table has not seen: for the core alone.",
        sender="the driver",
        receivers="the core",
        messages=("shoe.event",),
        core=("receive",),
    ),
    "shoeAck": Channel(
        topic="shoe/ack",
        what="Everything up to this number is in the log.",
        sender="the core",
        receivers="the driver",
        messages=("shoe.ack",),
        core=("send",),
    ),
    "linkShoe": Channel(
        topic="link/shoe",
        what="How the shoe link stands.",
        sender="the driver",
        receivers="the core, displays",
        messages=("link.shoe",),
        retained=True,
        core=("receive",),
    ),
    "event": Channel(
        topic="event",
        what="Every event of the log in order, at least once; positions have no gaps.",
        sender="the core",
        receivers="displays, cages, archives",
        messages=tuple(EVENTS),
        core=("send",),
    ),
    "settlement": Channel(
        topic="settlement",
        what="The events of type coup_settled again: one settlement a message.",
        sender="the core",
        receivers="cages",
        messages=("settlement",),
        core=("send",),
    ),
    "state": Channel(
        topic="state",
        what="The whole table as everybody at it may see it.",
        sender="the core",
        receivers="displays, consoles, consumers",
        messages=("state",),
        retained=True,
        core=("send",),
    ),
    "wagers": Channel(
        topic="wagers/{page}",
        what="The wagers of a coup with more than 500, of which `state` has the sums alone.",
        sender="the core",
        receivers="consoles, consumers",
        messages=("wagers",),
        retained=True,
        core=("send",),
    ),
    "display": Channel(
        topic="display",
        what="Of the state, what anybody may see.",
        sender="the core",
        receivers="public displays",
        messages=("display",),
        retained=True,
        core=("send",),
    ),
    "checkpoint": Channel(
        topic="checkpoint",
        what="The newest signed checkpoint of the log. Keep those you see.",
        sender="the core",
        receivers="cages, archives, witnesses",
        messages=("checkpoint",),
        retained=True,
        core=("send",),
    ),
    "alarm": Channel(
        topic="alarm",
        what="An alarm was raised or cleared; those that stand are in the state.",
        sender="the core",
        receivers="consoles, displays",
        messages=("alarm",),
        core=("send",),
    ),
    "request": Channel(
        topic="request/{user}/{command}",
        what="A command. Never retained.",
        sender="the user",
        receivers="the core",
        messages=tuple(f"request.{name}" for name in COMMANDS),
        core=("receive",),
    ),
    "response": Channel(
        topic="response/{user}",
        what="The answer to a command, by its transaction.",
        sender="the core",
        receivers="the user",
        messages=("answer",),
        core=("send",),
    ),
    "replayed": Channel(
        topic="response/{user}/events",
        what="Stored events that the user asked for again, in order, as they were on event.",
        sender="the core",
        receivers="the user",
        messages=tuple(EVENTS),
        core=("send",),
    ),
}
"""Every topic of a table, by its name in the AsyncAPI document."""


_SECURITY: Final = {
    "certificate": ("X509", "A client certificate of the site's CA, beside the login."),
    "login": (
        "userPassword",
        "The login <table>-<user>, such as b7-cage, and its password, beside the certificate.",
    ),
}


def document() -> dict[str, Any]:
    """Return the document as a JSON tree; it describes the table core as the application."""
    found = definitions()
    return {
        "asyncapi": "3.0.0",
        "id": "urn:baccarat-table:bus:v1",
        "info": {
            "title": "The bus of a baccarat table",
            "version": "1.0.0",
            "description": "Written from the side of the core: `send` is what it publishes, "
            "`receive` what it listens to. Delivery is at least once; docs/reference/topics.md and "
            "docs/integrate/overview.md say what to do about it.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {
            "site": _server(
                "mqtts",
                "A site's broker, mosquitto or nats-server: TLS by the site's CA. All that "
                "`security` names is needed, not one of it. With message keys requests and "
                "answers have the field `mac` besides (docs/integrate/overview.md). The same in "
                "secure websockets: port 8884, path /mqtt, subprotocol mqtt.",
                host="the name in the broker's certificate",
                port="8883",
            )
            | {"security": [{"$ref": f"#/components/securitySchemes/{n}"} for n in _SECURITY]},
            "broker": _server(
                "mqtt",
                "A broker on the table's own machine, on loopback: no TLS, no logins.",
                host="the controller",
                port="1883",
            ),
        },
        "channels": {name: _channel(channel) for name, channel in CHANNELS.items()},
        "operations": _operations(),
        "components": {
            "securitySchemes": {
                name: {"type": kind, "description": what}
                for name, (kind, what) in _SECURITY.items()
            },
            "parameters": {name: _parameter(name, what) for name, what in PARAMETERS.items()},
            "messages": _messages(found),
            "schemas": _moved(found),
        },
    }


def _server(protocol: str, what: str, *, host: str, port: str) -> dict[str, Any]:
    return {
        "host": "{host}:{port}",
        "protocol": protocol,
        "protocolVersion": "3.1.1",
        "description": what,
        "variables": {
            "host": {"default": "127.0.0.1", "description": host},
            "port": {"default": port, "description": "its MQTT port"},
        },
        "bindings": {
            "mqtt": {
                "cleanSession": True,
                "lastWill": {
                    "topic": f"{ROOT}/status/{{service}}",
                    "qos": _QOS,
                    "retain": True,
                    "message": '{"state":"offline","session":4,'
                    '"ts":"2026-11-27T20:32:11.509474903Z"}',
                },
                "bindingVersion": _BINDING,
            }
        },
    }


def _channel(channel: Channel) -> dict[str, Any]:
    address = f"{ROOT}/{channel.topic}"
    return {
        "address": address,
        "description": channel.what,
        "servers": [{"$ref": "#/servers/site"}, {"$ref": "#/servers/broker"}],
        "parameters": {
            name: {"$ref": f"#/components/parameters/{name}"} for name in _SEGMENTS.findall(address)
        },
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in channel.messages},
        "x-sent-by": channel.sender,
        "x-received-by": channel.receivers,
    }


def _parameter(name: str, what: str) -> dict[str, Any]:
    said = {"description": f"{what}; {SEGMENT}", "x-pattern": SEGMENT}
    return said | ({"enum": list(COMMANDS)} if name == "command" else {})


def _operations() -> dict[str, dict[str, Any]]:
    return {
        f"{action}{name[0].upper()}{name[1:]}": _operation(name, channel, action)
        for name, channel in CHANNELS.items()
        for action in channel.core
    }


def _operation(name: str, channel: Channel, action: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "action": action,
        "channel": {"$ref": f"#/channels/{name}"},
        "title": f"{channel.topic}: {channel.sender} to {channel.receivers}",
        "summary": channel.what,
        "messages": _of_channel(name, channel),
        "bindings": {"mqtt": {"qos": _QOS, "retain": channel.retained, "bindingVersion": _BINDING}},
    }
    if name == "request":
        made["reply"] = {
            "channel": {"$ref": "#/channels/response"},
            "messages": _of_channel("response", CHANNELS["response"]),
        }
    return made


def _of_channel(name: str, channel: Channel) -> list[dict[str, str]]:
    return [{"$ref": f"#/channels/{name}/messages/{message}"} for message in channel.messages]


def _messages(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    examples = samples(found)
    named = dict.fromkeys(name for channel in CHANNELS.values() for name in channel.messages)
    return {
        name: {
            "name": name,
            "title": name.replace(".", " "),
            "summary": _summary(found, name),
            "contentType": "text/plain" if name == "checkpoint" else "application/json",
            "payload": {"$ref": f"{_SCHEMAS}{name}"},
            "examples": [{"payload": sample} for sample in examples[name]],
        }
        for name in MESSAGES
        if name in named
    }


def _summary(found: Mapping[str, Any], name: str) -> str:
    schema = found[name]
    while "description" not in schema:
        schema = found[schema["$ref"].removeprefix(REF)]
    return str(schema["description"])


def _moved(node: Any) -> Any:
    """Return the definitions with references to the place where AsyncAPI keeps schemas."""
    if isinstance(node, dict):
        return {
            key: value.replace(REF, _SCHEMAS) if key == "$ref" else _moved(value)
            for key, value in node.items()
        }
    return [_moved(each) for each in node] if isinstance(node, list) else node
