"""The vector of a leaf, blended from the vectors of its text and of its title and headings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leafspan.embedding._normalize import normalize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def blend(texts: Any, heads: Any, head_of: Sequence[int | None], weight: float) -> NDArray[np.float32]:
    """The vector of each leaf: ``text + weight * head``, from vectors of length 1, brought to length 1 again.

    A head is the title and the headings of a leaf. If it were put before the text, a long head would dominate a short leaf.
    With a weight of its own it counts the same, however long both are. Vectors of length 0 stay as they are.
    """
    import numpy as np

    blended = normalize(np.asarray(texts, dtype=np.float32))
    rows = [i for i, head in enumerate(head_of) if head is not None]
    if rows and weight:
        head_rows = [head for head in head_of if head is not None]
        blended[rows] += np.float32(weight) * normalize(np.asarray(heads, dtype=np.float32))[head_rows]
        blended[rows] = normalize(blended[rows])
    return blended
