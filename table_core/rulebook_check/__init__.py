"""What is wrong with a rulebook that can be read: contradictions, published rules, edges, texts.

The table's process imports it when it adopts a rulebook, and `baccarat` for its commands.
"""

__all__: list[str] = []
