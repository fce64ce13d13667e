"""How a vault is encrypted: its own random keys lock what is in it, and the user's key locks these."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from leafspan.errors import MissingExtra
from leafspan.private.pseudonyms._keys import Key

_NONCE = 12  # bytes, random for each encryption, as AES-GCM needs it: good for four billion under one key
_PURPOSE = b"leafspan vault 2: key of keys"


class VaultKeys(NamedTuple):
    """The keys of a vault.

    Attributes:
        data: What entries are encrypted with. Rotation makes a new one.
        pseudonyms: What pseudonyms are made with. It stays as it is.
    """

    data: bytes
    pseudonyms: bytes

    @classmethod
    def new(cls) -> VaultKeys:
        """New random ones."""
        return cls(os.urandom(32), os.urandom(32))

    def with_new_data_key(self) -> VaultKeys:
        """Another key for the entries, and the same for pseudonyms."""
        return VaultKeys(os.urandom(32), self.pseudonyms)

    def locked(self, key: Key, salt: bytes, bound_to: bytes) -> bytes:
        """Both, encrypted with the user's key."""
        return encrypt(key.derived(salt, _PURPOSE), self.data + self.pseudonyms, bound_to)

    @classmethod
    def unlocked(cls, locked: bytes, key: Key, salt: bytes, bound_to: bytes) -> VaultKeys | None:
        """Both, if the key is that which locked them. Otherwise None."""
        both = decrypt(key.derived(salt, _PURPOSE), locked, bound_to)
        return None if both is None else cls(both[:32], both[32:])


def encrypt(key: bytes, content: bytes, bound_to: bytes) -> bytes:
    """The content, encrypted by AES-256-GCM."""
    nonce = os.urandom(_NONCE)
    return bytes(nonce + _aes(key).encrypt(nonce, content, bound_to))


def decrypt(key: bytes, content: bytes, bound_to: bytes) -> bytes | None:
    """What was encrypted with this key, for this place. None if it was not, or was changed since."""
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
