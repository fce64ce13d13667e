"""A leaf's vector: that of its text, drawn towards that of its title and headings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leafspan.embedding._normalize import normalize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def blend(texts: Any, heads: Any, head_of: Sequence[int | None], weight: float) -> NDArray[np.float32]:
    """Vectors of shape (leaves, dimension): ``text + weight * head``, both of length 1, for leaves that have a head.

    ``head_of[i]`` is the row of ``heads`` for leaf ``i``, or None. A title put before the text drowns a short leaf where
    the title is long; with a weight of its own it counts alike however long both are. Vectors of length 0 stay so.
    """
    import numpy as np

    blended = normalize(np.asarray(texts, dtype=np.float32))
    rows = [i for i, head in enumerate(head_of) if head is not None]
    if rows and weight:
        chosen = [head for head in head_of if head is not None]
        blended[rows] += np.float32(weight) * normalize(np.asarray(heads, dtype=np.float32))[chosen]
        blended[rows] = normalize(blended[rows])
    return blended
