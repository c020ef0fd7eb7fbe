"""How a hub's nodes stand, by what each says and what the leader says of the others."""

from typing import Any

import pytest

from property.archive.rounds import DoorAnswer, node_readings

SEEN = {"current": True, "offline": False, "active": 900_000_000}
# A node's own answer, what the leader says of it, and how it stands.
NODES: list[tuple[DoorAnswer, dict[str, Any] | None, tuple[str, str]]] = [
    (DoorAnswer("hub2"), SEEN, ("on", "")),
    (DoorAnswer("hub2"), None, ("on", "")),
    (DoorAnswer("hub2"), SEEN | {"current": False}, ("behind", "")),
    (DoorAnswer("hub2"), SEEN | {"offline": True}, ("off", "")),
    (DoorAnswer("hub2"), SEEN | {"active": 9_000_000_000}, ("off", "")),
    (DoorAnswer("hub2", "", jetstream=False), SEEN, ("off", "")),
    (DoorAnswer("hub2", "does not answer"), SEEN, ("on", "does not answer")),
]


@pytest.mark.parametrize(("door", "seen", "told"), NODES)
def test_a_node_stands_by_its_own_answer_and_the_leaders(
    door: DoorAnswer, seen: dict[str, Any] | None, told: tuple[str, str]
) -> None:
    replicas = [{"name": "hub2", **seen}] if seen else []
    (found,) = node_readings([door], {"leader": "hub1", "replicas": replicas})
    assert (found.state, found.error) == told


def test_without_a_leader_each_node_speaks_for_itself() -> None:
    (found,) = node_readings([DoorAnswer("hub1")], None)
    assert (found.name, found.state) == ("hub1", "on")
