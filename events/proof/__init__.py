"""Proof that a log is unchanged: hash chain, Merkle tree, signed notes, checkpoints and keys.

Every room may import it; it is pure except for key files.
"""

__all__: list[str] = []
