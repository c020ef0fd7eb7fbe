"""ISO 4217 as its list says it, and amounts written by hand: an oracle for whatever shows money."""

from collections.abc import Iterator
from typing import Final

# ISO 4217, list one, of 2026-01-01: minor units other than 2.
_OTHERS: Final = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_TWO: Final = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF
    CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD
    GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL
    MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR
    PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP
    TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG
"""
DECIMALS: Final = {code: decimals for decimals, of in _OTHERS.items() for code in of.split()} | (
    dict.fromkeys(_TWO.split(), 2)
)
"""The decimals of every currency that has a minor unit."""
CODES: Final = tuple(sorted(DECIMALS))
SAMPLES: Final = (1, 999, 1_000, 250_000, 1_234_567, 2**53 - 1)
"""Minor units; the last is the largest amount there is, which no floating-point number holds."""


def written(minor: int, decimals: int) -> str:
    """An amount as people write it, digit by digit."""
    digits = str(minor).rjust(decimals + 1, "0")
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    grouped = ",".join(_threes(whole))
    return f"{grouped}.{part}" if part else grouped


def _threes(whole: str) -> Iterator[str]:
    first = len(whole) % 3
    if first:
        yield whole[:first]
    yield from (whole[at : at + 3] for at in range(first, len(whole), 3))
