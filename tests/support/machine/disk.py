"""Disks that refuse: full ones, and such as fail from a certain moment on.

What the kernel itself refuses is met by every layer above it as it would meet a real fault: a limit
on the size of files (`RLIMIT_FSIZE`), and a filter on system calls (seccomp) that answers them with
an error instead of making them.
"""

import ctypes
import os
import platform
import resource
import struct
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD_NUMBER, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of the BPF machine, <linux/bpf_common.h>
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_NUMBERS = {
    "x86_64": {"pwrite64": 18, "fsync": 74, "fdatasync": 75},
    "aarch64": {"pwrite64": 68, "fsync": 82, "fdatasync": 83},
}


@contextmanager
def disk_full_at(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of its own in memory, in a new folder: `64m` for its size. Only root may."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def answer_with(error: int, calls: Iterable[str]) -> None:
    """From now on these system calls of this thread fail with `error`. There is no way back.

    For a child process that a test starts for it.
    """
    numbers = _NUMBERS[platform.machine()]
    code = [struct.pack("HBBI", _LOAD_NUMBER, 0, 0, 0)]
    for call in calls:
        code += [
            struct.pack("HBBI", _JUMP_IF_EQUAL, 0, 1, numbers[call]),
            struct.pack("HBBI", _RETURN, 0, 0, _ERRNO | error),
        ]
    code.append(struct.pack("HBBI", _RETURN, 0, 0, _ALLOW))
    buffer = ctypes.create_string_buffer(b"".join(code))
    program = _Program(len(code), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
