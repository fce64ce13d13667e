"""A vault's encryption: its own random keys encrypt its content, and the user's key encrypts these keys."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from leafspan.errors import MissingExtra
from leafspan.private.pseudonyms._keys import Key

_NONCE = 12  # random bytes for each encryption; AES-GCM allows four billion encryptions with one key
_PURPOSE = b"leafspan vault 2: key of keys"


class VaultKeys(NamedTuple):
    """The keys of a vault.

    Attributes:
        data: Encrypts entries. Rotation makes a new one.
        pseudonyms: Makes pseudonyms. It never changes.
    """

    data: bytes
    pseudonyms: bytes

    @classmethod
    def new(cls) -> VaultKeys:
        """Make new random keys."""
        return cls(os.urandom(32), os.urandom(32))

    def with_new_data_key(self) -> VaultKeys:
        """Make another key for the entries, and keep the key for pseudonyms."""
        return VaultKeys(os.urandom(32), self.pseudonyms)

    def locked(self, key: Key, salt: bytes, bound_to: bytes) -> bytes:
        """Encrypt both keys with the user's key."""
        return encrypt(key.derived(salt, _PURPOSE), self.data + self.pseudonyms, bound_to)

    @classmethod
    def unlocked(cls, locked: bytes, key: Key, salt: bytes, bound_to: bytes) -> VaultKeys | None:
        """Decrypt both keys. Return None if another key encrypted them."""
        both = decrypt(key.derived(salt, _PURPOSE), locked, bound_to)
        return None if both is None else cls(both[:32], both[32:])


def encrypt(key: bytes, content: bytes, bound_to: bytes) -> bytes:
    """Encrypt the content by AES-256-GCM."""
    nonce = os.urandom(_NONCE)
    return bytes(nonce + _aes(key).encrypt(nonce, content, bound_to))


def decrypt(key: bytes, content: bytes, bound_to: bytes) -> bytes | None:
    """Decrypt what this key encrypted for this place. Return None if key or place differ, or the content was changed."""
    aes = _aes(key)
    from cryptography.exceptions import InvalidTag

    if len(content) < _NONCE:
        return None
    try:
        return bytes(aes.decrypt(content[:_NONCE], content[_NONCE:], bound_to))
    except InvalidTag:
        return None


def _aes(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra.of("a vault needs the package cryptography", "pii") from error
    return AESGCM(key)
