"""Run the table core from a table's configuration."""

import asyncio
import secrets
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from baccarat.config.errors import ConfigFaults
from baccarat.config.form import TableConfig
from baccarat.config.rule_faults import rule_faults
from baccarat.history.log_judging import Judging, opening_judge
from baccarat.processes.inspection import inspect_in_background
from baccarat.rulebooks.editions import (
    ProfileKeeper,
    available_rulebooks,
    keep_profiles,
    keep_rulebooks,
)
from baccarat.rulebooks.library import source_of
from baccarat.services.access import SiteAccess
from baccarat.services.registry import Probe
from baccarat.services.wire_reading import WireReading
from events.clock import SystemClock
from events.errors import ConfigError, InputError, LogRefused
from events.file_stamp import FileWatch
from events.log.store import EventLog
from events.log.vouching import LogKeys, head_of
from events.mqtt.process import no_probe
from events.proof.keys import load_signing_key
from events.structured_log import structlog
from shoe_driver.profiles.catalogue import load_profile
from table_core.process.checkpoints import CheckpointKeys
from table_core.rulebooks.shipped import shipped_books
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.table_limits import limit_faults
from table_core.service.history_child import HistoryProcess
from table_core.service.service import TableService
from table_core.service.snapshots import inspect_log
from table_core.service.table import Table
from table_core.trust.access import SHOE

__all__ = ["adopt_log", "check", "log_keys", "serve", "table_on"]

# Seconds between two looks at the file of the key that signs.
_KEY_LOOK_S: Final = 1.0
_SALT_KEY_BYTES: Final = 32

_log: Final = structlog.get_logger()


async def serve(config: TableConfig, stop: asyncio.Event, probe: Probe = no_probe) -> None:
    """Run the table core until `stop` is set.

    Raises:
        TableError: the rulebook, the log or the broker cannot be used; one line names it.
    """
    if faults := [*rule_faults(config)]:
        raise ConfigFaults(config.origin, faults)
    keys, access = _checkpoint_keys(config), SiteAccess(config)
    trust = log_keys(config, keys) if keys else None
    with ExitStack() as stack:
        judging = opening_judge(config.log_path, config.origin)
        log = stack.enter_context(EventLog.open(config.log_path, config.origin, trust, judging))
        table = table_on(log, config, access, probe, keys)
        table.writer.configure_rotation(config.data.new_file)
        if keys is None:
            _log.warning("checkpoints.off", why="no checkpoints.key is configured")
        else:  # before anything is appended that would be far from money that a kill left
            table.sign_checkpoints(keys)
        table.configure_limits(config.limits.as_event() if config.limits else None)
        watching = asyncio.ensure_future(_follow_key(config, table))
        stack.callback(watching.cancel)
        service = TableService(
            table,
            config.bus_settings("table"),
            unsigned=keys is None,
            inspection=partial(inspect_in_background, log.path) if log.checked_from > 1 else None,
            consumers=[f"{config.cage.user}/{config.cage.consumer}"] if config.cage else (),
            past=HistoryProcess([sys.executable, "-m", "baccarat.history.process", log.path]),
        )
        await service.run(stop)


async def _follow_key(config: TableConfig, table: Table) -> None:
    """Give the running table each new key that its file gets; the old one signs next to it."""
    path = config.beside(config.checkpoints.key)
    if path is None or table.checkpoints is None:
        return
    watch = FileWatch(path)
    while True:
        await asyncio.sleep(_KEY_LOOK_S)
        if not watch.changed():
            continue
        try:
            table.checkpoints.follow(load_signing_key(path))
        except InputError as error:
            _log.error("checkpoint.key_unreadable", reason=str(error))


