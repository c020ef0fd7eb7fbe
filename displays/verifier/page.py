"""Reads the verifier's page as it ships, and puts evidence into a copy of it."""

import json
import re
from importlib.resources import files
from typing import Final

__all__ = ["page_policy", "page_with_evidence", "verify_page"]

_NO_EVIDENCE: Final = '<script type="application/json" id="evidence">null</script>'
_POLICY: Final = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


def verify_page() -> str:
    """Return the page as it ships; its SHA-256 stands next to it."""
    return files("displays.verifier").joinpath("verify.html").read_text("utf-8")


def page_with_evidence(evidence: bytes) -> str:
    """Return the page with a file of evidence in it.

    Such a page cannot prove anything about itself, and says so.

    Args:
        evidence: the file, UTF-8.
    """
    # No text of the evidence may end the script element.
    text = json.dumps(evidence.decode("utf-8")).replace("<", "\\u003c")
    return verify_page().replace(_NO_EVIDENCE, _NO_EVIDENCE.replace("null", text))


def page_policy(page: str) -> str:
    """Return the content security policy that the page states for itself, as a header.

    Args:
        page: the page.
    """
    stated = _POLICY.search(page)
    if stated is None:
        raise ValueError("the verifier's page states no policy")
    return f"{stated[1]}; frame-ancestors 'none'"
