"""What becomes of damaged documents that reading meets: an error that names them, or reading without them."""

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
"""What repairs a damaged document."""


@dataclass(slots=True)
class DamageRule:
    """What a store does about damaged documents.

    Attributes:
        leave_out: Whether reading goes on without them.
        subject: What is damaged, before its id in messages.
        remedy: What repairs it.
        warned: The ids of those of which a warning has told, so that each is told once.
    """

    leave_out: bool = False
    subject: str = "document"
    remedy: str = REMEDY
    warned: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, on_damage: OnDamage) -> DamageRule:
        """The rule for documents that a user has chosen.

        Raises:
            InvalidArgument: if it is neither ``"raise"`` nor ``"skip"``.
        """
        check_choice("on_damage", on_damage, ("raise", "skip"))
        return cls(leave_out=on_damage == "skip")

    def for_trees(self) -> DamageRule:
        """The rule for the trees of the same index."""
        return DamageRule(self.leave_out, "the tree of", "call repair(), then build_tree()")

    def error(self, damaged: Mapping[str, str]) -> DamagedIndex:
        """The error that names the first of these, and says what repairs it."""
        document_id, problem = min(damaged.items())
        others = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        return DamagedIndex(f"{self.subject} {document_id!r} is damaged{others}: {problem}; {self.remedy}", document_id)

    def warn(self, damaged: Mapping[str, str]) -> None:
        """Tell that these are left out, each once."""
        for document_id, problem in damaged.items():
            if document_id not in self.warned:
                self.warned.add(document_id)
                warnings.warn(
                    f"{self.subject} {document_id!r} is damaged, and left out: {problem}; {self.remedy}",
                    RuntimeWarning,
                    stacklevel=2,
                )


class Met(set[tuple[str, str]]):
    """What the attempts of one reading have met: stored (document, version) pairs that were not current.

    Attributes:
        doubts: How many attempts have found a leaf of a (document, version) pair missing, or not as it was written, since
            one has found so of another version of the document.
        damaged: What is wrong with the (document, version) pairs that reading goes on without.
        current: The (document, version) pairs that were current, where the manifest is asked for each document.
    """

    def __init__(self) -> None:
        super().__init__()
        self.doubts: Counter[tuple[str, str]] = Counter()
        self.damaged: dict[tuple[str, str], Damage] = {}
        self.current: set[tuple[str, str | None]] = set()

    def doubt(self, pairs: AbstractSet[tuple[str, str]]) -> None:
        """Count one more attempt that has found leaves of these (document, version) pairs so."""
        documents = {document_id for document_id, _ in pairs}
        for pair in [each for each in self.doubts if each[0] in documents and each not in pairs]:
            del self.doubts[pair]  # it was replaced meanwhile: if it is current again, it was written anew
        self.doubts.update(pairs)


class MetDamage(StaleRead):
    """A damaged document was met, and reading goes on without it, from the start."""
