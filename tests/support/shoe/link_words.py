"""What a driver says of its link, for tests of those who listen."""

from events.types import LinkStatus


def link_up(head: int, journal: str = "j1") -> LinkStatus:
    """The link is up, and `head` is the newest event of the journal."""
    return LinkStatus(
        state="up",
        profile="enq-bcc",
        transport="pty:/x",
        last_frame_age_ms=1,
        loss_detection="weak",
        reports=head,
        short_copies=0,
        rejected=0,
        journal=journal,
        head=head,
        reason="",
    )
