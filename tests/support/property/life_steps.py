"""What happens to a property in its life, each mended by the documents' own commands."""

import asyncio
import shutil
from typing import Any

from events.types.table import AlarmRaised
from property.hub.connection import HubSettings, connect
from property.hub.replicated_event import HASH, POSITION
from property.hub.subjects import event_subject
from tests.support.property.life import PropertyLife
from tests.support.property.logs import carried_in
from tests.support.property.stories import forged_after

__all__ = ["add", "bring_up", "fork", "lose", "rename", "renew", "restore", "retire"]

_HUB, _WITNESS, _ARCHIVE = "hub.md", "witness.md", "archive.md"
_SET_UP, _GIVE_UP, _RENEW = "Set up the hub", "Give up a table", "Renew certificates"
_LOST, _STOPPED = "When something is lost or full", "A feed that has stopped"


def bring_up(life: PropertyLife, *tables: str) -> None:
    """From nothing to a property that is well."""
    life.tables += tables
    for each in tables:
        life.deal(each)
    life.plan()
    life.play(_HUB, _SET_UP, "pki init")
    life.play(_HUB, _SET_UP, "pki issue pki hub1")
    life.play(_HUB, _SET_UP, "curl")
    life.configure(_HUB, _SET_UP, 0, "office", "property.toml")
    life.play(_HUB, _SET_UP, "pki issue pki office")
    life.play(_HUB, _SET_UP, "streams")
    life.place("property")
    life.configure(_HUB, _SET_UP, 1, "property", "etc/baccarat/property.toml")
    life.play(_HUB, _SET_UP, "ssh property")
    life.play(_WITNESS, "Run it", "pki issue")
    _tell_keys(life)
    life.play(_WITNESS, "Run it", "enable")
    (key,) = life.play(_WITNESS, "Run it", "--witness")
    life.place("office", "witness.pub").write_text(key)
    for each in tables:
        _connect(life, each)
    life.play(_HUB, "Check it")
    life.until(lambda found: "unknown" in _codes(found), "nobody reports the database's disk")
    life.place("office", "var/lib/postgresql").mkdir()
    life.play(_ARCHIVE, "Run it", "df ")
    life.until(lambda found: "unknown" not in _codes(found), "it is known")
    _all_well(life)


def _codes(found: dict[str, Any]) -> set[str]:
    return {each["code"] for each in found["findings"]}


def _connect(life: PropertyLife, table: str) -> None:
    life.place(table)
    path = f"etc/baccarat/{table}-property.toml"
    life.configure(_HUB, _SET_UP, 2, table, path, table)
    life.play(_HUB, _SET_UP, "ssh b7", table)


def _tell_keys(life: PropertyLife) -> None:
    life.configure(_WITNESS, "Run it", 0, "witness", "etc/baccarat/property.toml")


def _all_well(life: PropertyLife) -> None:
    life.until_well()
    for each in life.tables:
        life.cosigned(each)


def _new_files(life: PropertyLife) -> None:
    life.play(_HUB, "Give the nodes new files", times=2)


def add(life: PropertyLife, table: str) -> None:
    """A table more."""
    life.tables.append(table)
    life.deal(table)
    life.plan()
    _new_files(life)
    _tell_keys(life)
    life.play(_HUB, "Add a table")
    _connect(life, table)
    _all_well(life)


def rename(life: PropertyLife, old: str, new: str) -> None:
    """A table has another name from now on; what it was stays readable."""
    whole = life.deal(old)
    life.until_well()
    life.play(_HUB, _GIVE_UP, "systemctl", old)
    _given_up(life, old)
    add(life, new)
    life.tables.append(old)
    (kept,) = life.play(_ARCHIVE, "Run it", "events", old)
    life.tables.remove(old)
    assert len(kept.splitlines()) == whole


def retire(life: PropertyLife, table: str) -> None:
    """A table whose uplink was killed never comes back."""
    life.units.pop(f"baccarat-uplink@{table}").kill()
    life.play(_HUB, _GIVE_UP, "retire", table)
    _given_up(life, table)
    _all_well(life)


def _uplink(found: dict[str, Any], table: str) -> str:
    origin = f"harbour/{table}"
    return next(str(each["uplink"]) for each in found["tables"] if each["table"] == origin)


