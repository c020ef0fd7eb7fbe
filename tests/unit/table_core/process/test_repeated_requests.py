"""A request that is wrong is still answered to its sender, by the transaction that it names."""

import pytest

from events.commands import OpenBetting, transaction_of
from events.types import AcceptedRequest
from table_core.process.repeated_requests import (
    encode_request_body,
    repeated_answer,
)


@pytest.mark.parametrize(
    ("body", "transaction"),
    [
        (b'{"transaction": "t1"}', "t1"),
        (b'{"actor": [1, {"transaction": "t2"}], "transaction": "t1", "more": null}', "t1"),
        (rb'{"wagers": [{"patron": "\ud800"}], "transaction": "t1\\ud800"}', r"t1\ud800"),
        (b'{"transaction": 5}', ""),
        (b'{"actor": "x"}', ""),
        (b'["transaction", "t1"]', ""),
        (b'{"transaction": "t1"', ""),
        (b"\xff\xfe", ""),
        (b"[" * 5_000, ""),
        (b'{"a": ' * 5_000, ""),
        (b"", ""),
    ],
)
def test_the_transaction_of_any_bytes(body: bytes, transaction: str) -> None:
    assert transaction_of(body) == transaction


def test_the_same_again_and_another_by_the_same_name() -> None:
    first = OpenBetting(transaction="t")
    known = AcceptedRequest(encode_request_body(first), 7)
    again = repeated_answer(first, encode_request_body(first), known)
    assert (again.result, again.position) == ("exists", 7)
    other = OpenBetting(transaction="t", actor="mary")
    answer = repeated_answer(other, encode_request_body(other), known)
    assert (answer.result, answer.code) == ("refused", "exists_with_different_actor")
