"""The key of a vault, which the caller keeps."""

from __future__ import annotations

import hmac
import os
from hashlib import sha256
from typing import Never

from leafspan.errors import InvalidArgument

_SHORTEST = 32  # bytes
_FEWEST_DIFFERENT = 8  # 32 random hexadecimal digits have about 14; only one key in 25 million has fewer than 8


class Key:
    """The secret that locks a vault. It is never stored, shown or pickled.

    Make one with ``python -c "import secrets; print(secrets.token_urlsafe(32))"``, and keep it where passwords are kept,
    not beside the vault.

    Args:
        secret: At least 32 random bytes, or a text of at least 32 characters.

    Raises:
        InvalidArgument: if the secret is shorter, has few different bytes, or has another type. The message does not show
            it.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes | str) -> None:
        if not isinstance(secret, bytes | str):
            raise InvalidArgument(f"a key must be bytes or a text, got {type(secret).__name__}")
        self._secret = secret.encode() if isinstance(secret, str) else bytes(secret)
        if len(self._secret) < _SHORTEST or len(set(self._secret)) < _FEWEST_DIFFERENT:
            raise InvalidArgument(
                f"a key must be at least {_SHORTEST} random bytes or characters, got {len(self._secret)}, "
                f"{len(set(self._secret))} of them different: make one with secrets.token_urlsafe(32)"
            )

    @classmethod
    def from_environment(cls, name: str) -> Key:
        """Read the key from an environment variable, without white space around it.

        Raises:
            InvalidArgument: if the variable is not set, or does not contain a key.
        """
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"the name of an environment variable must be a text, got {type(name).__name__}")
        value = os.environ.get(name, "").strip()
        if not value:
            raise InvalidArgument(f"the environment variable {name} must have the key of a vault, but is not set")
        try:
            return cls(value)
        except InvalidArgument as error:
            raise InvalidArgument(f"the environment variable {name}: {error}") from None

    def derived(self, salt: bytes, purpose: bytes) -> bytes:
        """Derive 32 bytes for one purpose. The key cannot be computed from them (HKDF with SHA-256, RFC 5869)."""
        extracted = hmac.digest(salt, self._secret, sha256)
        return hmac.digest(extracted, purpose + b"\x01", sha256)

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> Never:
        """Raise a TypeError: pickling would store the key."""
        raise TypeError("a Key cannot be pickled or copied: make it again from where it is kept")


def to_key(key: object) -> Key:
    """Return a key, or make one from its secret.

    Raises:
        InvalidArgument: if the secret cannot be a key.
    """
    return key if isinstance(key, Key) else Key(key)  # type: ignore[arg-type]
