from hypothesis import given, settings
from hypothesis import strategies as st

from events.proof.chain import HASH_BYTES, next_hash, origin_hash

# Computed with sha256sum and openssl dgst over bytes laid out by hand.
ORIGIN = "b26ff30fe39046f18049965e5172f15fb6260863564987478ce558e340dcc83e"
CHAIN = [
    (b"hello", "f990a9c17c0137b129536f523b4d5472aef3b6a36229ff8f88016b4040bf603f"),
    (b"", "c50100cd9edeab7cf16691ec49928edcc2049ca0331aa03f8c9c339a1a8f7818"),
    (b"x" * 300, "07ef554e6e28be36085f3e6d41be7171aaf96344699a036445ba4ce6d3ed0549"),
]

digests = st.binary(min_size=HASH_BYTES, max_size=HASH_BYTES)


def test_the_chain_is_the_one_that_was_computed_by_hand() -> None:
    head = origin_hash("sydney/t1")
    assert len(head) == HASH_BYTES == 32
    assert head.hex() == ORIGIN
    for stored, expected in CHAIN:
        head = next_hash(head, stored)
        assert head.hex() == expected


@settings(deadline=None)
@given(digests, digests, st.binary(max_size=60), st.binary(max_size=60))
def test_every_difference_in_the_past_or_the_bytes_shows(
    one: bytes, other: bytes, stored: bytes, altered: bytes
) -> None:
    assert (next_hash(one, stored) == next_hash(other, altered)) == (
        (one, stored) == (other, altered)
    )


@settings(deadline=None)
@given(digests, st.binary(max_size=60), st.binary(min_size=1, max_size=60))
def test_two_events_never_pass_for_one(head: bytes, first: bytes, second: bytes) -> None:
    assert next_hash(next_hash(head, first), second) != next_hash(head, first + second)
