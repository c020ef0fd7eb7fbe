"""The contract with integrators, generated from the types: JSON Schemas and AsyncAPI; pure.

`baccarat schema` and tests import it.
"""

__all__: list[str] = []
