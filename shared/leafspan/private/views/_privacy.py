"""The options of a private view: what it masks, and what it shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafspan.checks import check_text, did_you_mean, is_reserved, shown
from leafspan.errors import InvalidArgument
from leafspan.private.pseudonyms import (
    RECORD_KEY,
    Disguise,
    Finder,
    KnownTerms,
    Patterns,
    Place,
    Vault,
    shown_kind,
    to_finders,
)


@dataclass(frozen=True, slots=True)
class Privacy:
    """The options of a private view.

    Attributes:
        vault: Maps pseudonyms back.
        finders: Find entities.
        clear: Metadata keys whose values are not masked.
        entities_field: Metadata key that lists the pseudonyms of a document.
        reveals: Kinds of entities that the view shows, as pseudonyms write them. None for all kinds.
    """

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
        known: Mapping[str, Iterable[str | Sequence[str]]] | None,
        reveal: bool | Collection[str],
        clear: Collection[str],
        entities_field: str,
    ) -> Privacy:
        """Check and convert the user's options.

        Raises:
            InvalidArgument: if an option has the wrong type.
            MissingExtra: if Presidio is needed, and not installed.
        """
        if not isinstance(vault, Vault):
            raise InvalidArgument(f"vault must be a Vault, opened with Vault.open, got {type(vault).__name__}")
        check_text("entities_field", entities_field)
        if not entities_field or is_reserved(entities_field) or entities_field == RECORD_KEY:
            raise InvalidArgument(
                f"entities_field must be a metadata key that is not reserved, got {shown(entities_field)}"
            )
        if isinstance(clear, str) or not isinstance(clear, Collection) or not all(isinstance(key, str) for key in clear):
            raise InvalidArgument(f"clear must be a list of metadata keys, got {shown(clear)}")
        finders = to_finders(finder, known)
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

    def shows(self, place: Place) -> bool:
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
    found: set[str] = set()
    for finder in finders:
        if not isinstance(finder, Patterns | KnownTerms):
            return kinds  # leafspan does not know all kinds that this finder finds
        found |= {shown_kind(kind) for kind in finder.kinds}
    if unknown := sorted(kinds - found):
        raise InvalidArgument(
            f"reveal must be kinds that a finder of the view finds, {', '.join(sorted(found))}, got {shown(unknown[0])}"
            f"{did_you_mean(unknown[0], found)}"
        )
    return kinds
