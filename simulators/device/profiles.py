"""The wire profiles that the simulated shoe supports, and the faults impossible in each."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from events.errors import InputError
from shoe_driver.codes.bracket import BracketTable
from shoe_driver.codes.enq import EnqTable
from shoe_driver.codes.ref import RefTable
from shoe_driver.profiles.catalogue import load_profile
from simulators.device.enq_bcc import EnqBccDevice
from simulators.device.ref_link import RefCrcDevice
from simulators.device.reports import Device, Disclosure
from simulators.device.text_line import BracketDevice, ScanDevice

__all__ = [
    "CHECKED_GAMES",
    "GAMES",
    "PROFILES",
    "SimulatedProfile",
    "simulated_form",
    "simulated_profile",
]

# A device that sends each report once has no copies to lose, to delay or to contradict.
_OF_COPIES: Final = frozenset({"copy_conflict", "copy_late", "copy_lost"})
# A card reader never reports these, or never reports their end.
_OF_GAMES: Final = frozenset(
    {
        *("contradicting_disclosure", "draw_in_error", "draw_timeout", "error_and_clear"),
        *("forced_end", "locked_draw", "missing_standby", "no_result", "overdraw_burned"),
        *("overdraw_carried", "power_up", "reverse_run", "short_disclosure", "silence"),
        *("stacked_errors", "two_power_ups", "wrong_card_code", "wrong_result"),
    }
)
_PASSES_XOR: Final = frozenset({"bit_flip_passes"})  # two flips that only a short XOR misses
_OF_WORDS: Final = frozenset({"unknown_code"})  # to a reader of codes it is an unread card
_UNASKED: Final = frozenset({"copy_late"})  # a link resends only unacknowledged reports
_OF_LOCKS: Final = frozenset({"locked_draw"})


class SimulatedProfile(Struct, frozen=True, kw_only=True):
    """The simulation of a profile.

    Args:
        id: of the wire profile.
        baud: of its line.
        device: makes the reporting half.
        unfit: faults that a shoe of this profile cannot have.
        linked: `simulators.device.ref_link` frames, numbers and resends the reports.
    """

    id: str
    baud: int
    device: Callable[[Disclosure], Device]
    unfit: frozenset[str]
    linked: bool = False


PROFILES: Final[Mapping[str, SimulatedProfile]] = {
    profile.id: profile
    for profile in (
        SimulatedProfile(id="enq-bcc", baud=4800, device=EnqBccDevice, unfit=_OF_LOCKS),
        SimulatedProfile(
            id="text-line",
            baud=9600,
            device=BracketDevice,
            unfit=_OF_COPIES | _OF_GAMES | _PASSES_XOR,
        ),
        SimulatedProfile(
            id="text-line-scan",
            baud=9600,
            device=ScanDevice,
            unfit=_OF_COPIES | _OF_GAMES | _PASSES_XOR | _OF_WORDS,
        ),
        SimulatedProfile(
            id="ref-crc",
            baud=115200,
            device=RefCrcDevice,
            unfit=_PASSES_XOR | _UNASKED,
            linked=True,
        ),
    )
}

_TOLD: Final[Mapping[str, tuple[Disclosure, ...]]] = {
    "immediate": ("immediate",),
    "deferred": ("deferred",),
    "auto": ("immediate", "deferred"),
}

GAMES: Final[tuple[tuple[str, Disclosure], ...]] = tuple(
    (name, disclosure)
    for name in sorted(PROFILES)
    for disclosure in _TOLD[load_profile(name).disclosure]
)
"""Every profile, with each way in which it can tell faces: what a test or a world plays."""

CHECKED_GAMES: Final = tuple(game for game in GAMES if load_profile(game[0]).check != "none")
"""Those whose frames have a check. A bad line of text may leave no trace, by its own page."""


def simulated_profile(name: str) -> SimulatedProfile:
    """Return the profile of that id.

    Raises:
        InputError: the simulated shoe does not support it; lists the supported ones.
    """
    if name not in PROFILES:
        raise InputError(
            f"no profile {name!r} for a simulated shoe; it speaks {', '.join(PROFILES)}"
        )
    return PROFILES[name]


def simulated_form(name: str) -> str:
    """Return the simulated profile that a driver with this profile or site's file understands.

    Raises:
        ConfigError: there is no such file, or it is not a profile.
        InputError: it has card codes of its own, which no simulated reader has.
    """
    if name in PROFILES:
        return name
    loaded = load_profile(name)
    if loaded.id in PROFILES:
        return loaded.id
    form = _FORMS.get(type(loaded.codes))
    if form is None:
        raise InputError(f"profile {name}: the simulated shoe has no cards with its codes")
    return form


# A site's own scan codes and fields are on no simulated card.
_FORMS: Final[Mapping[type, str]] = {
    BracketTable: "text-line",
    EnqTable: "enq-bcc",
    RefTable: "ref-crc",
}
