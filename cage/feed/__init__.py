"""What the ledger receives and asks: events put into order, requests until answered.

Imported by the cage's service.
"""

__all__: list[str] = []
