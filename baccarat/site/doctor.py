"""Check a table's machine: disk, keys, certificates, log, clock, port.

Check a table over its broker: whether it answers, which logins it accepts, and who is online. Each
login of the configuration is tried by itself, with a client id of its own, so that running services
are not disturbed. Each waits for a message that it must receive. Logins that may send requests ask
for an impossible replay; only the refusal matters.
"""

import asyncio
import os
import pwd
import re
import secrets
import socket
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from cryptography import x509
from msgspec import Struct

from baccarat.config.adoption import adoption_of
from baccarat.config.advice import advice
from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL
from baccarat.config.screens_check import screen_pairs
from baccarat.history.log_judging import Judging
from baccarat.rulebooks.known import known_rulebooks
from baccarat.rulebooks.library import is_file
from baccarat.site.credentials import outdated
from baccarat.site.findings import DoctorFinding, fails, passes, read_document, warns
from baccarat.site.logins import missing_record, verify_logins
from baccarat.site.machine_metrics import SYNCHRONISED
from baccarat.site.own_driver import running_driver
from events.clock import SystemClock
from events.errors import BusError, ConfigError, InputError, LinkError, TableError
from events.log.verify import VerificationResult, parse_kept_checkpoints, verify
from events.log.vouching import head_of
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.presence import Presence, read_status
from events.mqtt.topics import Topics
from events.proof.keys import load_signing_key
from events.proof.message_keys import load_message_keys
from events.proof.message_mac import MessageKey, add_mac
from events.tls import ClientTls, read_pair, tls_refusal
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.transports.endpoint import parse_url
from shoe_driver.transports.port import try_port

__all__ = [
    "SystemUser",
    "examine",
    "examine_broker",
    "examine_port",
    "first_unreadable",
    "owner_of",
]

_ROOT: Final = 0
_READ, _ENTER = 4, 1


class SystemUser(NamedTuple):
    """A user by number, with all groups.

    Args:
        name: the user's name on this machine.
    """

    name: str
    uid: int
    groups: frozenset[int]


def owner_of(place: Path) -> SystemUser | None:
    """Return the owner of a file or folder; None where it does not exist."""
    try:
        found = place.stat()
    except OSError:
        return None
    try:
        user = pwd.getpwuid(found.st_uid)
    except KeyError:
        return SystemUser(f"user {found.st_uid}", found.st_uid, frozenset({found.st_gid}))
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    return SystemUser(user.pw_name, found.st_uid, frozenset(groups))


def first_unreadable(path: Path, reader: SystemUser) -> Path | None:
    """Return the first folder that the reader may not enter, or the file that it may not read.

    Access lists beyond owner, group and others are not checked.

    Raises:
        OSError: it does not exist, or is not ours to look at.
    """
    whole = path.resolve(strict=True)
    for place in reversed(whole.parents):
        if not _may(place, reader, _ENTER):
            return place
    return None if _may(whole, reader, _READ) else whole


def _may(place: Path, reader: SystemUser, what: int) -> bool:
    if reader.uid == _ROOT:
        return True
    found = place.stat()
    if found.st_uid == reader.uid:
        bits = found.st_mode >> 6
    elif found.st_gid in reader.groups:
        bits = found.st_mode >> 3
    else:
        bits = found.st_mode
    return bool(bits & what)


_CONNECT_S: Final = 5.0
_TLS_SAYS_S: Final = 1.0
_BROKER_GONE: Final = (
    "start the broker (`systemctl status mosquitto` or `baccarat-broker` where it runs), or change "
    "bus.host and bus.port; leave the table's services running, they wait for it"
)
# The section and the unit of a service that tells of itself by another name.
_UNITS: Final = {"console": "displays", "display": "displays"}
# A busy machine takes its time over a TLS handshake and the hash of a password.
_LOGIN_S: Final = 30.0
# From the login on. The table publishes its state every five seconds.
_RECEIVE_S: Final = 8.0
# A table that is just starting receives no request yet, and the broker keeps none for it.
_RETRY_S: Final = 2.0
_BEYOND: Final = 2**53 - 1
_CLOCK: Final = SystemClock()
# Doubts of the record of logins in one line; the command shows all.
_DOUBTS_SHOWN: Final = 2


