"""What happens when a reader meets damaged documents: it raises an error that names them, or leaves them out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

from leafspan.checks import check_choice
from leafspan.engines import StaleRead
from leafspan.errors import DamagedIndex
from leafspan.store._manifest import Damage

OnDamage = Literal["raise", "skip"]

REMEDY = "call repair(), then add the document again"
"""How to repair a damaged document."""


@dataclass(slots=True)
class DamageRule:
    """What a store does about damaged documents."""

    leave_out: bool = False  # whether readers leave damaged documents out
    subject: str = "document"  # the words before the document's id in messages
    remedy: str = REMEDY
    warned: set[str] = field(default_factory=set)  # ids of documents that were warned about: each gets only one warning

    @classmethod
    def of(cls, on_damage: OnDamage) -> DamageRule:
        """The rule for the user's ``on_damage`` option."""
        check_choice("on_damage", on_damage, ("raise", "skip"))
        return cls(leave_out=on_damage == "skip")

    def for_trees(self) -> DamageRule:
        """The rule for the trees of the same index."""
        return DamageRule(self.leave_out, "the tree of", "call repair(), then build_tree()")

    def error(self, damaged: Mapping[str, str]) -> DamagedIndex:
        """The error that names the first of these documents and its remedy."""
        document_id, problem = min(damaged.items())
        others = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        return DamagedIndex(f"{self.subject} {document_id!r} is damaged{others}: {problem}; {self.remedy}", document_id)

    def warn(self, damaged: Mapping[str, str]) -> None:
        """Warn once for each of these documents that it is left out."""
        for document_id, problem in damaged.items():
            if document_id not in self.warned:
                self.warned.add(document_id)
                warnings.warn(
                    f"{self.subject} {document_id!r} is damaged, and left out: {problem}; {self.remedy}",
                    RuntimeWarning,
                    stacklevel=2,
                )


class Met(set[tuple[str, str]]):
    """The stored (document, version) pairs that the attempts of one reading found not current."""

    def __init__(self) -> None:
        super().__init__()
        self.doubts: Counter[tuple[str, str]] = Counter()  # attempts that found a leaf missing or changed
        self.damaged: dict[tuple[str, str], Damage] = {}  # those that the reading leaves out
        self.current: set[tuple[str, str | None]] = set()  # only if the manifest is asked for each document

    def doubt(self, pairs: AbstractSet[tuple[str, str]]) -> None:
        """Count an attempt that found leaves of these (document, version) pairs missing or changed."""
        documents = {document_id for document_id, _ in pairs}
        for pair in [each for each in self.doubts if each[0] in documents and each not in pairs]:
            del self.doubts[pair]  # it was replaced: if this version becomes current again, it was written again
        self.doubts.update(pairs)


class MetDamage(StaleRead):
    """A reader met a damaged document, and starts again without it."""
