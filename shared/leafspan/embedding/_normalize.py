"""Vectors brought to length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def normalize(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors, one in each row, brought to length 1. Vectors of length 0 have no direction and stay as they are."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
