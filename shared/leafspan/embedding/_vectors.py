"""Operations on embedders' vectors: checks, scaling to length 1, codes, signs, and blending with the vectors of titles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from leafspan.checks import unusable
from leafspan.flows import NDArray, np

QUESTION_ERROR = 0.14
"""The squared error of a code of two bits a number for a vector of length 1, if its numbers have a normal distribution."""
_LARGEST = 127  # largest number in a code
_SHORTEST, _LONGEST = 2.0**-31, 2.0**63  # between these lengths, squares in 32 bits neither vanish nor become infinite


def normalize(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale vectors, one in each row, to length 1. Vectors of length 0 have no direction and stay unchanged."""
    lengths = _lengths(vectors)
    if _are_extreme(lengths).any():
        vectors = without_extremes(vectors)
        lengths = _lengths(vectors)
    return (vectors / np.where(lengths > 0, lengths, 1)[:, None]).astype(np.float32)


def without_extremes(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale vectors of extreme length by a power of two, which rounds no relevant digit.

    Their numbers are between -1 and 1 then, and the largest is at least 0.5. So their squares can be summed in 32 bits.
    """
    extreme = _are_extreme(_lengths(vectors))
    if not extreme.any():
        return vectors
    rows = vectors[extreme]
    _, exponents = np.frexp(np.abs(rows).max(axis=1, keepdims=True, initial=0))
    vectors = vectors.copy()
    vectors[extreme] = np.ldexp(rows, -exponents)
    return vectors


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # infinity is longer than the longest
        return np.linalg.norm(vectors, axis=1)  # type: ignore[no-any-return]


def _are_extreme(lengths: NDArray[np.float32]) -> NDArray[np.bool_]:
    return (lengths < _SHORTEST) | (lengths > _LONGEST)


class Codes(NamedTuple):
    """Vectors as 8-bit integers, which are searched in a quarter of the time: ``numbers * scales`` approximates them."""

    numbers: NDArray[np.int8]  # matrix with a row for each vector
    scales: NDArray[np.float32]  # the value of a 1 in each row
    errors: NDArray[np.float32]  # the length of the difference between each vector and its approximation

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Codes:
        """Make the codes of a matrix's rows."""
        scales = (np.abs(vectors).max(axis=1, initial=0.0) / _LARGEST).astype(np.float32)
        numbers = np.rint(vectors / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
        errors = np.linalg.norm(vectors - numbers * scales[:, None], axis=1)
        return cls(numbers, scales, errors.astype(np.float32))


def rotated(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rotate vectors in a pseudo-random way, which depends only on their length. They get zeros up to a multiple of 8."""
    turned: NDArray[Any] = np.pad(vectors, ((0, 0), (0, -vectors.shape[1] % 8))).view(np.complex64)
    for phases in _phases(turned.shape[1]):
        turned = np.fft.fft(turned * phases, norm="ortho")
    return turned.view(np.float32)


@cache
def _phases(length: int) -> NDArray[np.complex64]:
    """Two rows of pseudo-random complex numbers of absolute value 1, the same with every version of numpy."""
    drawn = Random(length)
    return np.exp([[2j * np.pi * drawn.random() for _ in range(length)] for _ in range(2)]).astype(np.complex64)


def signs_of(pieces: Callable[[], Iterable[NDArray[np.float32]]]) -> dict[str, NDArray[Any]]:
    """The signs of vectors' numbers, after a rotation, and after their mean was subtracted, for a first comparison.

    The product of a vector and a question is about the product of signs and question, times the vector's scale. The
    rotation makes all numbers alike, so the error has a normal distribution for all vectors.

    Source: Gao and Long, RaBitQ, SIGMOD 2024, section 3.
    """
    (mean,) = rotated(np.mean([piece.mean(axis=0) for piece in pieces()], axis=0, keepdims=True))
    rows = []
    for piece in pieces():
        turned = rotated(piece) - mean
        sums, squares = np.abs(turned).sum(axis=1), np.square(turned).sum(axis=1)
        scales = squares / np.where(sums > 0, sums, 1)
        shares = sums**2 / np.where(squares > 0, squares * len(mean), 1)  # of a vector's square that its signs have
        # The error's standard deviation, for a question of length 1 whose code has ``QUESTION_ERROR``
        errors = scales * np.sqrt((1 - shares + QUESTION_ERROR) * (len(mean) / (len(mean) - 1)))
        rows.append((np.packbits(turned > 0, axis=1), scales, errors, turned @ mean))
    names = ("sign_bits", "sign_scales", "sign_errors", "sign_offsets")  # the last: product of what signs mean and the mean
    return {"sign_mean": mean, **dict(zip(names, map(np.concatenate, zip(*rows, strict=True)), strict=True))}


def blend(texts: Any, heads: Any, head_of: Sequence[int | None], weight: float) -> NDArray[np.float32]:
    """Return each leaf's vector: ``text + weight * head``, from vectors of length 1, scaled to length 1 again.

    A head is a leaf's title and headings. If the head were put before the text, a long head would dominate a short leaf.
    With its own weight, its influence does not depend on lengths. Vectors of length 0 stay unchanged.
    """
    blended = normalize(np.asarray(texts, dtype=np.float32))
    rows = [i for i, head in enumerate(head_of) if head is not None]
    if rows and weight:
        head_rows = [head for head in head_of if head is not None]
        blended[rows] += np.float32(weight) * normalize(np.asarray(heads, dtype=np.float32))[head_rows]
        blended[rows] = normalize(blended[rows])
    return blended


def check_vectors(vectors: Any, texts: Sequence[str], *, name: str, dimension: int | None = None) -> NDArray[np.float32]:
    """Return the vectors as an array of shape (number of texts, dimension), float32."""
    try:
        return _array_of(vectors, len(texts), dimension)
    except _Unusable as whole:
        number, fault = _first_fault(vectors, texts, dimension, whole)
    if number is None:
        raise unusable("the embedder", name, fault.rule, fault.got, texts)
    of = f"text {number + 1} of {len(texts)}" if len(texts) > 1 else ""
    raise unusable("the embedder", name, fault.rule, fault.got, texts[number], of=of)


class _Unusable(Exception):
    """What is wrong with vectors: the rule, and the value."""

    def __init__(self, rule: str, got: object) -> None:
        self.rule, self.got = rule, got


def _array_of(vectors: Any, count: int, dimension: int | None) -> NDArray[np.float32]:
    try:
        array = np.asarray(vectors)
        is_numbers = array.dtype.kind in "fiuO"  # strings and bools would be converted to numbers
        if is_numbers:
            with np.errstate(over="ignore"):  # too large a number becomes infinity, which is refused
                array = array.astype(np.float32, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise _Unusable("give vectors of numbers of one length", vectors) from None
    if not is_numbers:
        raise _Unusable("give vectors of numbers", vectors)
    if array.ndim != 2 or len(array) != count or not array.shape[1] or array.shape[1] != (dimension or array.shape[1]):
        raise _Unusable(f"give vectors of shape ({count}, {dimension or 'dimension'})", array.shape)
    if not (finite := np.isfinite(array)).all():
        raise _Unusable("give finite numbers", float(array[~finite][0]))
    return array


def _first_fault(
    vectors: Any, texts: Sequence[str], dimension: int | None, fault: _Unusable
) -> tuple[int | None, _Unusable]:
    """Return the place of the first text with an unusable vector, or None if the whole answer is wrong; and the fault."""
    if not hasattr(vectors, "__len__") or isinstance(vectors, str | Mapping) or len(vectors) != len(texts):
        return None, fault
    rows = list(vectors)
    if dimension is None and len(rows) > 1:  # most vectors have the right length
        lengths = Counter(len(row) for row in rows if hasattr(row, "__len__"))
        dimension = lengths.most_common(1)[0][0] if lengths else None
    for number, row in enumerate(rows):
        if not hasattr(row, "__len__"):
            return number, _Unusable("give vectors of numbers", row)
        try:
            _array_of([row], 1, dimension)
        except _Unusable as own:
            return number, own
    return None, fault
