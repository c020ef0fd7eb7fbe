"""Every edition that was ever shipped is still shipped, byte for byte: old coups need it."""

from hashlib import sha256
from importlib.resources import files

import pytest

from events.log.editions import shipped_editions

# kind, id, edition, SHA-256 of the file. Lines are added here, and none is ever changed.
SHIPPED = (
    (
        "rulebook",
        "au-commission",
        1,
        "be4a708c87f9dfa6a8e33f399d41de649bba4bc57e4e578c7ed2990555e0509b",
    ),
    (
        "rulebook",
        "au-even-money",
        1,
        "6a94877386e006a06cb4b7e994679889a81e240d51cbd96a5152c0d96d84b758",
    ),
    (
        "rulebook",
        "extras",
        1,
        "f43d86d0bf94b6377556b5b9d4c334e4045ffd1e821a8d52bd20bcad1a8eacdd",
    ),
    (
        "rulebook",
        "ez",
        1,
        "52b14524b52e6b2333315266b83642fff9e4113677af6121eae1bbf74fe6a0ee",
    ),
    (
        "rulebook",
        "mini-lucky8",
        1,
        "3d852e26c0a7200bb3b551dbbcde10884c88eef7f0f2e85a672305f8842ef633",
    ),
    (
        "rulebook",
        "nz-scale-one",
        1,
        "03e0c33c136fed39beaf0ae55ada77e5d17bda9cefc4e3482ccebb498b4527ed",
    ),
    (
        "rulebook",
        "nz-scale-two",
        1,
        "a273a53294fd66dda38e1f89ea000b48971615b4e35b3c10425cd1efc26e1cfc",
    ),
    (
        "rulebook",
        "au-commission",
        2,
        "2583d20fae1ae870e563f63a10fa3576a35ffa13c195de440e7725d31f61fee2",
    ),
    (
        "rulebook",
        "au-even-money",
        2,
        "344e9eb024c5be4c185aeeefad3752842943ad69496723483b466189c0485f04",
    ),
    (
        "rulebook",
        "extras",
        2,
        "92ce23e6cb9b6cf496710fd281984074bcecf7b8d29af044d9fabbc4c7b25f5f",
    ),
    (
        "rulebook",
        "ez",
        2,
        "fa5581750a58bd42954333b8e85b8a3674410143e591a421fc2ac0b952a9b3a3",
    ),
    (
        "rulebook",
        "mini-lucky8",
        2,
        "c4093ee7982173c6c89f42f377b37381edda8783cd5fc731ceadd065b27868a9",
    ),
    (
        "rulebook",
        "nz-scale-one",
        2,
        "f5924a7ce939a424e2bc7f54cb25ceef36789f6c03a9610e212c02e7c5779290",
    ),
    (
        "rulebook",
        "nz-scale-two",
        2,
        "70e369ee8fd32f9b37e273fb8bd0a8f21c894f43782406ba5b65205ed096bb87",
    ),
    (
        "profile",
        "enq-bcc",
        1,
        "b24285fe224b6ba2a0d95bbb74c22d84b3ca830d50a9b5dc89d5cd77bd514a67",
    ),
    (
        "profile",
        "ref-crc",
        1,
        "3463566d8996c3bc62df4916d0b78fb1cab64280e226f78ab98a9dd47ccbedfd",
    ),
    (
        "profile",
        "text-line",
        1,
        "f380ec156d56f6f74d73765ce9a88c7cc1e5523d6c82a9dff98a20e65f0cee1f",
    ),
    (
        "profile",
        "text-line-scan",
        1,
        "431825b75330bce644c19abed177e5bf276a66aaced524911468555088142b5f",
    ),
    (
        "profile",
        "enq-bcc",
        2,
        "fe658af5636970a91d19b9036b235ba6c9aa56116cd82e260cf6515a518412c6",
    ),
    (
        "profile",
        "ref-crc",
        2,
        "68efd2887ec965b3e7efa6502008e2d663758690d13efecbcf2d13eaf7f8b05e",
    ),
    (
        "profile",
        "text-line",
        2,
        "9e02b6e512d6105e85c9af0f5c7acdfd2982bfe32c406326ffb5403df3e1812b",
    ),
    (
        "profile",
        "text-line-scan",
        2,
        "ded899511fbc88281ff7fca96e95ca6c56b834b33dbdff6f4970a040552dca4d",
    ),
)
FOLDERS = {
    "rulebook": files("table_core") / "rulebooks",
    "profile": files("shoe_driver") / "profiles",
}
FOUND = {
    (kind, name, number): sha256(source).hexdigest()
    for kind, folder in FOLDERS.items()
    for name, sources in shipped_editions(folder).items()
    for number, source in enumerate(sources, start=1)
}


@pytest.mark.parametrize(("kind", "name", "edition", "digest"), SHIPPED)
def test_a_shipped_edition_is_never_edited(kind: str, name: str, edition: int, digest: str) -> None:
    file = f"{name}.toml" if edition == 1 else f"{name}.{edition}.toml"
    newest = max(number for of, named, number, _ in SHIPPED if (of, named) == (kind, name))
    assert FOUND.get((kind, name, edition)) == digest, (
        f"{kind} {file} was shipped with hash {digest}, and logs cite it: put it back as it was. "
        f"Make a new edition: the old file stays, the change goes into {name}.{newest + 1}.toml "
        "(or a new id, where it pays otherwise), and its line into this list"
    )


def test_every_edition_that_ships_is_in_the_list() -> None:
    listed = {(kind, name, edition) for kind, name, edition, _ in SHIPPED}
    assert FOUND.keys() - listed == set(), "add a line for each, and change none"
    assert len(SHIPPED) == len(listed)
