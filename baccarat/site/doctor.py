"""Check a table's machine: disk, keys, certificates, log, clock, port."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509

from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL
from baccarat.rulebooks.library import is_file
from baccarat.site.credentials import outdated
from baccarat.site.findings import DoctorFinding, fails, passes, warns
from baccarat.site.readable import SystemUser, first_unreadable, owner_of
from events.errors import ConfigError, InputError, LinkError, TableError
from events.log.verify import VerificationResult, verify
from events.proof.keys import load_signing_key
from events.tls import read_pair
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.transports.endpoint import parse_url
from shoe_driver.transports.port import try_port

__all__ = ["examine", "examine_port"]

_MEGABYTE: Final = 1024 * 1024
_FREE_LEAST: Final = 200 * _MEGABYTE
_FREE_WELL: Final = 2_000 * _MEGABYTE
_CERTIFICATE_WELL: Final = timedelta(days=30)
# Two machines' clocks may differ, and an append is microseconds before its commit.
_AHEAD_MOST_S: Final = 2.0
_SYNCHRONISED: Final = Path("/run/systemd/timesync/synchronized")
_SAID_BY_CHRONY: Final = Path("/run/chrony/chronyd.sock")
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
        _certificates,
        _screens_pairs,
        _outdated,
        _own_files,
    )
    for check in checks:
        yield from check(config)
    # Verifying a log of a year takes a while, so it is read once.
    verdict = _verified(config.log_path)
    yield _of_log(config, verdict)
    yield _of_clock(verdict)
    yield from _backups(config, backups)


def examine_port(config: TableConfig) -> DoctorFinding:
    """Open the shoe's port once. If the driver has the port, ask the driver instead."""
    profile = load_profile(config.profile_name)
    try:
        try_port(parse_url(config.shoe.url, baud=profile.serial.baud))
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
            yield fails(check, f"{path} is not ours to read", "run the doctor as root")
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
    try:
        load_signing_key(path)
    except InputError as error:
        yield fails("signing key", str(error), "without it the table does not start")
        return
    yield passes("signing key", f"{path} can be used")


def _certificates(config: TableConfig) -> Iterator[DoctorFinding]:
    named = {"bus.ca": config.bus.ca, "bus.cert": config.bus.cert}
    for name in ("displays", "scoreboard"):
        section = getattr(config, name)
        named[f"{name}.cert"] = section.cert if section else None
    now = datetime.now(UTC)
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
            yield fails(key, f"{path} has expired on {ends.date()}", "`baccarat pki renew`")
        elif ends - now < _CERTIFICATE_WELL:
            yield warns(key, text, "`baccarat pki renew`, and start the services again")
        else:
            yield passes(key, text)


def _screens_pairs(config: TableConfig) -> Iterator[DoctorFinding]:
    """Check that a screen's key fits its certificate; the bus's pair is tried at the broker."""
    for name in ("displays", "scoreboard"):
        section = getattr(config, name)
        cert, key = (config.beside(getattr(section, each, None)) for each in ("cert", "key"))
        if cert is None or key is None or section.key.startswith(CREDENTIAL):
            continue
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
        yield warns(unit, text, f"between two coups: `systemctl restart {unit}`")


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


def _verified(path: Path) -> VerificationResult | str | None:
    """Return the verdict of a verification, or why there is none; None without a log."""
    if not path.exists():
        return None
    try:
        return verify(path)
    except (TableError, sqlite3.Error) as error:
        return str(error)


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
    return passes("log", text)


def _of_clock(verdict: VerificationResult | str | None) -> DoctorFinding:
    newest = verdict.newest if isinstance(verdict, VerificationResult) else ""
    behind = _seconds(newest) - time.time() if newest else 0.0
    if behind > _AHEAD_MOST_S:
        return fails(
            "clock",
            f"the machine's clock is {behind:.0f} s behind the log's newest event",
            "set it; order in the log never depends on it, but the times that people read do",
        )
    if _SYNCHRONISED.exists() or _SAID_BY_CHRONY.exists():
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
    copies = sorted(folder.glob(f"{config.table}-*.sqlite"), key=lambda each: each.stat().st_mtime)
    remedy = f"systemctl status baccarat-backup@{config.table}.timer"
    if not copies:
        yield fails("backup", f"{folder} holds no copy of {config.table}'s log", remedy)
        return
    age = time.time() - copies[-1].stat().st_mtime
    text = f"the newest copy is {age / 3600:.1f} hours old"
    yield fails("backup", text, remedy) if age > _BACKUP_OLD_S else passes("backup", text)
