"""A recipe for a mirror of all vectors, in matrices that can be searched exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leafspan.embedding import normalize
from leafspan.engine import Call, Flow
from leafspan.store import Reader, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafspan.mirror._snapshot import MaskedArrays

_BATCH = 2_000  # vectors to read at a time, since Chroma returns each as an object of its own


class VectorCopy:
    """The recipe for a mirror of the leaves' vectors, scaled to length 1."""

    name = "vectors"
    task = "Copying vectors"

    def read(self, reader: Reader, rows: Sequence[Row], ids: Sequence[str]) -> Flow[dict[str, NDArray[Any]]]:
        """See Recipe."""
        import numpy as np

        pieces = []
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            vectors = yield from reader.fetch_vectors(some)
            pieces.append((yield Call(_matrix, ([vectors[id_] for id_ in some],))))
        return {"vectors": np.concatenate(pieces)}

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any]]:
        """See Recipe."""
        import numpy as np

        kept = [arrays["vectors"] if mask is None else arrays["vectors"][mask] for arrays, mask in parts]
        return {"vectors": np.concatenate(kept)}


def _matrix(vectors: Sequence[Any]) -> NDArray[np.float32]:
    import numpy as np

    return normalize(np.asarray(vectors, dtype=np.float32))
