"""The message keys of a running service, which may change in their file."""

from pathlib import Path
from typing import Final

from events.errors import InputError
from events.file_stamp import FileWatch
from events.proof.message_keys import load_message_keys
from events.proof.message_mac import MessageKey
from events.structured_log import structlog

__all__ = ["KeyFile"]

_log: Final = structlog.get_logger()


class KeyFile:
    """The message keys in a file, read again when the file has changed.

    Args:
        path: the file.
        origin: the table's `<site>/<table>`.

    Raises:
        InputError: as `load_message_keys`.
    """

    def __init__(self, path: Path, origin: str) -> None:
        self._path, self._origin = path, origin
        self._watch = FileWatch(path)
        self._keys = load_message_keys(path, origin)

    def __call__(self) -> tuple[MessageKey, ...]:
        """Return the keys; those before while the file cannot be used."""
        if self._watch.changed():
            try:
                self._keys = load_message_keys(self._path, self._origin)
            except InputError as error:
                _log.error("message_keys.unreadable", reason=str(error))
        return self._keys
