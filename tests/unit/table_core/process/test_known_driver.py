"""When the table trusts its driver: by what it says of itself, of its link and of its journal."""

import pytest

from events.clock import rfc3339
from events.mqtt.presence import Status, read_status
from events.types import LinkStatus
from table_core.process.known_driver import KnownDriver
from table_core.state.table import ShoeLink
from tests.support.shoe.link_words import link_up

NOON = 1_796_040_000 * 10**9
SECOND = 1_000_000
HAS = ShoeLink(journal="j1", seq=9)


def status(said: str) -> Status:
    """`online 7`, as it comes over the bus."""
    state, session = said.split()
    ts = rfc3339(NOON)
    found = read_status(f'{{"state":"{state}","session":{session},"ts":"{ts}"}}'.encode())
    assert found is not None
    return found


class Told:
    """A driver that says one thing a second."""

    def __init__(self) -> None:
        self.driver = KnownDriver()
        self.now_us = 0

    def say(self, *said: str) -> None:
        for each in said:
            self.now_us += SECOND
            self.driver.said(status(each), retained=False, utc_ns=NOON, mono_us=self.now_us)
            self.driver.look(self.now_us)

    def link(self, status: LinkStatus, link: ShoeLink = HAS) -> bool:
        return self.driver.linked(status, link, retained=False, mono_us=self.now_us)

    @property
    def alarms(self) -> list[str]:
        return [alarm.name for alarm in self.driver.alarms()]


@pytest.fixture
def told() -> Told:
    made = Told()
    made.say("online 7")
    made.link(link_up(9))
    assert made.driver.is_covered_by(HAS)
    return made


def test_a_driver_that_goes_is_not_trusted_until_it_says_live_what_it_has(told: Told) -> None:
    told.say("offline 7")
    assert (told.alarms, told.driver.is_covered_by(HAS)) == (["driver_offline"], False)
    told.say("online 8")
    assert (told.alarms, told.driver.is_covered_by(HAS)) == ([], False)
    told.link(link_up(9))
    assert told.driver.is_covered_by(HAS)


def test_while_it_is_away_its_link_alone_opens_nothing(told: Told) -> None:
    told.say("offline 7")
    told.link(link_up(9))
    assert not told.driver.is_covered_by(HAS)


def test_one_that_counts_from_1_again_is_believed_and_a_late_will_changes_nothing(
    told: Told,
) -> None:
    told.say("online 1", "offline 7")
    assert told.alarms == []
    anew = ShoeLink(journal="j2", seq=1, past=("j1",))
    told.link(link_up(1, "j2"), anew)
    assert told.driver.is_covered_by(anew)


def test_another_journal_is_asked_about_once(told: Told) -> None:
    asked = [told.link(link_up(1, "j2")) for _ in range(3)]
    assert asked == [True, False, False]
    assert not told.driver.names("j2", HAS), "its first event is no news behind that"
    assert [KnownDriver().names(journal, HAS) for journal in ("j1", "j2")] == [False, True]
    assert not KnownDriver().linked(link_up(1, "j2"), ShoeLink(), retained=False, mono_us=0)
    assert not KnownDriver().linked(link_up(1, "j2"), HAS, retained=True, mono_us=0)
    anew = ShoeLink(journal="j3", seq=1, past=("j2",))
    assert not KnownDriver().linked(link_up(1, "j2"), anew, retained=False, mono_us=0)


def test_two_at_once_are_named_and_nobody_bets_until_one_is_gone(told: Told) -> None:
    told.say("online 3", "online 7", "online 3")
    told.link(link_up(9))
    assert (told.alarms, told.driver.is_covered_by(HAS)) == (["driver_not_trusted"], False)
    assert "sessions 3 and 7" in told.driver.doubt
    told.say(*["online 3"] * 11)
    assert (told.alarms, told.driver.is_covered_by(HAS)) == ([], True)


def test_an_old_journal_is_named_and_nobody_bets_while_it_speaks(told: Told) -> None:
    anew = ShoeLink(journal="j2", seq=4, past=("j1",))
    for journal in ("j1", "j2", "j1", "j2"):
        told.say("online 7")
        told.link(link_up(4, journal), anew)
    told.say("online 7")
    assert (told.alarms, told.driver.is_covered_by(anew)) == (["driver_not_trusted"], False)
    assert "journal j1" in told.driver.doubt
    told.say(*["online 7"] * 11)
    assert (told.alarms, told.driver.is_covered_by(anew)) == ([], True)


def test_what_looking_finds_is_news_once(told: Told) -> None:
    assert not told.driver.look(told.now_us)
    assert told.driver.look(told.now_us + 11 * SECOND), "its heart has stopped"
    assert not told.driver.look(told.now_us + 12 * SECOND)


def test_with_the_broker_gone_nothing_of_its_numbers_is_known(told: Told) -> None:
    told.driver.disconnected()
    assert not told.driver.is_covered_by(HAS)


def test_a_driver_whose_clock_differs_is_told_and_nothing_waits_for_it(told: Told) -> None:
    for second in range(5):
        early = NOON - 10 * 10**9
        heard = status("online 7")
        told.now_us += SECOND
        told.driver.said(heard, retained=False, utc_ns=early, mono_us=told.now_us)
        assert told.driver.look(told.now_us) is (second == 0)
    alarm = next(told.driver.alarms())
    assert (alarm.name, told.driver.is_covered_by(HAS)) == ("clock_difference", True)
    assert alarm.text == (
        "the shoe driver: its clock is 10 s ahead of this machine's; set both by one time server"
    )
    told.say(*["online 7"] * 5)
    assert told.alarms == []


def test_where_the_driver_must_prove_itself_a_status_alone_does_not_show_it(told: Told) -> None:
    told.driver.must_prove = True
    told.say(*["online 7"] * 10)
    assert told.alarms == []  # the link of the beginning is ten seconds old
    told.say("online 7")
    assert (told.alarms, told.driver.is_covered_by(HAS)) == (["driver_offline"], False)
    told.link(link_up(9))
    told.say("online 7")
    assert (told.alarms, told.driver.is_covered_by(HAS)) == ([], True)
