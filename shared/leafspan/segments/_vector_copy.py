"""The recipe for segments with all vectors, in matrices that can be searched exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.embedding import normalize
from leafspan.engines import Record
from leafspan.flows import Call, Flow
from leafspan.segments._comparing import Compare
from leafspan.segments._pieced_array import PiecedArray
from leafspan.segments._snapshot import MirrorSnapshot
from leafspan.store import Copied, DocumentToWrite, Reader, Row
from leafspan.values import LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafspan.segments._snapshot import MaskedArrays

_BATCH = 2_000  # vectors to read at a time, since an engine returns each as its own object
_LARGEST = 127  # largest number in a code
_ROUNDING = 1e-5  # two vectors are the same up to this difference: different code may have scaled them to length 1


class VectorCopy:
    """The recipe for segments with the leaves' vectors, scaled to length 1, and their codes."""

    name = "vectors"
    task = "Copying vectors"
    content = "vectors"

    def read(self, reader: Reader, rows: Sequence[Row], ids: Sequence[str]) -> Flow[dict[str, NDArray[Any]]]:
        import numpy as np

        pieces = []
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            vectors = yield from reader.fetch_vectors(some)
            pieces.append((yield Call(_matrix, ([vectors[id_] for id_ in some],))))
        return (yield Call(vector_arrays, (np.concatenate(pieces),)))  # type: ignore[no-any-return]

    def of(self, documents: Sequence[DocumentToWrite]) -> dict[str, NDArray[Any]]:
        import numpy as np

        return vector_arrays(normalize(np.concatenate([each.vectors for each in documents]).astype(np.float32)))

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any] | PiecedArray]:
        names = parts[0][0]
        return {name: PiecedArray([(arrays[name], mask) for arrays, mask in parts]) for name in names}

    def comparing(self, arrays: Mapping[str, NDArray[Any]]) -> Compare:
        import numpy as np

        def differing(first: int, document: DocumentToWrite) -> list[int]:
            rows = slice(first, first + len(document.texts))
            kept = arrays["vectors"][rows]
            codes = Codes.in_arrays(arrays).at(rows)
            wanted = Codes.of(kept)
            same = are_same(kept, document.vectors) & (codes.numbers == wanted.numbers).all(axis=1)
            for own, made in ((codes.scales, wanted.scales), (codes.errors, wanted.errors)):
                same &= np.isclose(own, made, rtol=_ROUNDING, atol=_ROUNDING**2)
            return [int(ordinal) for ordinal in np.flatnonzero(~same)]

        return differing


def are_same(vectors: NDArray[np.float32], others: Any) -> NDArray[np.bool_]:
    """Whether each of these vectors of length 1 has the same direction as the vector in the same row of ``others``."""
    import numpy as np

    if not len(vectors):
        return np.empty(0, bool)
    other = normalize(np.asarray(others, dtype=np.float32))
    if other.shape != vectors.shape:
        return np.zeros(len(vectors), bool)
    return np.linalg.norm(vectors - other, axis=1) <= _ROUNDING  # type: ignore[no-any-return]


class Codes(NamedTuple):
    """Vectors as 8-bit integers, which are searched in a quarter of the time: ``numbers * scales`` approximates them."""

    numbers: NDArray[np.int8]  # matrix with a row for each vector
    scales: NDArray[np.float32]  # the value of a 1 in each row
    errors: NDArray[np.float32]  # the length of the difference between each vector and its approximation

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Codes:
        """Make the codes of a matrix's rows."""
        import numpy as np

        scales = np.abs(vectors).max(axis=1, initial=0.0) / _LARGEST
        numbers = np.rint(vectors / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
        errors = np.linalg.norm(vectors - numbers * scales[:, None], axis=1)
        return cls(numbers, scales.astype(np.float32), errors.astype(np.float32))

    @classmethod
    def in_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Codes:
        """The codes of a segment."""
        return cls(arrays["codes"], arrays["scales"], arrays["errors"])

    def at(self, rows: slice | NDArray[np.intp]) -> Codes:
        """The codes of some vectors."""
        return Codes(self.numbers[rows], self.scales[rows], self.errors[rows])


def vector_arrays(vectors: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Make the arrays of a segment from its leaves' vectors."""
    numbers, scales, errors = Codes.of(vectors)
    return {"vectors": vectors, "codes": numbers, "scales": scales, "errors": errors}


def _matrix(vectors: Sequence[Any]) -> NDArray[np.float32]:
    import numpy as np

    return normalize(np.asarray(vectors, dtype=np.float32))


def vectors_in(snapshot: MirrorSnapshot, ids: Iterable[str]) -> Copied:
    """Records with the vectors of leaves, by stored id, for leaves whose documents are current in the snapshot."""
    found = Copied({}, set())
    for id_ in ids:
        leaf = LeafId.parse(id_)
        vectors = snapshot.of_document(leaf.document_id, "vectors")
        if vectors is not None and leaf.ordinal < len(vectors):
            found.records[id_] = Record(id_, vector=vectors[leaf.ordinal])
    return found
