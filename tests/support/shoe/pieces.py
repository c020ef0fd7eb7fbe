"""What a framer cut, held against the bytes that it was fed."""

from shoe_driver.framing.frames import Frame, Piece

__all__ = ["left_out"]


def left_out(data: bytes, pieces: list[Piece]) -> bytes:
    """What is in no piece; that none is in two is asserted."""
    done, out = 0, b""
    for piece in pieces:
        assert piece.offset >= done
        out += data[done : piece.offset]
        done = piece.offset + (len(piece.raw) if isinstance(piece, Frame) else piece.length)
    return out + data[done:]
