"""Passwords: creates argon2 hashes and verifies passwords against them."""

from typing import Final
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from displays.auth.accounts import UserAccount
from events.errors import InputError

__all__ = ["PASSWORD_LEAST", "PASSWORD_MOST", "hash_password", "password_matches"]

PASSWORD_LEAST: Final = 8
# A limit, since argon2 hashes input of any length and a login must not waste processor time.
PASSWORD_MOST: Final = 256

_hasher: Final = PasswordHasher()  # argon2id with RFC 9106's low-memory profile
# Verified for an unknown name, so that its answer takes as long.
_NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=4$PbE0u2c8I4EDPAXY8SQE6Q"
    "$tggg4hEn6sGS1iNKjfDOBeAd+c4j+R+XwhPkphNwQlU"
)


def hash_password(password: str) -> str:
    """Return the hash of a new password.

    Raises:
        InputError: the password is too short or too long, or is no text.
    """
    if not PASSWORD_LEAST <= len(password) <= PASSWORD_MOST:
        raise InputError(f"the password: {PASSWORD_LEAST} to {PASSWORD_MOST} characters")
    try:
        return _hasher.hash(normalize("NFC", password))
    except UnicodeEncodeError as error:
        raise InputError("the password: is no UTF-8") from error


def password_matches(account: UserAccount | None, password: str) -> bool:
    """Return whether the password is this account's; takes as long without an account."""
    if len(password) > PASSWORD_MOST:
        return False
    # One keyboard composes an accent, another does not; earlier builds hashed it as it came.
    spellings = dict.fromkeys((normalize("NFC", password), password))
    return any(_verified(account, each) for each in spellings)


def _verified(account: UserAccount | None, password: str) -> bool:
    try:
        _hasher.verify(account.password if account else _NOBODY, password)
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False
    return account is not None
