"""Every text that the rules give: sign, pay table, help, the dealer's calls; in no language yet.

The table's projection, the narrative, `baccarat` and its rules page import it.
"""

__all__: list[str] = []
