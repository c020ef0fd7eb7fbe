"""Check a table over its broker: whether it answers, which logins it accepts, and who is online.

Each login of the configuration is tried by itself, with a client id of its own, so that running
services are not disturbed. Each waits for a message that it must receive. Logins that may send
requests ask for an impossible replay; only the refusal matters.
"""

import asyncio
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from baccarat.config.form import TableConfig
from baccarat.site.findings import DoctorFinding, fails, passes, warns
from baccarat.site.service_documents import read_document
from events.clock import SystemClock
from events.errors import BusError, ConfigError
from events.mqtt.bus import Bus, BusSettings, Message
from events.mqtt.presence import Presence, read_status
from events.tls import ClientTls

__all__ = ["examine_broker"]

_CONNECT_S: Final = 5.0
# The table publishes its state every five seconds, and a busy machine is slow.
_RECEIVE_S: Final = 8.0
# A table that is just starting receives no request yet, and the broker keeps none for it.
_RETRY_S: Final = 2.0
_BEYOND: Final = 2**53 - 1
_CLOCK: Final = SystemClock()


class _Login(Struct, kw_only=True):
    """A login under examination.

    Args:
        section: the section of the configuration that names it.
        settings: how it connects.
        hears: a topic that it must receive when the table runs.
        awaits: another one, which it receives when the driver runs; empty where there is none.
        user: the name under which it may send requests; None where it may not.
        heard: the newest message of each topic.
        services: the presence of each service, by its topic.
        trouble: why it was not accepted.
        answered: its request was.
        connected: the broker accepted it.
    """

    section: str
    settings: BusSettings
    hears: str
    awaits: str = ""
    user: str | None = None
    heard: dict[str, bytes] = {}
    services: dict[str, Presence] = {}
    trouble: str = ""
    answered: bool = False
    connected: bool = False


async def examine_broker(config: TableConfig) -> tuple[list[DoctorFinding], bool]:
    """Run every check that needs the broker.

    Returns:
        The findings, and whether a driver is online, which then has the shoe's port.
    """
    refused = await asyncio.to_thread(_reached, config)
    if refused is not None:
        return [refused], False
    found = [passes("broker", f"{config.bus.host}:{config.bus.port} answers")]
    try:
        logins = list(_logins(config))
    except OSError as error:
        text = f"{error.filename}: {error.strerror}"
        remedy = "look at what is said of the password files; a credential is root's to read"
        return [*found, fails("logins", text, remedy)], False
    await asyncio.gather(*(_try(config, login) for login in logins))
    heard: dict[str, bytes] = {}
    services: dict[str, Presence] = {}
    for login in logins:
        heard |= login.heard
        services |= login.services
    found += [_of_login(config, login, services) for login in logins]
    found += _of_services(config, services)
    link = read_document(heard.get(config.topics.link_shoe, b""))
    if link:
        found.append(_of_link(link))
    found += _of_state(read_document(heard.get(config.topics.state, b"")))
    return found, _online(services.get(config.topics.status("shoe"), Presence()))


def _online(service: Presence) -> bool:
    return service.online(_CLOCK.mono_us())


def _is_settled(service: Presence) -> bool:
    """Return whether no live heartbeat may still come for an online status with an old stamp."""
    return _online(service) or (service.status is not None and service.status.state == "offline")


def _reached(config: TableConfig) -> DoctorFinding | None:
    """Return why the broker cannot be reached; None where it can."""
    bus = config.bus
    where = f"{bus.host}:{bus.port}"
    try:
        context = ClientTls(*map(config.beside, (bus.ca, bus.cert, bus.key))).context()
    except ConfigError as error:
        remedy = (
            "look at bus.ca, bus.cert and bus.key, which is copied again when it was renewed; a "
            "credential is root's to read"
        )
        return fails("broker", f"TLS to it: {error}", remedy)
    try:
        with socket.create_connection((bus.host, bus.port), timeout=_CONNECT_S) as line:
            if context is None:
                return None
            with context.wrap_socket(line, server_hostname=bus.host):
                return None
    except ssl.SSLCertVerificationError as error:
        text = f"{where}: its certificate is not believed: {error.verify_message}"
        return fails("broker", text, "bus.ca must be the CA that issued it; look at its names")
    except ssl.SSLError as error:
        remedy = "is TLS spoken at that port, and is our certificate of the broker's CA?"
        return fails("broker", f"{where}: no TLS: {error.reason or error}", remedy)
    except OSError as error:
        text = f"{where}: {error.strerror or error}"
        return fails("broker", text, "start the broker, or change bus.host and bus.port")


def _logins(config: TableConfig) -> Iterator[_Login]:
    topics = config.topics
    yield _Login(
        section="bus",
        settings=config.bus_settings("core"),
        hears=topics.status("table"),
        awaits=topics.link_shoe,
    )
    if config.shoe.username:
        hears = topics.status("shoe")
        yield _Login(section="shoe", settings=config.own_bus("shoe"), hears=hears)
    if config.displays:
        user = "console" if config.displays.users else None
        settings = config.own_bus("displays")
        yield _Login(section="displays", settings=settings, hears=topics.state, user=user)
    if config.scoreboard:
        settings = config.own_bus("scoreboard")
        yield _Login(section="scoreboard", settings=settings, hears=topics.state)
    if config.cage:
        settings, user = config.own_bus("cage"), config.cage.user
        yield _Login(section="cage", settings=settings, hears=topics.state, user=user)
    if config.metrics:
        yield _Login(section="metrics", settings=config.own_bus("metrics"), hears=topics.state)


