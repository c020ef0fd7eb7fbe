import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.proof.merkle import (
    MerkleTree,
    inclusion_proofs,
    leaf_hash,
    node_hash,
    root_of,
    verify_inclusion,
)
from tests.support.table.evidence import mth, path_of

# The reference leaves and roots of certificate-transparency's merkle tree tests.
LEAVES = [
    bytes.fromhex(leaf)
    for leaf in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]

leaves_of_a_log = st.lists(st.binary(max_size=40), max_size=70)


def by_the_definition(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    left, right = by_the_definition(leaves[:k]), by_the_definition(leaves[k:])
    return hashlib.sha256(b"\x01" + left + right).digest()


@pytest.mark.parametrize("size", range(len(ROOTS)))
def test_roots_are_those_of_the_reference_vectors(size: int) -> None:
    assert root_of(LEAVES[:size]).hex() == ROOTS[size]
    assert by_the_definition(LEAVES[:size]).hex() == ROOTS[size]


@settings(deadline=None)
@given(leaves_of_a_log)
def test_a_grown_tree_has_the_root_of_the_definition_at_every_size(leaves: list[bytes]) -> None:
    tree = MerkleTree()
    for size, leaf in enumerate(leaves):
        assert tree.root() == by_the_definition(leaves[:size])
        tree.add(leaf)
    assert tree.root() == by_the_definition(leaves)
    assert len(tree.peaks) == len(leaves).bit_count()


@settings(deadline=None)
@given(leaves_of_a_log, st.data())
def test_a_tree_goes_on_from_its_peaks(leaves: list[bytes], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(leaves)))
    before = MerkleTree()
    for leaf in leaves[:cut]:
        before.add(leaf)
    after = MerkleTree(before.size, before.peaks)
    for leaf in leaves[cut:]:
        after.add(leaf)
    assert after.size == len(leaves)
    assert after.root() == by_the_definition(leaves)


def test_a_leaf_that_looks_like_a_node_is_none() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert root_of([b"a", b"b"]) == node_hash(left, right)
    assert root_of([left + right]) != node_hash(left, right)


@pytest.mark.parametrize(("size", "peaks"), [(3, 1), (4, 2), (0, 1), (-1, 1)])
def test_peaks_that_do_not_fit_the_size_are_refused(size: int, peaks: int) -> None:
    with pytest.raises(ValueError, match="peaks do not make a tree"):
        MerkleTree(size, [bytes(32)] * peaks)


# ---- proofs: the oracle is RFC 6962's recursion, the reader RFC 9162's loop ----


def _leaves(size: int) -> list[bytes]:
    return [f"event {number}".encode() for number in range(size)]


@pytest.mark.parametrize("size", range(1, 34))
def test_every_inclusion_proof_is_that_of_the_recursion_and_verifies(size: int) -> None:
    leaves = _leaves(size)
    hashes = [leaf_hash(leaf) for leaf in leaves]
    root = mth(leaves)
    proofs = inclusion_proofs(hashes, range(size))
    for index, proof in enumerate(proofs):
        assert list(proof) == path_of(index, leaves)
        assert verify_inclusion(hashes[index], index, size, proof, root)


@pytest.mark.parametrize("size", range(1, 18))
def test_an_inclusion_proof_proves_nothing_else(size: int) -> None:
    hashes = [leaf_hash(leaf) for leaf in _leaves(size)]
    root, other = mth(_leaves(size)), leaf_hash(b"other")
    for index, proof in enumerate(inclusion_proofs(hashes, range(size))):
        for elsewhere in range(-1, size + 2):
            claimed = verify_inclusion(hashes[index], elsewhere, size, proof, root)
            assert claimed is (elsewhere == index)
        assert not verify_inclusion(other, index, size, proof, root)
        assert not verify_inclusion(hashes[index], index, size, proof, other)
        assert not verify_inclusion(hashes[index], index, size, (*proof, other), root)
        assert not verify_inclusion(hashes[index], index, 0, proof, root)
        for place in range(len(proof)):
            changed = (*proof[:place], other, *proof[place + 1 :])
            assert not verify_inclusion(hashes[index], index, size, changed, root)
            shorter = (*proof[:place], *proof[place + 1 :])
            assert not verify_inclusion(hashes[index], index, size, shorter, root)


def test_proofs_of_what_cannot_be_are_not_made() -> None:
    hashes = [leaf_hash(leaf) for leaf in _leaves(3)]
    for index in (-1, 3):
        with pytest.raises(ValueError, match="leaves"):
            inclusion_proofs(hashes, [index])
        with pytest.raises(ValueError, match="leaves"):
            inclusion_proofs(hashes, [0, index])  # one that is beside one that is not


@pytest.mark.parametrize("size", range(9))
def test_the_oracle_agrees_with_the_reference_vectors(size: int) -> None:
    assert mth(LEAVES[:size]).hex() == ROOTS[size]
