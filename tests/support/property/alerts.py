"""The alert rules that fire, of a table or of the property, by metrics at this moment."""

import re
import time
from collections.abc import Sequence
from math import prod
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from tests.support.machine.processes import ROOT

_RULES: Final = ROOT / "deploy/prometheus/alerts.yml"
_ALERT: Final = re.compile(r"- alert: (\w+)\n +expr: (.+)\n")
_TERM: Final = re.compile(r"(abs\()?(\w+)\)?(?:\{(.*)\})?( - time\(\))? (==|<|>) ([\d.e* ]+)")
_RATE: Final = re.compile(r"rate\((\w+)\[(\d+)m\]\) > ([\d.]+)")
_QUANTILE: Final = re.compile(
    r"histogram_quantile\(([\d.]+), sum by \(table, le\) \(rate\((\w+)\[(\d+)m\]\)\)\) > ([\d.]+)"
)
_LABEL: Final = re.compile(r'(\w+)(=~|!~|=)"([^"]*)"')


def firing_alerts(metrics: str, begins: str = "BaccaratProperty", before: str = "") -> set[str]:
    """Return the names of the alerts whose expressions are true.

    Args:
        metrics: in Prometheus's text; empty where they are not served.
        begins: how the names begin.
        before: the metrics at the beginning of each rate's time; without them all began at zero.
    """
    found, old = _samples(metrics), _samples(before)

    def rises(name: str, minutes: str) -> list[tuple[dict[str, str], float]]:
        was = {str(labels): value for labels, value in old.get(name, ())}
        return [
            (labels, (value - was.get(str(labels), 0.0)) / (60 * int(minutes)))
            for labels, value in found.get(name, ())
        ]

    def holds(term: str) -> bool:
        if term.startswith("absent("):
            return term[len("absent(") : -1] not in found
        if quantile := _QUANTILE.fullmatch(term):
            share, name, minutes, least = quantile.groups()
            buckets = [(float(of["le"]), value) for of, value in rises(name, minutes)]
            return _quantile(float(share), buckets) > float(least)
        if rate := _RATE.fullmatch(term):
            name, minutes, least = rate.groups()
            return any(value > float(least) for _, value in rises(name, minutes))
        parsed = _TERM.fullmatch(term)
        assert parsed, term
        size, name, labels, since, sign, number = parsed.groups()
        bound = prod(map(float, number.split("*")))
        values = [
            (abs(value) if size else value) - time.time() * bool(since)
            for given, value in found.get(name, ())
            if all(
                bool(re.fullmatch(wanted, given[label])) is (how != "!~")
                for label, how, wanted in _LABEL.findall(labels or "")
            )
        ]
        return any({"==": v == bound, "<": v < bound, ">": v > bound}[sign] for v in values)

    rules = [
        (alert, rule)
        for alert, rule in _ALERT.findall(_RULES.read_text("utf-8"))
        if alert.startswith(begins)
    ]
    return {
        alert
        for alert, rule in rules
        if any(all(map(holds, each.split(" and "))) for each in rule.split(" or "))
    }


def _samples(metrics: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def _quantile(share: float, buckets: Sequence[tuple[float, float]]) -> float:
    """Return a quantile of a histogram's cumulative buckets, linear within one, as Prometheus."""
    whole, low, below = max((value for _, value in buckets), default=0.0), 0.0, 0.0
    for high, value in sorted(buckets):
        if whole and value >= share * whole:
            return low + (high - low) * (share * whole - below) / (value - below)
        low, below = high, value
    return 0.0
