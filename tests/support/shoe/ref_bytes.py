"""What a `ref-crc` device sends, made here by the page and not by the product: its CRC bit by bit.

`Device` is a small one of its own: it numbers, keeps and resends as the page says.
"""

from shoe_driver.profiles.catalogue import load_profile
from tests.support.shoe.made_up import check_bytes

REF = load_profile("ref-crc")

POWER_UP, READY, BEAT, DRAWN, RESULT, ACK, RESEND = 0x01, 0x02, 0x0F, 0x10, 0x30, 0x80, 0x81
BOOT = 0x02A7
KEPT = 64


def crc(data: bytes) -> int:
    """CRC-16/CCITT-FALSE, a bit at a time."""
    return check_bytes("crc16-ccitt-false", data)[0]


def stuff(data: bytes) -> bytes:
    """COBS, as a state machine over bytes."""
    out, mark, code = bytearray([0]), 0, 1
    for byte in data:
        if byte:
            out.append(byte)
            code += 1
        if not byte or code == 0xFF:
            out[mark] = code
            mark, code = len(out), 1
            out.append(0)
    out[mark] = code
    return bytes(out)


def ref_body(
    kind: int, seq: int, payload: bytes = b"", *, boot: int = BOOT, ms: int = 0, version: int = 1
) -> bytes:
    """Version to payload."""
    numbers = boot.to_bytes(2, "big") + (seq % 65536).to_bytes(2, "big")
    head = bytes([version, kind]) + numbers + (ms % 2**32).to_bytes(4, "big")
    return head + bytes([len(payload)]) + payload


def wrapped(body: bytes) -> bytes:
    """A frame on the line."""
    return b"\0" + stuff(body + crc(body).to_bytes(2, "big")) + b"\0"


def ref_frame(
    kind: int, seq: int, payload: bytes = b"", *, boot: int = BOOT, ms: int = 0, version: int = 1
) -> bytes:
    """A frame of these fields."""
    return wrapped(ref_body(kind, seq, payload, boot=boot, ms=ms, version=version))


def drawn(seq: int, code: int = 0x18, place: int = 0, **header: int) -> bytes:
    """A card: by itself the 8S, at no known place."""
    return ref_frame(DRAWN, seq, bytes([place, code]), **header)


def beat(newest: int, oldest: int = 0, unacked: int | None = None, **header: int) -> bytes:
    """A beat; where nothing is said, all is acknowledged."""
    first = newest + 1 if unacked is None else unacked
    payload = (oldest % 65536).to_bytes(2, "big") + (first % 65536).to_bytes(2, "big")
    return ref_frame(BEAT, newest, payload, **header)


def unstuffed(chunk: bytes) -> bytes:
    """COBS backwards, a byte at a time."""
    out, left, full = bytearray(), 0, True
    for byte in chunk:
        if left:
            out.append(byte)
            left -= 1
            continue
        if not full:
            out.append(0)
        left, full = byte - 1, byte == 0xFF
    return bytes(out)


def host_said(data: bytes, *, garbled: bool = False) -> list[tuple[int, int, int]]:
    """Kind, boot_id and seq of the host's frames; everything else in them is checked.

    Args:
        data: what came from the host.
        garbled: frames may be; they are passed over.
    """
    found = []
    for chunk in filter(None, data.split(b"\0")):
        body = unstuffed(chunk)[:-2].ljust(11)
        kind, boot, seq = (
            body[1],
            int.from_bytes(body[2:4], "big"),
            int.from_bytes(body[4:6], "big"),
        )
        if wrapped(ref_body(kind, seq, boot=boot)) != b"\0" + chunk + b"\0":
            assert garbled, chunk.hex()
            continue
        found.append((kind, boot, seq))
    return found


class Device:
    """A device by the page: it numbers, keeps, resends, and minds what the host says.

    Args:
        boot: its boot_id.
        seq: the number of its first report; 0 but where a test begins in the middle.
    """

    def __init__(self, boot: int = BOOT, seq: int = 0) -> None:
        self.boot = boot
        self.ms = 0
        self.unacked = seq
        self._next = seq
        self._kept: dict[int, bytes] = {}

    def say(self, kind: int, payload: bytes = b"") -> bytes:
        """A new report."""
        frame = ref_frame(kind, self._next, payload, boot=self.boot, ms=self.ms)
        self._kept[self._next] = frame
        self._kept.pop(self._next - KEPT, None)
        self._next += 1
        return frame

    def beat(self) -> bytes:
        """Once a second."""
        self.ms += 1000
        oldest = min(self._kept)
        return beat(self._next - 1, oldest, self.unacked, boot=self.boot, ms=self.ms)

    def waiting(self) -> bytes:
        """What is not acknowledged, again."""
        return b"".join(frame for seq, frame in self._kept.items() if seq >= self.unacked)

    def answer(self, host: bytes) -> bytes:
        """What the device says to what the host said."""
        out = b""
        for kind, boot, seq in host_said(host, garbled=True):
            if boot == self.boot:
                known = next(n for n in range(self._next, -1, -1) if n % 65536 == seq)
                self.unacked = max(self.unacked, known)
            elif kind == ACK:
                continue
            if kind == RESEND:
                start = known if boot == self.boot else self.unacked
                out += b"".join(f for n, f in self._kept.items() if n >= start)
                out += beat(
                    self._next - 1, min(self._kept), self.unacked, boot=self.boot, ms=self.ms
                )
        return out
