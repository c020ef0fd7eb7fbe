"""Examples may take as long as a busy machine makes them take; a test's time-out is its bound."""

from hypothesis import settings

settings.register_profile("unit", settings(), deadline=None)
settings.load_profile("unit")
