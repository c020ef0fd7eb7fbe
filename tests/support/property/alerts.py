"""The alert rules that fire, of a table or of the property, by metrics at this moment."""

import re
import time
from math import prod
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from tests.support.machine.processes import ROOT

_RULES: Final = ROOT / "deploy/prometheus/alerts.yml"
_ALERT: Final = re.compile(r"- alert: (\w+)\n +expr: (.+)\n")
_TERM: Final = re.compile(r"(abs\()?(\w+)\)?(?:\{(.*)\})?( - time\(\))? (==|<|>) ([\d.e* ]+)")
_LABEL: Final = re.compile(r'(\w+)(=~|!~|=)"([^"]*)"')


def firing_alerts(metrics: str, begins: str = "BaccaratProperty") -> set[str]:
    """Return the names of the alerts whose expressions are true; rates over time are not computed.

    Args:
        metrics: in Prometheus's text; empty where they are not served.
        begins: how the names begin.
    """
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))

    def holds(term: str) -> bool:
        if term.startswith("absent("):
            return term[len("absent(") : -1] not in found
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
        if alert.startswith(begins) and "rate(" not in rule
    ]
    return {
        alert
        for alert, rule in rules
        if any(all(map(holds, each.split(" and "))) for each in rule.split(" or "))
    }
