"""The options of a private view: what it masks, and what it shows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from leafspan.checks import check_text, did_you_mean, is_reserved, shown
from leafspan.errors import (
    DamagedIndex,
    DamagedVault,
    FinderFailed,
    FunctionFailed,
    InvalidArgument,
    LeafspanError,
    MissingExtra,
    VaultNotFound,
    WriterBusy,
    WrongKey,
)
from leafspan.flows import Call, Flow
from leafspan.private.pseudonyms import (
    RECORD_KEY,
    Disguise,
    Finder,
    KnownTerms,
    MaskedPlace,
    Patterns,
    Vault,
    shown_kind,
    to_finders,
)
from leafspan.store import Reader, Row, Store, read_consistently


@dataclass(frozen=True, slots=True)
class Privacy:
    """The options of a private view."""

    vault: Vault
    finders: tuple[Finder, ...]
    clear: frozenset[str]
    entities_field: str
    reveals: frozenset[str] | None

    @classmethod
    def of(
        cls,
        vault: Vault,
        finder: Any,
        terms: Mapping[str, Iterable[str | Sequence[str]]] | None,
        reveal: bool | Collection[str],
        clear: Collection[str],
        entities_field: str,
    ) -> Privacy:
        """Check and convert the user's options."""
        if not isinstance(vault, Vault):
            raise InvalidArgument(f"vault must be a Vault, opened with Vault.open, got {type(vault).__name__}")
        check_text("entities_field", entities_field)
        if not entities_field or is_reserved(entities_field) or entities_field == RECORD_KEY:
            raise InvalidArgument(
                f"entities_field must be a metadata key that is not reserved, got {shown(entities_field)}"
            )
        if isinstance(clear, str) or not isinstance(clear, Collection) or not all(isinstance(key, str) for key in clear):
            raise InvalidArgument(f"clear must be a list of metadata keys, got {shown(clear)}")
        finders = to_finders(finder, terms)
        return cls(vault, finders, frozenset(clear), entities_field, _kinds(reveal, finders))

    @property
    def disguise(self) -> Disguise:
        """The disguise that masks texts."""
        return Disguise(self.finders, self.vault.pseudonym, self.clear)

    @property
    def shows_all(self) -> bool:
        """Whether the view shows everything as it was added."""
        return self.reveals is None

    @property
    def shows_none(self) -> bool:
        """Whether the view shows everything masked."""
        return self.reveals is not None and not self.reveals

    def shows(self, place: MaskedPlace) -> bool:
        """Whether the view shows a pseudonym's original. Blanks that were added around pseudonyms follow the first one."""
        return self.reveals is None or (bool(self.reveals) and (not place.kind or place.kind in self.reveals))

    def revealing(self, reveal: bool | Collection[str]) -> Privacy:
        """The same options, except what the view shows."""
        return replace(self, reveals=_kinds(reveal, self.finders))


def _kinds(reveal: Any, finders: Iterable[Finder]) -> frozenset[str] | None:
    if isinstance(reveal, bool):
        return None if reveal else frozenset()
    if isinstance(reveal, str) or not isinstance(reveal, Collection) or not all(isinstance(each, str) for each in reveal):
        raise InvalidArgument(f"reveal must be True, False or a list of kinds such as ['PERSON'], got {shown(reveal)}")
    kinds = frozenset(map(shown_kind, reveal))
    findable: set[str] = set()
    for finder in finders:
        if not isinstance(finder, Patterns | KnownTerms):
            return kinds  # leafspan does not know all kinds that this finder finds
        findable |= {shown_kind(kind) for kind in finder.kinds}
    if unknown := sorted(kinds - findable):
        raise InvalidArgument(
            f"reveal must be kinds that a finder of the view finds, {', '.join(sorted(findable))}, got {shown(unknown[0])}"
            f"{did_you_mean(unknown[0], findable)}"
        )
    return kinds


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


def settle_records(store: Store, vault: Vault) -> Flow[int]:
    """Settle the records that writers left unsettled, unless somebody is writing. Return the number of deleted records.

    A record is unsettled from before its document is written or deleted until leafspan knows whether the index has it. So
    a killed writer loses no record, and leaves none behind permanently.
    """
    lock = vault.writers_lock()
    try:
        if not (yield Call(lock.take_alone, finish=True)):
            return 0
        unsettled: dict[str, list[str]] = yield Call(vault.unsettled, (store.id,))
        if not unsettled:
            return 0
        ids = sorted({id_ for stored_ids in unsettled.values() for id_ in stored_ids})
        rows = yield from read_consistently(store, partial(Reader.rows, ids=ids))
        needed = records_of(rows)
        # A damaged document's row does not name its record, so that no record may be deleted.
        damaged = {id_ for id_, row in rows.items() if row.damage is not None}
        gone = {record for record in unsettled.keys() - needed if damaged.isdisjoint(unsettled[record])}
        yield Call(vault.settle, (unsettled.keys() & needed, gone), finish=True)
        return len(gone)
    finally:
        lock.release()


def records_of(rows: Mapping[str, Row]) -> set[str]:
    """The records of the documents that the index has."""
    records = (row.metadata.get(RECORD_KEY) for row in rows.values() if row.version is not None)
    return {str(each) for each in records if each is not None}