class _Login(Struct, kw_only=True):
    """A login under examination.

    Args:
        section: the section of the configuration that names it.
        settings: how it connects.
        hears: a topic that it must receive when the table runs.
        awaits: another one, which it receives when the driver runs; empty where there is none.
        user: the name under which it may send requests; None where it may not.
        keys: that user's message keys.
        heard: the newest message of each topic.
        services: the presence of each service, by its topic.
        online: those that were there when its time ended; another login may take longer.
        trouble: why it was not accepted.
        answered: its request was.
        connected: the broker accepted it.
    """

    section: str
    settings: BusSettings
    hears: str
    awaits: str = ""
    user: str | None = None
    keys: tuple[MessageKey, ...] = ()
    heard: dict[str, bytes] = {}
    services: dict[str, Presence] = {}
    online: set[str] = set()
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
    online: set[str] = set()
    for login in logins:
        heard |= login.heard
        services |= login.services
        online |= login.online
    found += [_of_login(config, login, online) for login in logins]
    if any(login.connected for login in logins if login.section == "bus"):
        found += _of_services(config, services, online)
    link = read_document(heard.get(config.topics.link_shoe, b""))
    if link:
        found.append(_of_link(link))
    found += _of_state(read_document(heard.get(config.topics.state, b"")))
    return found, config.topics.status("shoe") in online


def _online(service: Presence) -> bool:
    return service.online(_CLOCK.mono_us())


def _is_settled(service: Presence) -> bool:
    """Return whether the next heartbeat changes nothing.

    It may follow an online status with an old stamp, or one that came late and so looks as if it
    was written by a clock that is behind.
    """
    if _online(service):
        return not service.clock_fault()
    return service.status is not None and service.status.state == "offline"


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
        socket.create_connection((bus.host, bus.port), timeout=_CONNECT_S).close()
        refusal = context and tls_refusal(bus.host, bus.port, context, _TLS_SAYS_S)
    except OSError as error:
        return fails("broker", f"{where}: {error.strerror or error}", _BROKER_GONE)
    if not refusal:
        return None
    remedy = "is TLS spoken at that port, and is our certificate of the broker's CA?"
    if refusal.startswith("its certificate"):
        remedy = "bus.ca must be the CA that issued it; look at its names and its end"
    elif "expired" in refusal:
        remedy = f"`baccarat site renew {config.file}`; running services take it by themselves"
    return fails("broker", f"{where}: {refusal}", remedy)


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
        hears = topics.state if user else topics.display
        settings = config.own_bus("displays")
        keys = _own_keys(config, config.displays.message_key)
        yield _Login(section="displays", settings=settings, hears=hears, user=user, keys=keys)
    if config.scoreboard:
        settings = config.own_bus("scoreboard")
        yield _Login(section="scoreboard", settings=settings, hears=topics.display)
    if config.cage:
        settings, user = config.own_bus("cage"), config.cage.user
        keys = _own_keys(config, config.cage.message_key)
        yield _Login(section="cage", settings=settings, hears=topics.state, user=user, keys=keys)
    if config.metrics:
        yield _Login(section="metrics", settings=config.own_bus("metrics"), hears=topics.state)


def _own_keys(config: TableConfig, given: str | None) -> tuple[MessageKey, ...]:
    """Return the keys in a section's file; none where it cannot be used, which is said apart."""
    path = config.beside(given)
    try:
        return load_message_keys(path, config.origin) if path else ()
    except InputError:
        return ()


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
            bus.post(*_question(topics, login.user, login.keys, transaction))

    subscriptions = {login.hears: on_message}
    if login.section == "bus":
        # Only with the core's rights can it receive the driver.
        subscriptions = {topics.status("+"): on_message, topics.link_shoe: on_message}
    if login.user is not None:
        subscriptions[topics.response(login.user)] = on_answer
    name = f"{login.settings.client_id}-doctor-{secrets.token_hex(4)}"
    settings = msgspec.structs.replace(login.settings, client_id=name)
    bus = Bus(settings, subscriptions=subscriptions, on_connect=on_connect)
    login.trouble = await _until(content, bus, ask, lambda: login.connected)
    login.online = {topic for topic, service in login.services.items() if _online(service)}


