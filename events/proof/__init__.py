"""What proves a log: hash chain, Merkle tree, signed notes and checkpoints, keys.

Imported by every room; pure but for key files.
"""

__all__: list[str] = []
