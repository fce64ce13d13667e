"""The metadata of many documents, arranged so that a filter is decided for all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters._column import Column
from leafspan.filters._conditions import Condition, value_of
from leafspan.filters._expression import And, Not, Or, Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Columns:
    """Decides filters for many documents at once. Each key is indexed when a filter first uses it."""

    def __init__(self, documents: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self._documents = tuple(documents)
        self._columns: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def matching(self, filter: Where) -> NDArray[np.bool_]:
        """Mask of the documents that match: ``[filter.matches(metadata, id) for id, metadata in documents]``.

        Raises:
            InvalidArgument: if ``filter`` is not a filter made with ``F``.
        """
        if isinstance(filter, Condition):
            return self._column(filter.key).matching(filter)
        if isinstance(filter, Not):
            return ~self.matching(filter.part)
        if isinstance(filter, And):
            found = self.matching(filter.parts[0])
            for part in filter.parts[1:]:
                found &= self.matching(part)
            return found
        if isinstance(filter, Or):
            found = self.matching(filter.parts[0])
            for part in filter.parts[1:]:
                found |= self.matching(part)
            return found
        raise InvalidArgument(f"filter must be a Where, got {shown(filter)}")

    def _column(self, key: str) -> Column:
        column = self._columns.get(key)
        if column is None:  # harmless if two threads make it
            column = Column([value_of(key, metadata, document_id) for document_id, metadata in self._documents])
            self._columns[key] = column
        return column