def _question(
    topics: Topics, user: str, keys: Sequence[MessageKey], transaction: str
) -> tuple[str, bytes]:
    """Return the topic and the message of a replay that a table refuses."""
    topic = topics.request(user, "replay")
    body = msgspec.json.encode({"transaction": transaction, "from": _BEYOND, "actor": user})
    return topic, add_mac(keys[0], topic, body, _CLOCK.utc_ns()) if keys else body


def _note(services: dict[str, Presence], message: Message) -> None:
    """Note a service's presence, if the message is its status."""
    if status := read_status(message.payload):
        services[message.topic] = services.get(message.topic, Presence()).with_message(
            status, retained=message.retain, utc_ns=_CLOCK.utc_ns(), mono_us=_CLOCK.mono_us()
        )


async def _until(
    content: asyncio.Event, bus: Bus, ask: Callable[[], None], connected: Callable[[], bool]
) -> str:
    """Stay connected until everything has come or time is over; return why it was refused."""
    running = asyncio.ensure_future(bus.run())
    waiting = asyncio.ensure_future(content.wait())
    logging_in, receiving = round(_LOGIN_S / _RETRY_S), round(_RECEIVE_S / _RETRY_S)
    try:
        # Report whatever has not come by then.
        while logging_in and receiving and not (running.done() or waiting.done()):
            logging_in, receiving = (
                (logging_in, receiving - 1) if connected() else (logging_in - 1, receiving)
            )
            await asyncio.wait(
                {running, waiting}, timeout=_RETRY_S, return_when=asyncio.FIRST_COMPLETED
            )
            ask()
    finally:
        running.cancel()
        waiting.cancel()
        ended = (await asyncio.gather(running, waiting, return_exceptions=True))[0]
    return str(ended) if isinstance(ended, BusError) else ""


def _of_login(config: TableConfig, login: _Login, online: Collection[str]) -> DoctorFinding:
    name = login.settings.username or "anonymous"
    check = f"login of {login.section}"
    rules = f"write the broker's rules again: `baccarat site apply {config.file}`; {name} is to"
    if login.trouble:
        remedy = f"look at {login.section}.username and its password, and at the broker's own file"
        return fails(check, f"{name}: {login.trouble}", remedy)
    if not login.connected:
        return fails(check, f"{name} gets no answer to its login", "look at the broker's log")
    if config.topics.status("table") not in online:
        return passes(check, f"{name} is let in; the table is not there to tell it more")
    if login.hears not in login.heard:
        return fails(check, f"{name} does not hear {login.hears}", f"{rules} hear it")
    if login.user is not None and not login.answered:
        text = f"{name} asks as {login.user}, and no answer comes"
        return fails(check, text, f"{rules} publish request/{login.user}/+")
    return passes(check, f"{name} is let in, and hears what it must")


def _of_services(
    config: TableConfig, services: dict[str, Presence], online: Collection[str]
) -> Iterator[DoctorFinding]:
    wanted = ["table", "shoe"]
    wanted += ["cage"] if config.cage else []
    if config.displays:
        wanted.append("console" if config.displays.users else "display")
    for service in wanted:
        topic = config.topics.status(service)
        known = services.get(topic, Presence())
        check, only = f"service {service}", _UNITS.get(service, service)
        unit = f"baccarat-{only}@{config.table}"
        start = f"`systemctl start {unit}`, or `baccarat run {config.file} --only {only}`"
        if known.status is None:
            yield fails(check, "was never heard", start)
        elif topic not in online:
            since = f"is gone since {known.status.ts[:19]}Z"
            yield fails(check, since, f"look at its log, `journalctl -u {unit}`; {start}")
        elif fault := known.clock_fault():
            yield fails(check, fault, "set the clocks of both machines by one time server")
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
        yield fails(f"alarm {alarm['name']}", alarm["text"], "follow its page in docs/alarms")
    for each in state.get("consumers", ()):
        check = f"consumer {each['name']}"
        if each["overdue"]:
            text = f"owes the acknowledgement of a settlement for {each['waiting_s']} s"
            yield fails(check, text, "look at that consumer: it is down, or cannot book")
        else:
            yield passes(check, f"has position {each['position']} of {state['position']}")


