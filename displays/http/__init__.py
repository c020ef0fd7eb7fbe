"""The web server under every page: certificate, limits, security headers, streams, templates.

All pages import it; it imports none of them.
"""

__all__: list[str] = []
