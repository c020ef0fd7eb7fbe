"""The driver's service: runs `shoe_driver.process` on asyncio, on real files, ports and brokers.

Only the composition root imports it.
"""

__all__: list[str] = []