_MEGABYTE: Final = 1024 * 1024
_FREE_LEAST: Final = 200 * _MEGABYTE
_FREE_WELL: Final = 2_000 * _MEGABYTE
_CERTIFICATE_WELL: Final = timedelta(days=30)
# Two machines' clocks may differ, and an append is microseconds before its commit.
_AHEAD_MOST_S: Final = 2.0
_BACKUP_OLD_S: Final = 3 * 3600
_OTHERS: Final = 0o077


def examine(config: TableConfig, backups: Path) -> Iterator[DoctorFinding]:
    """Yield the findings of every check that needs neither broker nor shoe.

    Args:
        config: the table's.
        backups: the folder of its log's copies; skipped where it does not exist.
    """
    checks: tuple[Callable[[TableConfig], Iterator[DoctorFinding]], ...] = (
        _disk,
        _secrets,
        _signing,
        _message_keys,
        _login_record,
        _certificates,
        _screens_pairs,
        _outdated,
        _own_files,
        _rulebook,
    )
    for check in checks:
        yield from _as_far_as_allowed(check(config))
    yield from _as_far_as_allowed(_of_history(config, backups))


def _as_far_as_allowed(findings: Iterator[DoctorFinding]) -> Iterator[DoctorFinding]:
    """Yield the findings; what this user may not see is one too, and no fault of the table."""
    try:
        yield from findings
    except PermissionError as error:
        text = f"{error.filename} is not ours to look at"
        yield warns("permission", text, "run the doctor as root for the rest of this check")


def _of_history(config: TableConfig, backups: Path) -> Iterator[DoctorFinding]:
    # Verifying a log of a year takes a while, so it is read once.
    verdict, cited = _verified(config)
    yield _of_log(config, verdict)
    yield from _of_rulebooks(config, cited)
    yield _of_clock(verdict)
    yield from _backups(config, backups)


def examine_port(config: TableConfig) -> DoctorFinding:
    """Open the shoe's port once; leave it alone where the table's own driver has it."""
    if own := running_driver(config.table, config.journal_path):
        return passes("shoe port", f"the table's own driver has it ({own}); leave it running")
    profile = load_profile(config.profile_name)
    try:
        try_port(parse_url(config.shoe.url, baud=profile.serial.baud, line=profile.serial))
    except LinkError as error:
        reason, hint = getattr(error, "reason", str(error)), getattr(error, "hint", "")
        return fails("shoe port", reason, hint or "mend it, or change shoe.url")
    return passes("shoe port", f"{config.shoe.url} can be opened")


def _disk(config: TableConfig) -> Iterator[DoctorFinding]:
    places = {"log": config.log_path.parent, "journal": config.journal_path}
    for name, folder in places.items():
        check = f"disk of the {name}"
        there = next((each for each in (folder, *folder.parents) if each.exists()), folder)
        try:
            found = os.statvfs(there)
        except OSError as error:
            yield fails(check, f"{there}: {error.strerror}", "mount it, or change [data]")
            continue
        free = found.f_bavail * found.f_frsize
        text = f"{there}: {free // _MEGABYTE} MB free"
        if found.f_flag & os.ST_RDONLY:
            yield fails(check, f"{there} is read-only", "mend the disk, and mount it writable")
        elif not folder.parent.is_dir():
            yield fails(check, f"{folder} is not there", f"make it, for the {name}'s service")
        elif free < _FREE_LEAST:
            yield fails(check, text, "make room: nothing is dealt once the disk is full")
        elif free < _FREE_WELL:
            yield warns(check, text, "make room, or let old raw journals go ([shoe.keep])")
        else:
            yield passes(check, text)


