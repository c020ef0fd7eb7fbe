"""Serve the property's page: the archive's board and queries on a web server."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from baccarat.config.property_form import PropertyConfig
from baccarat.property.pay_scales import archived_pay_scales, contradicting_scales
from displays.auth.accounts import UserAccounts
from displays.http.server import WebServer
from displays.property_board.board import make_board_app
from events.clock import SystemClock
from events.errors import ArchiveError, ConfigError, InputError
from events.structured_log import structlog
from property.archive.client import ArchiveClient
from property.archive.questions import ARCHIVE_QUERIES, parse_parameters
from property.board.feed import BoardUpdater

__all__ = ["serve"]

# A rulebook changes when a table starts; nobody waits for this.
_COMPARE_S: Final = 10.0

_log: Final = structlog.get_logger()


class _Queries:
    """Runs the archive's queries, each over a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def questions(self) -> Sequence[Mapping[str, object]]:
        return [
            {
                "name": name,
                "says": question.says,
                "options": [
                    {"name": each.name, "kind": each.kind, "says": each.says}
                    for each in question.options
                ],
            }
            for name, question in ARCHIVE_QUERIES.items()
        ]

    async def ask(self, name: str, given: Mapping[str, str]) -> bytes:
        question = ARCHIVE_QUERIES.get(name)
        if question is None:
            raise InputError(
                f"{name[:40]!r}: no such question; there are {', '.join(ARCHIVE_QUERIES)}"
            )
        wanted = parse_parameters(question, given)
        async with await ArchiveClient.open(self._url) as asker:
            answer = await asker.ask(question, wanted)
        return msgspec.json.encode({"columns": answer.columns, "rows": answer.rows})


async def _compare_scales(feed: BoardUpdater, url: str) -> None:
    """Show for ever which tables of a site contradict one another in their pay scale."""
    while True:
        try:
            async with await ArchiveClient.open(url) as asker:
                found = contradicting_scales(await archived_pay_scales(asker))
        except ArchiveError as error:
            _log.warning("board.scales_unknown", reason=str(error))
        else:
            for table in feed.board.tables:
                feed.board.rules(table, {"contradicts": found.get(table, "")})
        await asyncio.sleep(_COMPARE_S)


async def serve(config: PropertyConfig, stop: asyncio.Event) -> None:
    """Serve the page until `stop` is set; wait for an archive that is away.

    Raises:
        ConfigError: the configuration has no page or no archive, or the address is taken.
        InputError: the users file cannot be used.
    """
    page, archive = config.page, config.archive
    if page is None or archive is None:
        raise ConfigError("page: the configuration has no [page], or no [archive] to show")
    feed = BoardUpdater(archive.database, SystemClock())
    users = config.beside(page.users)
    app = make_board_app(
        feed,
        _Queries(archive.database),
        stop,
        page.names,
        page.replay,
        UserAccounts(users) if users else None,
    )
    server = WebServer(app, section="page", host=page.host, port=page.port)
    _log.info("page.listening", address=server.address)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve())
        filling = group.create_task(feed.run())
        comparing = group.create_task(_compare_scales(feed, archive.database))
        await stop.wait()
        filling.cancel()
        comparing.cancel()
        server.stop()
        await serving
