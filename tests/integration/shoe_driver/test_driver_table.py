"""Driver and table together: what may be dropped, and a disk that has lost what it promised."""

from pathlib import Path

from events.commands import ClearShoeError, LoadShoe, OpenBetting
from shoe_driver.journal.files import read_records
from shoe_driver.journal.records import MAGIC, encode_record
from shoe_driver.service.service import DriverService
from tests.support.brokers.brokers import Broker
from tests.support.machine.waiting import until
from tests.support.service.table_service import TOPICS, Table1, connected, played, service
from tests.support.shoe import shoe_line
from tests.support.shoe.ref_bytes import POWER_UP, READY, ref_frame
from tests.support.shoe.shoe_bytes import stream
from tests.support.shoe.shoe_line import ShoePort, running, until_another_second, written


async def test_what_a_coup_in_progress_may_need_is_not_settled(
    table: Table1, tmp_path: Path
) -> None:
    async with played(table, tmp_path):
        await until(lambda: table.acks[-1].settled == 7, "the whole coup is settled")
    settled = {ack.seq: ack.settled for ack in table.acks if ack.seq}
    assert all(settled[seq] == 2 for seq in settled if 2 < seq < 7), settled


def driver(port: int, shoe: ShoePort, journals: Path, profile: str = "enq-bcc") -> DriverService:
    return shoe_line.driver(port, shoe.url, journals, profile=profile, topics=TOPICS)


def lose(journals: Path, records: int) -> str:
    """The disk forgets the journal's last records, and what was noted of them; which it was."""
    path = shoe_line.only_journal(journals)
    kept = list(read_records(path))[:-records]
    path.write_bytes(MAGIC + b"".join(map(encode_record, kept)))
    path.with_suffix(".acked").unlink()
    return path.stem