def _given_up(life: PropertyLife, table: str) -> None:
    life.until(lambda found: _uplink(found, table) == "ended", "its uplink has ended")
    life.tables.remove(table)
    life.place("office", f"hub/passwords/harbour.{table}").unlink()
    life.plan()
    _new_files(life)


def renew(life: PropertyLife) -> None:
    """Every certificate ends within three weeks."""

    def ending(found: dict[str, Any]) -> set[str]:
        return {each["name"] for each in found["findings"] if each["kind"] == "certificate"}

    uplinks = {f"harbour/{each}" for each in life.tables}
    life.until(lambda found: ending(found) >= {*life.nodes, *uplinks}, "their ends are told")
    life.play(_HUB, _RENEW, times=4)
    life.until(lambda found: found["well"] and not ending(found), "none ends soon")
    _all_well(life)


def lose(life: PropertyLife, *given_up: str) -> None:
    """A node's store, and then the whole hub."""
    life.play(_HUB, _LOST, "hub2")
    _all_well(life)
    for node in life.nodes:
        life.units.pop(f"baccarat-hub@{node}").kill()
        shutil.rmtree(life.place(node, "var/lib/baccarat-hub"))
    life.play(_HUB, _LOST, "ssh hub1 systemctl start")
    life.play(_HUB, _SET_UP, "curl")
    life.play(_HUB, _SET_UP, "streams")
    for each in given_up:
        life.play(_HUB, _GIVE_UP, "retire", each)
    for each in life.tables:
        life.deal(each)
    _all_well(life)


def restore(life: PropertyLife) -> None:
    """The database is lost, and a day's backup is older than what was dealt since."""
    life.play(_ARCHIVE, "Maintain it", "backup")
    for each in life.tables:
        life.deal(each)
    life.until_well()
    life.units.pop("baccarat-property@archive").kill()
    life.lose_database()
    life.play(_ARCHIVE, "Maintain it", "restore")
    _all_well(life)
    life.play(_HUB, _LOST, "refill")
    _all_well(life)


def fork(life: PropertyLife, table: str) -> None:
    """Somebody had the table's password, and published events of his own."""
    origin = f"harbour/{table}"
    last = carried_in(life.log(table))[-1]
    false = forged_after(last, *(AlarmRaised(alarm="x", text=f"forged {n}") for n in range(2)))
    said = [(each.stored, {POSITION: str(each.position), HASH: each.hash.hex()}) for each in false]
    _publish(life, origin, table, said)

    def taken(found: dict[str, Any]) -> bool:
        heads = {each["table"]: each["position"] for each in found["tables"]}
        return bool(heads[origin] == false[-1].position)

    life.until(taken, "the forged events are archived")
    life.deal(table)
    life.until(lambda found: _uplink(found, table) == "stopped", "its uplink has stopped")
    life.play(_HUB, _STOPPED, "rm hub/passwords", table)
    _new_files(life)
    life.play(_HUB, _STOPPED, "nothing was done", table)
    life.play(_HUB, _STOPPED, "pub --password-file hub/passwords/keeper --by mary", table)
    life.play(_HUB, _STOPPED, "ssh witness", table)
    _all_well(life)
    shutil.copytree(life.log(table).parent, life.place("office"), dirs_exist_ok=True)
    life.play(_WITNESS, "Verify with it", "cosigned.txt", table)


def _publish(
    life: PropertyLife, who: str, table: str, said: list[tuple[bytes, dict[str, str]]]
) -> None:
    """Publish on a table's subject with a login of the hub."""
    office = life.place("office")
    hub = HubSettings(
        servers=life.servers,
        who=who,
        password=(office / "hub/passwords" / who.replace("/", ".")).read_text().strip(),
        ca=office / "pki/ca.pem",
        cert=office / "pki/office.pem",
        key=office / "pki/office.key",
    )

    async def publish() -> None:
        client = await connect(hub, 0)
        for body, headers in said:
            await client.publish(event_subject("harbour", table), body, headers=headers)
        await client.flush()
        await client.close()

    asyncio.run(publish())


def nonsense(life: PropertyLife, table: str) -> None:
    """A message on a table's subject is no event: a person looks at it, and clears the alarm."""
    _publish(life, "keeper", table, [(b"nonsense", {})])
    origin = f"harbour/{table}"
    life.until(lambda found: not found["well"], "the alarm stands")
    life.play(_ARCHIVE, "Read its alarms", instead=table)
    life.until(lambda found: found["well"], f"{origin}: the alarm is cleared")
