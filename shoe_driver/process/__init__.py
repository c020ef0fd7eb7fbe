"""What the driver does, without I/O: store, decode, send; open, watch and reopen the port. Pure.

`shoe_driver.service` runs it on a real machine, and `simulators.world` in a simulated one.
"""

__all__: list[str] = []
