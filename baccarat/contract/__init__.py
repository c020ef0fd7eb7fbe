"""What an integrator is promised, generated from the types: JSON Schemas and AsyncAPI. Pure."""

__all__ = []