def _secrets(config: TableConfig) -> Iterator[DoctorFinding]:
    for name, given in config.password_files().items():
        path, check = config.beside(given), f"{name}.password_file"
        if given.startswith(CREDENTIAL):
            continue
        try:
            mode, said = path.stat().st_mode & 0o777, path.read_text("utf-8", "replace").strip()
        except PermissionError:
            yield warns(check, f"{path} is not ours to read", "run the doctor as root")
            continue
        except OSError as error:
            remedy = "copy it there from the broker's `secrets`, as the operator's guide says"
            yield fails(check, f"{path}: {error.strerror}", remedy)
            continue
        if mode & _OTHERS:
            yield fails(
                check,
                f"{path} can be read by others (mode {mode:04o})",
                f"chmod 600 {path}, and give that login another password",
            )
        elif not said:
            yield fails(check, f"{path} is empty", "write the password into it")
        else:
            yield passes(check, f"{path} is its owner's alone")


def _signing(config: TableConfig) -> Iterator[DoctorFinding]:
    given = config.checkpoints.key
    path = config.beside(given)
    if path is None or given is None:
        yield warns(
            "signing key",
            "no checkpoint is signed: nobody could prove that the log was cut",
            "make a key with `baccarat keys new`, and name it in checkpoints.key",
        )
        return
    if given.startswith(CREDENTIAL) and not path.exists():
        yield passes("signing key", f"{given} is handed to the table's service alone")
        return
    before = config.beside(config.checkpoints.retiring)
    try:
        key, old = load_signing_key(path), before and load_signing_key(before)
    except InputError as error:
        yield fails("signing key", str(error), "without it the table does not start")
        return
    if old:
        yield warns(
            "signing key",
            f"checkpoints.retiring hands the log over from {old.verifier} to {key.verifier}",
            "compare both with the keys that were given out; take retiring out when all have both",
        )
    yield passes("signing key", f"{path} can be used")


def _message_keys(config: TableConfig) -> Iterator[DoctorFinding]:
    given = config.message_keys
    if given is None:
        yield warns(
            "message keys",
            "there are none: whoever runs the broker can forge cards and requests",
            f"`baccarat keys messages {config.file}`",
        )
        return
    if given.mode == "trust-broker":
        text = "the site has chosen to trust the broker: whoever runs it can forge anything"
        yield warns("message keys", text, 'make keys, and say mode = "required"')
    elif given.mode == "enrolling":
        text = "keys are being handed out: messages without a code still count"
        yield warns("message keys", text, 'say mode = "required" once all have theirs')
    if given.without:
        text = f"requests need no key where they come from {', '.join(given.without)}"
        yield warns("message keys", text, "give those users keys, and empty message_keys.without")
    named = {"message_keys.file": given.file}
    for section in ("shoe", "displays", "cage"):
        named[f"{section}.message_key"] = getattr(getattr(config, section), "message_key", None)
    known = {key.id for key in _own_keys(config, given.file)}
    for name, value in named.items():
        path = config.beside(value)
        if path is None or value is None or (value.startswith(CREDENTIAL) and not path.exists()):
            continue
        try:
            keys = load_message_keys(path, config.origin)
        except InputError as error:
            yield fails(name, str(error), f"make it again: `baccarat keys messages {config.file}`")
            continue
        if known and keys[0].id not in known:
            text = f"{path}: the table does not know its newest key {keys[0].id}"
            yield fails(
                name, text, f"copy it where it belongs: `baccarat site apply {config.file}`"
            )
        else:
            yield passes(name, f"{path} can be used")


def _login_record(config: TableConfig) -> Iterator[DoctorFinding]:
    given = config.displays
    path = config.beside(given.record) if given else None
    if path is None:
        if missing := missing_record(config):
            remedy = "name the file again, and ask who took it out; or adopt the log"
            yield fails("login record", missing, remedy)
            return
        if given is None or given.users is None:
            return
        text = "nobody records who logs in, who fails, and whose role changes"
        yield warns("login record", text, 'name a file: displays.record = "logins.jsonl"')
        return
    try:
        found = verify_logins(config, path)
    except OSError as error:
        yield fails("login record", f"{path}: {error.strerror}", "run the doctor as root")
        return
    if found.fault:
        remedy = "keep the file: somebody has changed it; put a whole one there, or adopt the log"
        yield fails("login record", f"{path}: {found.says}", remedy)
    elif found.doubts:
        remedy = f"ask who was there: `baccarat user record {config.file}`"
        yield warns("login record", f"{path}: {'; '.join(found.doubts[-_DOUBTS_SHOWN:])}", remedy)
    else:
        yield passes("login record", f"{path}: {len(found.entries)} entries; {found.says}")