async def _try(config: TableConfig, login: _Login) -> None:
    topics = config.topics
    transaction = f"doctor-{secrets.token_hex(8)}"
    content = asyncio.Event()

    def look() -> None:
        all_heard = {login.hears, login.awaits or login.hears} <= login.heard.keys()
        if (
            all_heard
            and all(map(_is_settled, login.services.values()))
            and (login.user is None or login.answered)
        ):
            content.set()

    async def on_message(message: Message) -> None:
        login.heard[message.topic] = message.payload
        _note(login.services, message)
        look()

    async def on_answer(message: Message) -> None:
        login.answered |= transaction.encode() in message.payload
        look()

    async def on_connect() -> None:
        login.connected = True
        ask()

    def ask() -> None:
        if login.user is not None and not login.answered:
            asked = {"transaction": transaction, "from": _BEYOND, "actor": login.user}
            topic = topics.request(login.user, "replay")
            bus.post(topic, msgspec.json.encode(asked))

    subscriptions = {login.hears: on_message}
    if login.section == "bus":
        # Only with the core's rights can it receive the driver.
        subscriptions = {topics.status("+"): on_message, topics.link_shoe: on_message}
    if login.user is not None:
        subscriptions[topics.response(login.user)] = on_answer
    name = f"{login.settings.client_id}-doctor-{secrets.token_hex(4)}"
    settings = msgspec.structs.replace(login.settings, client_id=name)
    bus = Bus(settings, subscriptions=subscriptions, on_connect=on_connect)
    login.trouble = await _until(content, bus, ask)


def _note(services: dict[str, Presence], message: Message) -> None:
    """Note a service's presence, if the message is its status."""
    if status := read_status(message.payload):
        services[message.topic] = services.get(message.topic, Presence()).with_message(
            status, retained=message.retain, utc_ns=_CLOCK.utc_ns(), mono_us=_CLOCK.mono_us()
        )


async def _until(content: asyncio.Event, bus: Bus, ask: Callable[[], None]) -> str:
    """Stay connected until everything has come or time is over; return why it was refused."""
    running = asyncio.ensure_future(bus.run())
    waiting = asyncio.ensure_future(content.wait())
    rounds = round(_RECEIVE_S / _RETRY_S)
    try:
        # Report whatever has not come by then.
        while rounds and not (running.done() or waiting.done()):
            rounds -= 1
            await asyncio.wait(
                {running, waiting}, timeout=_RETRY_S, return_when=asyncio.FIRST_COMPLETED
            )
            ask()
    finally:
        running.cancel()
        waiting.cancel()
        ended = (await asyncio.gather(running, waiting, return_exceptions=True))[0]
    return str(ended) if isinstance(ended, BusError) else ""


def _of_login(config: TableConfig, login: _Login, services: dict[str, Presence]) -> DoctorFinding:
    name = login.settings.username or "anonymous"
    check = f"login of {login.section}"
    rules = f"write the broker's rules anew: `baccarat config broker`; {name} is to hear it"
    if login.trouble:
        remedy = f"look at {login.section}.username and its password, and at the broker's own file"
        return fails(check, f"{name}: {login.trouble}", remedy)
    if not login.connected:
        return fails(check, f"{name} gets no answer to its login", "look at the broker's log")
    if not _online(services.get(config.topics.status("table"), Presence())):
        return passes(check, f"{name} is let in; the table is not there to tell it more")
    if login.hears not in login.heard:
        return fails(check, f"{name} does not hear {login.hears}", rules)
    if login.user is not None and not login.answered:
        text = f"{name} asks as {login.user}, and no answer comes"
        return fails(check, text, f"{rules[:-11]} is to say request/{login.user}/+")
    return passes(check, f"{name} is let in, and hears what it must")


def _of_services(config: TableConfig, services: dict[str, Presence]) -> Iterator[DoctorFinding]:
    wanted = ["table", "shoe"]
    wanted += ["cage"] if config.cage else []
    if config.displays:
        wanted.append("console" if config.displays.users else "display")
    for service in wanted:
        known = services.get(config.topics.status(service), Presence())
        check = f"service {service}"
        if known.status is None:
            yield fails(check, "was never heard", f"start it: `baccarat run ... --only {service}`")
        elif not _online(known):
            since = f"is gone since {known.status.ts[:19]}Z"
            yield fails(check, since, "look at its log; start it")
        else:
            yield passes(check, "is there")


def _of_link(link: dict[str, Any]) -> DoctorFinding:
    state, hint = link.get("state"), link.get("hint") or ""
    text = f"{link.get('transport')}: {state}"
    if link.get("reason"):
        text += f": {link['reason']}"
    if state in {"down", "stalled"}:
        return fails("shoe link", text, hint or "look at cable, power and port")
    if hint:
        return warns("shoe link", text, hint)
    return passes("shoe link", text)


def _of_state(state: dict[str, Any]) -> Iterator[DoctorFinding]:
    for alarm in state.get("alarms", ()):
        yield fails(f"alarm {alarm['name']}", alarm["text"], "see the runbook's page of that name")
    for each in state.get("consumers", ()):
        check = f"consumer {each['name']}"
        if each["overdue"]:
            text = f"owes the acknowledgement of a settlement for {each['waiting_s']} s"
            yield fails(check, text, "look at that consumer: it is down, or cannot book")
        else:
            yield passes(check, f"has position {each['position']} of {state['position']}")
