"""Serves a coup's evidence as a file, for the replay viewer."""

import re
import secrets
from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import JSONResponse, Response

from displays.consoles.request_client import ConsoleRequestClient, NoAnswer
from displays.http.pages import text_response
from events.commands.base import ANSWER_REFUSED

__all__ = ["evidence_file"]

_PROVE: Final = "prove_coup"
_NAME: Final = re.compile(r"[a-z0-9_.-]{1,160}\Z")


class _Proved(Struct):
    file: str
    evidence: str


async def evidence_file(desk: ConsoleRequestClient, person: str, coup: str) -> Response:
    """Return the file, the table's refusal, or the error that the table did not answer.

    Args:
        desk: sends the request to the table.
        person: the user who requests it; the table decides whether that user may.
        coup: the coup's id, as requested.
    """
    fields = {"transaction": secrets.token_hex(16), "coup": coup}
    try:
        answer = await desk.ask(person, _PROVE, fields)
    except NoAnswer as error:
        return text_response(str(error), 503)
    if answer.result == ANSWER_REFUSED:
        return JSONResponse(msgspec.to_builtins(answer))
    try:
        proved = msgspec.convert(answer.shown, _Proved)
    except msgspec.ValidationError:
        return text_response("the table's answer holds no evidence", 502)
    name = proved.file if _NAME.match(proved.file) else "evidence.json"
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "cache-control": "no-store",
    }
    return Response(proved.evidence.encode(), media_type="application/json", headers=headers)
