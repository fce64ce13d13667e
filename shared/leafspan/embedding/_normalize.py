"""Scales vectors to length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHORTEST, _LONGEST = 2.0**-31, 2.0**63  # between these lengths, squares in 32 bits neither vanish nor become infinite


def normalize(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale vectors, one in each row, to length 1. Vectors of length 0 have no direction and stay unchanged."""
    import numpy as np

    lengths = _lengths(vectors)
    if _are_extreme(lengths).any():
        vectors = without_extremes(vectors)
        lengths = _lengths(vectors)
    return (vectors / np.where(lengths > 0, lengths, 1)[:, None]).astype(np.float32)


def without_extremes(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale vectors of extreme length by a power of two, which rounds no relevant digit.

    Their numbers are between -1 and 1 then, and the largest is at least 0.5. So their squares can be summed in 32 bits.
    """
    import numpy as np

    extreme = _are_extreme(_lengths(vectors))
    if not extreme.any():
        return vectors
    rows = vectors[extreme]
    _, exponents = np.frexp(np.abs(rows).max(axis=1, keepdims=True, initial=0))
    vectors = vectors.copy()
    vectors[extreme] = np.ldexp(rows, -exponents)
    return vectors


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    with np.errstate(over="ignore"):  # infinity is longer than the longest
        return np.linalg.norm(vectors, axis=1)  # type: ignore[no-any-return]


def _are_extreme(lengths: NDArray[np.float32]) -> NDArray[np.bool_]:
    return (lengths < _SHORTEST) | (lengths > _LONGEST)
