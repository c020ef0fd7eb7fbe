"""Readings in the archive: a node goes by one name at a time."""

from benchmarks.instruments.postgres import Postgres
from property.archive.client import ArchiveClient
from property.archive.database import connect_archive, migrate
from property.archive.readings import ReadingStore, SaidReading, read_readings
from property.health.readings import Reading

_GONE = Reading(kind="node", name="127.0.0.1:4222", error="does not answer")
_BACK = Reading(kind="node", name="hub3", state="on")
_WORKER = Reading(kind="worker", name="w-1")


async def test_a_node_that_answers_again_is_not_kept_by_its_address_too(postgres: Postgres) -> None:
    url = postgres.database()
    migrate(url)
    async with await connect_archive(url) as connection, await ArchiveClient.open(url) as asker:
        store = ReadingStore(url, connection)
        for node in (_GONE, _BACK, _GONE):
            await store.keep([SaidReading.now(node), SaidReading.now(_WORKER)])
            await store.forget_gone([node.name])
            _, found = await read_readings(asker)
            assert {(each.kind, each.name) for each in found} == {
                ("node", node.name),
                ("worker", "w-1"),
            }
