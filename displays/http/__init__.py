"""The web server below every page: certificate, limits, security headers, streams, templates.

Imported by all pages; imports none.
"""

__all__: list[str] = []
