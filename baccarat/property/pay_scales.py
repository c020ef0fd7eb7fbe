"""The pay scales of a property's tables, by their newest coups: one must hold for all (11A.8)."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from events.errors import ConfigError
from property.archive.client import ArchiveClient
from property.hub.subjects import split_origin
from table_core.rules.pay_scale import pay_scale
from table_core.rules.rulebook_file import parse_rulebook

__all__ = ["archived_pay_scales", "contradicting_scales"]

_NEWEST: Final = """
SELECT h.site || '/' || h."table", s.document ->> 'rulebook_hash', e.source
FROM property.head h JOIN property.state s ON s.table_id = h.id
LEFT JOIN property.edition e ON e.hash = s.document ->> 'rulebook_hash' AND e.kind = 'rulebook'
"""


async def archived_pay_scales(asker: ArchiveClient) -> dict[str, str]:
    """Return the pay scale of each table whose newest coup was played by one, by `<site>/<table>`.

    Raises:
        ArchiveError: the archive does not answer.
    """
    found = await asker.rows(_NEWEST)
    scales = {table: _scale_of(bytes(source)) for table, _, source in found.rows if source}
    return {table: scale for table, scale in scales.items() if scale is not None}


@lru_cache(maxsize=256)
def _scale_of(source: bytes) -> str | None:
    try:
        return pay_scale(parse_rulebook("edition", source))
    except ConfigError:  # of a later build
        return None


def contradicting_scales(scales: Mapping[str, str]) -> dict[str, str]:
    """Return, for each table of a site that pays by two scales, which it pays by and the others."""
    by_site: dict[str, set[str]] = {}
    for table, scale in scales.items():
        by_site.setdefault(split_origin(table)[0], set()).add(scale)
    return {
        table: f"pay scale {scale}, and {_others(by_site[split_origin(table)[0]], scale)}"
        for table, scale in scales.items()
        if len(by_site[split_origin(table)[0]]) > 1
    }


def _others(scales: Collection[str], own: str) -> str:
    return f"{', '.join(sorted(set(scales) - {own}))} at another table (11A.8)"
