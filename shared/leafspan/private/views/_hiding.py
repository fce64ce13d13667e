"""Removes clear texts from errors."""

from __future__ import annotations

import re

from leafspan.errors import (
    DamagedIndex,
    DamagedVault,
    FinderFailed,
    FunctionFailed,
    LeafspanError,
    MissingExtra,
    VaultNotFound,
    WriterBusy,
    WrongKey,
)
from leafspan.private.pseudonyms import Disguise

_SAFE = (FinderFailed, WrongKey, DamagedVault, VaultNotFound, WriterBusy, MissingExtra)  # only with paths and rules
_QUOTED = re.compile(r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?!\w)")
_LONG = 40  # characters: longer quotations may be cut off, and finders do not find half a name, or one with escapes
_CUT = re.compile(r"(,? got ).*\.\.\..*", re.DOTALL)


def hidden(error: LeafspanError, disguise: Disguise) -> LeafspanError:
    """An error of the same class with masked message and notes. Quotations that may be cut off are left out."""
    if isinstance(error, _SAFE):
        return error
    if isinstance(error, FunctionFailed):  # the function's argument and its message may quote a part of a name
        return type(error)(hidden_message(error.quoting_nothing or "a function failed", disguise))
    masked = type(error)(hidden_message(str(error), disguise))
    if isinstance(error, DamagedIndex) and isinstance(masked, DamagedIndex) and error.document_id is not None:
        masked.document_id = disguise.name(error.document_id)
    for note in getattr(error, "__notes__", ()):
        masked.add_note(hidden_message(note, disguise))
    return masked


def hidden_message(message: str, disguise: Disguise) -> str:
    """A message without clear entities."""
    try:
        masked = disguise.name(_QUOTED.sub(_without_cut, message))
    except FinderFailed as error:
        return f"a message is hidden, since {error}"
    return _CUT.sub(r"\1something that is hidden", masked)


def _without_cut(match: re.Match[str]) -> str:
    quoted = match[0]
    return "'(hidden)'" if len(quoted) > _LONG or "..." in quoted or "\\" in quoted else quoted
