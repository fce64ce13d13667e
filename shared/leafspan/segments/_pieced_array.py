"""An array that is joined from other arrays piece by piece while it is written, so it is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Kept = tuple[NDArray[Any], NDArray[np.bool_] | None]

_BYTES = 1 << 22  # per piece


class PiecedArray:
    """The rows of several arrays that their masks select, one array after the other. A mask of None selects all rows."""

    def __init__(self, parts: Sequence[Kept]) -> None:
        import numpy as np

        self._parts = parts
        first = parts[0][0]
        rows = sum(len(array) if mask is None else int(np.count_nonzero(mask)) for array, mask in parts)
        self.dtype: np.dtype[Any] = first.dtype
        self.shape = (rows, *first.shape[1:])
        self._row = first.dtype.itemsize * int(np.prod(first.shape[1:]))
        self.nbytes = rows * self._row

    def pieces(self) -> Iterator[NDArray[Any]]:
        """The array in pieces, in order."""
        rows = max(1, _BYTES // max(1, self._row))
        for array, mask in self._parts:
            for start in range(0, len(array), rows):
                some = array[start : start + rows]
                yield some if mask is None else some[mask[start : start + rows]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        import numpy as np

        nothing = np.empty((0, *self.shape[1:]), self.dtype)
        return np.concatenate([nothing, *self.pieces()]).astype(dtype or self.dtype, copy=False)
