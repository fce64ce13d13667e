"""Blends a leaf's vector from the vectors of its text and of its title and headings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leafspan.embedding._normalize import normalize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def blend(texts: Any, heads: Any, head_of: Sequence[int | None], weight: float) -> NDArray[np.float32]:
    """Return each leaf's vector: ``text + weight * head``, from vectors of length 1, scaled to length 1 again.

    A head is a leaf's title and headings. If the head were put before the text, a long head would dominate a short leaf.
    With its own weight, its influence does not depend on lengths. Vectors of length 0 stay unchanged.
    """
    import numpy as np

    blended = normalize(np.asarray(texts, dtype=np.float32))
    rows = [i for i, head in enumerate(head_of) if head is not None]
    if rows and weight:
        head_rows = [head for head in head_of if head is not None]
        blended[rows] += np.float32(weight) * normalize(np.asarray(heads, dtype=np.float32))[head_rows]
        blended[rows] = normalize(blended[rows])
    return blended
