"""The contract with integrators, generated from the types: JSON Schemas and AsyncAPI; pure.

Imported by `baccarat schema` and tests.
"""

__all__: list[str] = []
