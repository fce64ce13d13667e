"""What a private view masks with, and what it shows."""

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
        vault: What maps pseudonyms back.
        finders: What finds entities.
        clear: Metadata keys whose values are not masked.
        entities_field: Metadata key that lists the pseudonyms of a document.
        reveals: Kinds of entities that are shown, as they stand in pseudonyms. None for all.
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
        """The options that a user gave.

        Raises:
            InvalidArgument: if one is of a wrong type.
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
        """What masks texts."""
        return Disguise(self.finders, self.vault.pseudonym, self.clear)

    @property
    def shows_all(self) -> bool:
        """Whether everything is shown as it was added."""
        return self.reveals is None

    @property
    def shows_none(self) -> bool:
        """Whether everything is shown masked."""
        return self.reveals is not None and not self.reveals

    def shows(self, place: Place) -> bool:
        """Whether what a pseudonym stands for is shown. Blanks that were added beside pseudonyms go with the first one."""
        return self.reveals is None or (bool(self.reveals) and (not place.kind or place.kind in self.reveals))

    def revealing(self, reveal: bool | Collection[str]) -> Privacy:
        """The same options, but for what is shown."""
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
            return kinds  # what else it finds is not known
        found |= {shown_kind(kind) for kind in finder.kinds}
    if unknown := sorted(kinds - found):
        raise InvalidArgument(
            f"reveal must be kinds that a finder of the view finds, {', '.join(sorted(found))}, got {shown(unknown[0])}"
            f"{did_you_mean(unknown[0], found)}"
        )
    return kinds
