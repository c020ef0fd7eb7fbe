"""Wire profiles: their form, and the shipped ones.

Link, decoder and service import it.
"""

__all__: list[str] = []
