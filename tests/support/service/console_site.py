"""The screens' web application by itself: its clock, its people, a table that answers at once."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx
from argon2 import PasswordHasher

from displays.app import LoginRules, make_app
from displays.auth.accounts import UserAccount, UserAccounts, save_accounts
from displays.consoles.request_client import ConsoleRequestClient
from displays.live import LiveState
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.process import Post
from events.mqtt.process_shell import Performer
from events.mqtt.request_client import RequestClient
from events.mqtt.topics import Topics
from tests.support.clock import FakeClock

PASSWORD: Final = "eight decks of cards"  # noqa: S105 - of people who exist in tests alone
PEOPLE: Final = {"dora": "dealer", "sam": "supervisor", "tec": "technician"}
NAMES: Final = ("b7.casino.example",)
IDLE_S: Final = 600
TOPICS: Final = Topics("site", "t1")
HERE: Final = "http://127.0.0.1"


def hashed(password: str) -> str:
    """A cheap hash: what is tested is not how long it takes."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(password)


SECRET: Final = hashed(PASSWORD)


class Site:
    """The application, its clock, and a table that answers at once."""

    def __init__(
        self,
        folder: Path,
        *,
        secure: bool = False,
        consoles: bool = True,
        countersign: bool = False,
        clock: FakeClock | None = None,
        login_rules: LoginRules | None = None,
        sessions: Path | None = None,
    ) -> None:
        self.clock = clock or FakeClock()
        self.login_rules = login_rules or LoginRules()
        self.users = folder / "users.toml"
        save_accounts(
            self.users,
            {name: UserAccount(password=SECRET, roles=(role,)) for name, role in PEOPLE.items()},
        )
        self.sent: list[tuple[str, dict[str, object]]] = []
        self.answers = True
        self.carried_out: int | None = None  # what it says of any request
        self.requests = RequestClient(TOPICS)
        bus = Bus(BusSettings("127.0.0.1", 1, "console"), subscriptions={})
        self._performer = Performer(bus, self.clock, at_once={Post: self._post})
        self.live = LiveState(self.clock)
        self.app = make_app(
            self.live,
            self.clock,
            accounts=UserAccounts(self.users) if consoles else None,
            desk=ConsoleRequestClient(self.requests, self._performer.perform),
            secure=secure,
            idle_s=IDLE_S,
            names=NAMES,
            login_rules=self.login_rules,
            countersign=countersign,
            sessions=sessions,
        )

    def _post(self, post: Post) -> bool:
        body = json.loads(post.payload)
        self.sent.append((post.topic, body))
        answer = {"transaction": body["transaction"], "result": "accepted", "position": 7}
        if post.topic.endswith("/show_request"):
            answer["shown"] = {"carried_out": self.carried_out}
        if self.answers:
            # The bus answers a moment later, from the loop.
            said = Message(TOPICS.response("console"), json.dumps(answer).encode(), retain=False)
            asyncio.get_running_loop().call_soon(self._answered, said)
        return self.answers

    def _answered(self, message: Message) -> None:
        self._performer.perform_at_once(self.requests.on_answer(message))

    @asynccontextmanager
    async def browser(self, at: str = "127.0.0.1") -> AsyncIterator[httpx.AsyncClient]:
        """Somebody's, at that address."""
        transport = httpx.ASGITransport(app=self.app, client=(at, 50_000))
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
            yield client

    @asynccontextmanager
    async def person(self, name: str) -> AsyncIterator[httpx.AsyncClient]:
        """Somebody who is logged in, by a page whose secret goes with each request."""
        async with self.browser() as client:
            await log_in(client, name)
            client.headers["x-csrf-token"] = await secret_of(client)
            yield client


async def form_token(client: httpx.AsyncClient) -> str:
    """What a login form must bring."""
    page = await client.get("/login")
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found
    return found[1]


async def log_in(
    client: httpx.AsyncClient, name: str, password: str = PASSWORD, **headers: str
) -> httpx.Response:
    """As a person does; what `/login` answered."""
    form = {"user": name, "password": password, "csrf": await form_token(client)}
    return await client.post("/login", data=form, headers=headers)


async def secret_of(client: httpx.AsyncClient, path: str = "/dealer") -> str:
    """What a page's commands must bring."""
    found = re.search(r'name="csrf" content="([^"]+)"', (await client.get(path)).text)
    assert found
    return found[1]