def _certificates(config: TableConfig) -> Iterator[DoctorFinding]:
    named = {"bus.ca": config.bus.ca, "bus.cert": config.bus.cert}
    for name in ("displays", "scoreboard"):
        section = getattr(config, name)
        named[f"{name}.cert"] = section.cert if section else None
    now, renew = datetime.now(UTC), f"`baccarat site renew {config.file}`"
    for key, given in named.items():
        path = config.beside(given)
        if path is None:
            continue
        try:
            ends = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
        except (OSError, ValueError) as error:
            yield fails(key, f"{path}: {error}", "issue it with `baccarat pki issue`")
            continue
        text = f"{path} holds until {ends.date()}"
        if ends <= now:
            yield fails(key, f"{path} has expired on {ends.date()}", renew)
        elif ends - now < _CERTIFICATE_WELL:
            yield warns(key, text, renew)
        else:
            yield passes(key, text)


def _screens_pairs(config: TableConfig) -> Iterator[DoctorFinding]:
    """Check that a screen's key fits its certificate; the bus's pair is tried at the broker."""
    for name, cert, key in screen_pairs(config):
        try:
            read_pair(cert, key, name)
        except ConfigError as error:
            remedy = (
                "give the pair that was made together; a key in the service manager's store is "
                "copied there again, and the service started again"
            )
            yield fails(f"{name}.key", str(error), remedy)
        else:
            yield passes(f"{name}.key", f"{key} is that of {cert}")


def _outdated(config: TableConfig) -> Iterator[DoctorFinding]:
    for unit, credential in outdated(config.table):
        text = f"runs by another {credential} than is in the store now"
        yield warns(
            unit,
            text,
            f"`baccarat site apply {config.file}`, or between two coups `systemctl restart {unit}`",
        )


def _own_files(config: TableConfig) -> Iterator[DoctorFinding]:
    """Check that the services can read the site's own rulebooks and wire profile.

    A service's user is the owner of its folder.
    """
    for service, folder, names in (
        ("table", config.log_path.parent, (config.rulebook_name, *config.library_files)),
        ("shoe", config.journal_path, (config.profile_name,)),
    ):
        reader = owner_of(folder)
        if reader is not None:
            for name in filter(is_file, names):
                yield _readable(Path(name), service, reader)


def _rulebook(config: TableConfig) -> Iterator[DoctorFinding]:
    adoption = adoption_of(config)
    remedy = "give the table a rulebook without it; `baccarat rulebook check` names all faults"
    for fault in adoption.faults:
        text = f"{adoption.rulebook}: {fault.code}: {fault}"
        found = warns if adoption.in_force else fails
        yield found("rulebook", text, remedy)
    if not adoption.faults:
        yield passes("rulebook", f"{adoption.rulebook} contradicts nothing")
    for each in advice(config):
        yield warns(each.key, each.text, each.remedy)


def _readable(path: Path, service: str, reader: SystemUser) -> DoctorFinding:
    try:
        stands = first_unreadable(path, reader)
    except OSError as error:
        return fails(f"file {path.name}", f"{path}: {error.strerror}", "put it there")
    if stands is None:
        return passes(f"file {path.name}", f"{reader.name} may read it, for the {service}")
    text = f"{stands} is closed to {reader.name}, as whom the {service}'s service reads {path.name}"
    remedy = f"chgrp baccarat {path}; chmod 640 {path}"
    if stands.is_dir():
        remedy = f"let {reader.name} into {stands}, or put {path.name} beside the configuration"
    return fails(f"file {path.name}", text, remedy)


