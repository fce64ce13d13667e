"""Measures adding leaves to all systems in turns, and their disk space."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpus import Corpus
from peers.stores import PLAIN, Store
from results import Figure
from side_by_side import ratio, seconds


def adding(stores: Sequence[Store], corpus: Corpus) -> Iterator[Figure]:
    """Throughput beside plain Chroma's: of all leaves, and of each turn, from which the middle half is computed.

    Work that a system does after all leaves are there is included, in equal parts for all turns.
    """
    groups = list(corpus.groups())
    times: dict[str, list[float]] = {store.name: [] for store in stores}
    for turn, (documents, rows) in enumerate(groups):
        for store in random.Random(turn).sample(stores, len(stores)):
            times[store.name].append(seconds(lambda store=store: store.add(documents, rows)))  # type: ignore[misc] # noqa: B023
    for store in stores:
        last = seconds(store.finish) / len(groups)
        times[store.name] = [each + last for each in times[store.name]]
    for store in stores:
        _, low, high = ratio(times[PLAIN], times[store.name])
        yield Figure(store.name, sum(times[PLAIN]) / sum(times[store.name]), part="adding", middle_half=(low, high))


def disk(stores: Sequence[Store]) -> Iterator[Figure]:
    """Disk space beside plain Chroma's."""
    sizes = {store.name: size_of(store.folder) for store in stores}
    for name, size in sizes.items():
        yield Figure(name, size / sizes[PLAIN], part="disk")


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