async def test_a_disk_that_has_lost_what_the_table_has_is_an_alarm_and_a_new_journal(
    mosquitto: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    """Its numbers would be given again, and new cards be taken for copies of old ones."""
    async with connected(mosquitto.port) as table, service(mosquitto.port, tmp_path):
        async with running(driver(mosquitto.port, shoe, journals)):
            await until(lambda: table.acks and table.acks[-1].seq == 1, "the link is open")
            for seq, report in enumerate(("E 2", "e 2", "E 3", "e 3", "P", "P"), start=1):
                shoe.say(stream(report, first_seq=seq))
                await until(lambda n=seq: table.acks[-1].seq > n + 1, "it is acknowledged")
        await until(lambda: table.acks[-1].seq == 9, "the end of the link is acknowledged")
        old = lose(journals, records=5)
        async with running(driver(mosquitto.port, shoe, journals)):
            await until(
                lambda: any(alarm.alarm == "shoe_journal_lost" for alarm in table.alarms),
                "people are told",
            )
            await until(lambda: table.acks[-1].journal != old, "a new journal")
            [alarm] = [alarm for alarm in table.alarms if alarm.alarm == "shoe_journal_lost"]
            assert f"journal {old} that the table has (up to 9)" in alarm.text
            last = table.acks[-1].seq
            shoe.say(stream("E 2", first_seq=7))
            await until(lambda: table.acks[-1].seq > last, "the line goes on")
            await until(
                lambda: table.states[-1].link.errors == ("overdraw",), "what is new is heard"
            )


async def test_an_alarm_after_the_last_card_shuts_betting_until_a_named_person_says_it_is_over(
    mosquitto: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    """No line says that it is over, and no card comes that would show it."""
    async with (
        connected(mosquitto.port) as table,
        service(mosquitto.port, tmp_path),
        running(driver(mosquitto.port, shoe, journals, "text-line")),
    ):
        await until(lambda: table.acks and table.acks[-1].seq == 1, "the link is open")
        await table.must("dealer", LoadShoe(transaction="l", shoe="20261127-01"))
        shoe.say(b"<Alarm:E5 Door Open>\r\n")
        await until(lambda: table.states[-1].link.errors == ("alarm_e5",), "it stands")
        refused = await table.ask("dealer", OpenBetting(transaction="o1"))
        assert (refused.code, refused.text) == ("shoe_error", "the shoe reports alarm_e5")
        over = ClearShoeError(transaction="c1", code="alarm_e5", reason="the door is shut")
        assert (await table.ask("dealer", over)).code == "not_allowed"
        await table.must("supervisor", over)
        await table.must("dealer", OpenBetting(transaction="o2"))
        shoe.say(b"<Alarm:E5 Door Open>\r\n")
        await until(lambda: table.states[-1].link.errors == ("alarm_e5",), "it stands again")
        shoe.say(b"[Game]<Card:4S>\r\n")  # the reader works: the card itself ends it
        await until(lambda: table.states[-1].link.errors == (), "it is over")


async def test_betting_stays_shut_while_reports_wait_for_a_missing_one(
    mosquitto: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    """What waits has fallen before the wagers that would be laid."""
    async with (
        connected(mosquitto.port) as table,
        service(mosquitto.port, tmp_path),
        running(driver(mosquitto.port, shoe, journals, "ref-crc")),
    ):
        await until(lambda: table.acks and table.acks[-1].seq == 1, "the link is open")
        shoe.say(ref_frame(POWER_UP, 0))
        await until(lambda: table.acks[-1].seq == 3, "the core has the power-up")
        loaded = await table.must("dealer", LoadShoe(transaction="l", shoe="20261127-01"))
        # What is seen as catching up from here on is no late word about the power-up.
        await until(
            lambda: table.states[-1].position >= (loaded.position or 0), "its document is newer"
        )
        assert not table.states[-1].catching_up
        shoe.say(ref_frame(READY, 2))
        await until(lambda: table.states[-1].catching_up, "the core knows of it")
        refused = await table.ask("dealer", OpenBetting(transaction="o1"))
        assert refused.code == "catching_up"
        shoe.say(ref_frame(READY, 1))
        await until(lambda: not table.states[-1].catching_up, "all of it is told")
        await table.must("dealer", OpenBetting(transaction="o2"))


async def test_a_folder_that_was_put_back_is_an_alarm_until_its_old_journal_is_gone(
    mosquitto: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    """The table takes nothing of a journal that another has followed, and says why nobody bets."""
    old, copy = journals, tmp_path / "copy"

    def wrong(table: Table1) -> list[str]:
        return [each.text for each in table.states[-1].alarms if each.name == "driver_not_trusted"]

    async with connected(mosquitto.port) as table, service(mosquitto.port, tmp_path):
        async with running(driver(mosquitto.port, shoe, old)):
            await until(lambda: table.acks and table.acks[-1].seq == 1, "the link is open")
            first = written(old)
        old.rename(copy)
        await until_another_second(first)
        async with running(driver(mosquitto.port, shoe, journals)):
            await until(lambda: table.acks[-1].journal not in {"", first}, "a new journal")
        second = written(journals)
        async with running(driver(mosquitto.port, shoe, copy)):
            await until(lambda: wrong(table), "people are told")
            assert f"writes journal {first}, which {second} had followed" in wrong(table)[0]
            await table.ask("dealer", LoadShoe(transaction="l", shoe="20261127-01"))
            assert (await table.ask("dealer", OpenBetting(transaction="o"))).code == "catching_up"
        for each in list(copy.glob("*.journal")):
            each.rename(each.with_suffix(".kept"))
        async with running(driver(mosquitto.port, shoe, copy)):
            await until(lambda: not wrong(table) and not table.states[-1].catching_up, "it is over")
            await table.must("dealer", OpenBetting(transaction="p"))


async def test_two_drivers_at_once_are_an_alarm_and_nobody_bets(
    broker: Broker, shoe: ShoePort, journals: Path, tmp_path: Path
) -> None:
    """A controller's copy has its client id as well: each throws the other out of the broker."""
    other, copy = ShoePort(tmp_path / "other"), tmp_path / "copy"
    copy.mkdir()
    (copy / "session").write_text("4\n")

    def wrong(table: Table1) -> bool:
        alarms = {each.name for each in table.states[-1].alarms} if table.states else set()
        return "driver_not_trusted" in alarms

    async with (
        connected(broker.port) as table,
        service(broker.port, tmp_path),
        running(driver(broker.port, shoe, journals)),
    ):
        await until(lambda: table.acks and table.acks[-1].seq == 1, "the link is open")
        await table.ask("dealer", LoadShoe(transaction="l", shoe="20261127-01"))
        async with running(driver(broker.port, other, copy)):
            await until(lambda: wrong(table), "people are told")
            refused = await table.ask("dealer", OpenBetting(transaction="o"))
            assert refused.code == "catching_up"
    other.unplug()
