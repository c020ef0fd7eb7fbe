"""Passwords: creates argon2 hashes and verifies passwords against them."""

from typing import Final

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
        InputError: the password is too short or too long.
    """
    if not PASSWORD_LEAST <= len(password) <= PASSWORD_MOST:
        raise InputError(f"the password: {PASSWORD_LEAST} to {PASSWORD_MOST} characters")
    return _hasher.hash(password)


def password_matches(account: UserAccount | None, password: str) -> bool:
    """Return whether the password is this account's; takes as long without an account."""
    if len(password) > PASSWORD_MOST:
        return False
    try:
        _hasher.verify(account.password if account else _NOBODY, password)
    except (VerificationError, InvalidHashError):
        return False
    return account is not None