def table_on(
    log: EventLog,
    config: TableConfig,
    access: SiteAccess,
    probe: Probe = no_probe,
    keys: CheckpointKeys | None = None,
) -> Table:
    """Return the table of a configuration on its open log, which asks `access` who may do what.

    With `keys` it signs what a kill left first.

    Raises:
        TableError: the rulebook or the log cannot be used.
    """
    in_force, library = _rulebooks(log.path, config)
    profiles = keep_profiles(log.path, [config.profile_name])
    table = Table(
        log,
        config.topics,
        in_force,
        SystemClock(),
        roles=access().roles,
        result_required=load_profile(config.profile_name).result == "required",
        library=library,
        property_scale=config.pay_scale,
        dealer_accounts=config.dealers == "accounts",
        sign_corrections_from=config.sign_corrections_from,
        salt_key=secrets.token_bytes(_SALT_KEY_BYTES),
        probe=probe,
        keys=keys,
        head=log_keys(config, keys).head if keys else None,
    )
    if table.rulebook != in_force:
        _log.warning("rulebook.waits", until="this table starts between two coups")
    for fault in limit_faults(table.rulebook, table.state.limits):
        _log.warning("limits.unfit", rulebook=table.rulebook.id, why=fault)
    table.access = access
    table.on_profile_cited = WireReading(
        log.path,
        ProfileKeeper(log.path, profiles, config.journal_path),
        lambda: access().bus.must_prove(SHOE),
    )
    return table


def adopt_log(config: TableConfig, by: str, reason: str) -> int:
    """Vouch for a log whose past the table did not sign, in a person's name; return its events.

    Raises:
        TableError: no key is configured, a table has the log, it cannot be used, or its record
            does not follow from itself.
    """
    keys = _checkpoint_keys(config)
    if keys is None:
        raise ConfigError("checkpoints.key: name the key that signs; without one nobody vouches")
    head = log_keys(config, keys).head
    kept = head.read_text("utf-8", "replace") if head.is_file() else ""
    with EventLog.open(config.log_path, config.origin) as log:
        if not log.position:
            raise InputError(f"{log.path}: empty; there is nothing to adopt")
        if fault := inspect_log(log.path, judging=partial(Judging, log.path)):
            raise LogRefused(f"{log.path}: {fault}")
        table = table_on(log, config, SiteAccess(config))
        table.head = head
        table.adopt_log(by=by, reason=reason, kept=kept)
        table.sign_checkpoints(keys)
        table.make_due_checkpoint()
        return log.position


def log_keys(config: TableConfig, keys: CheckpointKeys) -> LogKeys:
    """Return what the table trusts of its own when it opens its log.

    A private key proves that the head is the table's. A public key that a file names proves
    nothing: anybody who can write the file could name another's.
    """
    own = {key.verifier for key in (keys.signing, keys.retiring) if key}
    head = config.beside(config.checkpoints.head) or head_of(config.log_path)
    named = [*map(source_of, [config.rulebook_name, *config.library_files])]
    books = [*(parse_rulebook("configured", each) for each in named), *shipped_books().values()]
    return LogKeys(frozenset(own), head, {book.hash: book.currency for book in books})


def check(config: TableConfig) -> None:
    """Check the configured files before anything starts.

    Raises:
        InputError: a file of keys or the users file cannot be used.
    """
    _checkpoint_keys(config)
    SiteAccess(config)


def _rulebooks(log: Path, config: TableConfig) -> tuple[Rulebook, tuple[Rulebook, ...]]:
    """Return the rulebook in force and all at hand, after keeping each next to the log."""
    hashes = keep_rulebooks(log, [config.rulebook_name, *config.library_files])
    found = available_rulebooks(log)
    for line in found.left_out:
        _log.warning("rulebook.left_out", reason=line)
    by_id = sorted(found.books.values(), key=lambda book: book.id)
    return found.books[hashes[0]], tuple(by_id)


def _checkpoint_keys(config: TableConfig) -> CheckpointKeys | None:
    """Return the keys that sign checkpoints; None where no key is configured."""
    given = config.checkpoints
    key, before = config.beside(given.key), config.beside(given.retiring)
    if key is None:
        if given.retiring is not None:
            raise ConfigError("checkpoints.retiring: name the key that follows it in `key`")
        return None
    retiring = load_signing_key(before) if before else None
    return CheckpointKeys(load_signing_key(key), retiring, given.every_s)
