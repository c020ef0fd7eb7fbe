"""The files a site installs agree with the program: metrics, alarms, pages, topics."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.core import Metric

from baccarat.property.metrics import property_metrics
from baccarat.site.identities import identities_of
from baccarat.site.metrics import TableHealth
from events.clock import SystemClock
from events.mqtt.presence import Presence
from events.mqtt.topics import Topics
from property.health.verdict import judge_property
from tests.unit.baccarat.site.test_metrics import ACK, LINK, STATE

_DEPLOY = Path("deploy")
_ALARMS = Path("docs/alarms")
_PAGES = {page.stem: page for page in _ALARMS.glob("*/*.md") if page.name != "README.md"}
_INDEXES = ("README.md", "metrics/README.md")
_PARTS = ["Meaning", "Impact", "Diagnosis", "Mitigation", "Clears when"]
_OF_TABLES = ("coup", "shoe", "system")
_WORDS = json.loads(Path("displays/static/words/en.json").read_text("utf-8"))
_METRIC = re.compile(r"\bbaccarat_[a-z_]+")


@pytest.fixture(scope="module")
def families() -> dict[str, Metric]:
    """Every metric that there can be, by the name that it is collected by."""
    health = TableHealth("b7", {"log": Path()}, SystemClock())
    health.state, health.state_at = dict(STATE), 0.0
    health.link, health.link_at, health.ack = dict(LINK), 0.0, dict(ACK)
    health.services["table"] = Presence()
    ends = {"counter": "_total"}
    judged = judge_property({}, (), 0.0, "away")
    every = (*health.metrics(), *property_metrics(judged, ()))
    return {family.name + ends.get(family.type, ""): family for family in every}


@pytest.fixture(scope="module")
def metrics(families: dict[str, Metric]) -> set[str]:
    """And the names that a rule asks for."""
    ends = {"histogram": "_bucket"}
    return {name + ends.get(family.type, "") for name, family in families.items()}


def test_every_metric_of_the_source_is_among_them(families: dict[str, Metric]) -> None:
    files = ("site/metrics.py", "site/machine_metrics.py", "property/metrics.py")
    source = "".join(Path("baccarat", file).read_text("utf-8") for file in files)
    named = set(re.findall(r'"(baccarat_[a-z_]+)"', source))
    assert len(named) > 10
    assert named <= {family.name for family in families.values()}


def test_every_metric_has_its_line_and_an_alert_or_a_reason_for_none(
    families: dict[str, Metric],
) -> None:
    guide = (_ALARMS / "metrics/README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(baccarat_[a-z_]+)` \| (.+) \| (.+) \|$", guide, re.MULTILINE)
    assert [(name, text) for name, text, _ in rows] == [
        (name, family.documentation.rstrip(".")) for name, family in families.items()
    ]
    assert all(text for _, text, _ in rows)
    rules = (_DEPLOY / "prometheus/alerts.yml").read_text("utf-8")
    alerts = re.findall(r"- alert: (\w+)\n +expr: (.+)\n", rules)
    assert len(alerts) == rules.count("- alert:")
    for name, _, cell in rows:
        about = [alert for alert, rule in alerts if re.search(rf"\b{name}(_bucket)?\b", rule)]
        assert re.findall(r"`(\w+)`", cell) == about, name
        assert about or re.match(r"none: .{10,}", cell), name


@pytest.mark.parametrize("file", ["prometheus/alerts.yml", "grafana/tables.json"])
def test_rules_and_dashboard_name_metrics_that_are_there(file: str, metrics: set[str]) -> None:
    named = set(_METRIC.findall((_DEPLOY / file).read_text("utf-8")))
    assert named
    assert named <= metrics


def test_the_dashboard_is_whole() -> None:
    board: dict[str, Any] = json.loads((_DEPLOY / "grafana/tables.json").read_text("utf-8"))
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    assert all(target["expr"] for panel in board["panels"] for target in panel["targets"])


def test_every_alarm_has_its_page() -> None:
    alarms = {key.removeprefix("alarm.") for key in _WORDS if key.startswith("alarm.")}
    of_tables = {name for name, page in _PAGES.items() if page.parent.name in _OF_TABLES}
    assert alarms == of_tables, "each alarm of a table has its words and its page"
    assert len(_PAGES) + 2 == sum(1 for _ in _ALARMS.rglob("*.md")), "two pages have one name"


@pytest.mark.parametrize("name", sorted(_PAGES))
def test_a_page_has_the_alarms_name_and_says_what_to_do(name: str) -> None:
    head, *parts = re.split(r"^##? ", _PAGES[name].read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert head.strip() == name
    assert [part.partition("\n")[0] for part in parts] == _PARTS
    assert all(part.partition("\n")[2].strip() for part in parts)
    folder = _PAGES[name].parent.name
    ways = {"README.md": f"({folder}/", "metrics/README.md": f"(../{folder}/"}
    listed = [(_ALARMS / index).read_text("utf-8").replace(way, "(") for index, way in ways.items()]
    assert any(f"({name}.md)" in index for index in listed)


def test_every_alert_names_its_page() -> None:
    text = (_DEPLOY / "prometheus/alerts.yml").read_text("utf-8")
    alerts = re.findall(r'- alert: (\w+)\n(?:(?! +- alert).*\n)*?.*runbook: "([^"]+)"', text)
    assert len(alerts) == text.count("- alert:") > 10
    assert {alert for alert, _ in alerts} <= _PAGES.keys()
    assert all(page in {alert, "{{ $labels.alarm }}"} for alert, page in alerts)
    severity = dict(
        re.findall(r"- alert: (\w+)\n(?: +(?:expr|for): .+\n)+ +labels: .*: (\w+)", text)
    )
    index = "".join((_ALARMS / page).read_text("utf-8") for page in _INDEXES)
    for alert, _ in alerts:
        meaning = _PAGES[alert].read_text("utf-8").split("\n\n")[2]
        assert f"{alert}.md) | {severity[alert]} | {meaning.split('. ')[0].rstrip('.')} |" in index


def test_what_leaves_for_the_property_is_what_a_cage_may_hear() -> None:
    topics = Topics("harbour", "b7")
    cage = next(
        each for each in identities_of(topics, {"cage": ["cage"]}) if each.login == "b7-cage"
    )
    text = (_DEPLOY / "property/mosquitto-bridge.conf").read_text("utf-8")
    sent = {
        f"{prefix}{name}"
        for name, prefix in re.findall(r"^topic (\S+) out 1 (\S+) ", text, re.MULTILINE)
    }
    assert sent
    assert sent <= set(cage.hears)


def test_the_lock_that_installs_names_every_package_by_hash() -> None:
    text = Path("requirements/runtime.txt").read_text("utf-8")
    packages = re.findall(r"^([a-z0-9._-]+)==", text, re.MULTILINE | re.IGNORECASE)
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[\[<>=~!;, ]", each)[0].lower() for each in project["dependencies"]}
    assert wanted <= {each.lower() for each in packages}
    assert text.count("--hash=sha256:") >= len(packages)