def _verified(
    config: TableConfig,
) -> tuple[VerificationResult | str | None, Mapping[str, str]]:
    """Return the verdict of a verification, and which rulebooks the log cites, by hash.

    The verdict is why there is none, in one line, or None without a log.
    """
    path = config.log_path
    if not path.exists():
        return None, {}
    judges: list[Judging] = []

    def judging(origin: str) -> Judging:
        judges.append(Judging(path, origin))
        return judges[0]

    head = config.beside(config.checkpoints.head) or head_of(path)
    try:
        held = parse_kept_checkpoints(str(head), head.read_bytes()) if head.is_file() else ()
        verdict = verify(path, held=held, judging=judging)
    except (TableError, sqlite3.Error, OSError) as error:
        return str(error), {}
    return verdict, judges[0].counts.cited if judges else {}


def _of_log(config: TableConfig, verdict: VerificationResult | str | None) -> DoctorFinding:
    path = config.log_path
    if verdict is None:
        return passes("log", f"{path} is not there yet; the table will begin it")
    if isinstance(verdict, str):
        return fails("log", verdict, "leave the file as it is, and restore a verified backup")
    if verdict.origin not in {"", config.origin}:
        text = f"{path} is the log of {verdict.origin}"
        return fails("log", text, f"it is not {config.origin}'s")
    if not verdict.ok:
        where = f" at position {verdict.first_bad}" if verdict.first_bad else ""
        return fails(
            "log",
            f"{path}: {verdict.reason}{where}",
            "leave the file as it is, it is evidence: run the build that wrote it, where that is "
            "a newer one, or restore a verified backup",
        )
    text = f"{path}: {verdict.events} events, {verdict.checkpoints} checkpoints, all sound"
    for each in verdict.hand_overs:
        text += f"; at {each.position} the key {each.before} handed over to {each.after}"
    return passes("log", text)


def _of_rulebooks(config: TableConfig, cited: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Name each rulebook of the log that neither this build nor the configuration knows."""
    try:
        known = known_rulebooks((config.rulebook_name, *config.library_files))
    except TableError:  # said elsewhere
        known = known_rulebooks()
    for digest, name in cited.items():
        if digest not in known:
            yield warns(
                "rulebooks",
                f"the log cites {name}, SHA-256 {digest}, which neither this build nor the "
                "configuration knows",
                "compare it with the rulebook that the house approved, and name that in library",
            )


def _of_clock(verdict: VerificationResult | str | None) -> DoctorFinding:
    newest = verdict.newest if isinstance(verdict, VerificationResult) else ""
    behind = _seconds(newest) - time.time() if newest else 0.0
    if behind > _AHEAD_MOST_S:
        return fails(
            "clock",
            f"the machine's clock is {behind:.0f} s behind the log's newest event",
            "set it; order in the log never depends on it, but the times that people read do",
        )
    if any(path.exists() for path in SYNCHRONISED):
        return passes("clock", "it is kept by the network's time")
    return warns("clock", "nothing keeps the clock", "run systemd-timesyncd or chrony")


def _seconds(at: str) -> float:
    """Return the seconds of an event's stamp, which has nanoseconds; 0 for an empty log."""
    try:
        return datetime.fromisoformat(f"{at[:26]}+00:00").timestamp()
    except ValueError:
        return 0.0


def _backups(config: TableConfig, folder: Path) -> Iterator[DoctorFinding]:
    if not folder.is_dir():
        return
    # Of this table alone: another one's name may begin with it.
    named = re.compile(rf"{re.escape(config.table)}-[0-9]{{8}}T[0-9]{{6}}Z\.sqlite")
    found = [each for each in folder.iterdir() if named.fullmatch(each.name)]
    copies = sorted(found, key=lambda each: each.stat().st_mtime)
    remedy = f"systemctl status baccarat-backup@{config.table}.timer"
    if not copies:
        yield fails("backup", f"{folder} holds no copy of {config.table}'s log", remedy)
        return
    age = time.time() - copies[-1].stat().st_mtime
    text = f"the newest copy is {age / 3600:.1f} hours old"
    yield fails("backup", text, remedy) if age > _BACKUP_OLD_S else passes("backup", text)
