"""Passwords of people at screens: argon2 hashes, made and held against what was typed."""

from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from displays.auth.accounts import Account
from events.errors import InputError

__all__ = ["PASSWORD_LEAST", "PASSWORD_MOST", "hash_password", "password_matches"]

PASSWORD_LEAST: Final = 8
# Argon2 hashes whatever it is given, so a limit keeps a login from being a way to burn processors.
PASSWORD_MOST: Final = 256

_hasher: Final = PasswordHasher()  # argon2id with RFC 9106's low-memory profile
# Verified for a name that does not exist, so that the answer takes as long.
_NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=4$PbE0u2c8I4EDPAXY8SQE6Q"
    "$tggg4hEn6sGS1iNKjfDOBeAd+c4j+R+XwhPkphNwQlU"
)


def hash_password(password: str) -> str:
    """The hash of a new password.

    Raises:
        InputError: it is too short or too long.
    """
    if not PASSWORD_LEAST <= len(password) <= PASSWORD_MOST:
        raise InputError(f"the password: {PASSWORD_LEAST} to {PASSWORD_MOST} characters")
    return _hasher.hash(password)


def password_matches(account: Account | None, password: str) -> bool:
    """Whether it is this person's; takes as long where there is no such person."""
    if len(password) > PASSWORD_MOST:
        return False
    try:
        _hasher.verify(account.password if account else _NOBODY, password)
    except (VerificationError, InvalidHashError):
        return False
    return account is not None
