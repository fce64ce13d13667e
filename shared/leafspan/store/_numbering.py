"""Numbers for the current documents of a catalogue, so that sets of documents can be arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leafspan.store._document_table import DocumentTable, document_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Numbering:
    """The current documents of a catalogue, numbered from 0, found by 64 bits of a hash of their stored ids."""

    def __init__(self, ids: Sequence[str], leaves: Sequence[int]) -> None:
        import numpy as np

        keys = np.array([document_key(id_) for id_ in ids], np.uint64)
        self._places = np.argsort(keys, kind="stable").astype(np.int32)
        self._keys = keys[self._places]
        self.leaves = np.array(leaves, np.int64)  # each document's number of leaves
        # Whether no two documents have the same 64 bits.
        self.is_certain = not bool((self._keys[1:] == self._keys[:-1]).any())

    def number_of(self, stored_id: str) -> int | None:
        """The number of a document, or None if the numbering does not have it."""
        import numpy as np

        key = np.uint64(document_key(stored_id))
        at = int(np.searchsorted(self._keys, key))
        return int(self._places[at]) if at < len(self._keys) and self._keys[at] == key else None

    def places_of(self, documents: DocumentTable) -> NDArray[np.int32]:
        """The number of each document of a table, or -1 if the numbering does not have it."""
        import numpy as np

        found = np.full(len(documents), -1, np.int32)
        if len(self._keys):
            others = documents.by_key()
            at = np.minimum(np.searchsorted(self._keys, others.keys), len(self._keys) - 1)
            found[others.places] = np.where(self._keys[at] == others.keys, self._places[at], -1)
        return found
