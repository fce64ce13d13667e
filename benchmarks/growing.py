"""Whether adding stays fast and small while an index grows, beside a plain Chroma collection that grows, too.

    python benchmarks/growing.py [--step 20000] [--steps 5] [--json FILE]

The same leaves of made-up words, with random vectors of 256 numbers, are added step by step: to an index and to a plain
collection (texts, vectors, and two metadata values, a thousand at a time), each in a separate process, one after the other.
The figures are the processor time of a step, beside the first step of its side and beside the plain collection's step, and
the largest memory of each process, including mapped pages of files. Finally, a new process asks the index its first
question.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from corpus import plain_client, plain_collection
from results import Figure, add_json_option, write_results
from shuffled import made_up_words

from leafspan import Document, HierarchicalSplitter, Hybrid, Index
from leafspan.hosting import split_into_leaves

DIMENSIONS = 256
AT_ONCE = 1_000


def embed(texts: list[str]) -> Any:
    """A random vector for each text, which depends only on its length and its first characters."""
    seeds = [[len(text), *text[:40].encode()] for text in texts]
    return np.array([np.random.default_rng(seed).standard_normal(DIMENSIONS) for seed in seeds], np.float32)


def documents() -> Iterator[Document]:
    """Documents of twenty paragraphs, without an end."""
    drawn = random.Random(1)
    words = made_up_words(8_000, drawn)
    number = 0
    while True:
        text = "\n\n".join(f"{' '.join(drawn.choices(words, k=30))}.".capitalize() for _ in range(20))
        yield Document(f"document-{number}", text, metadata={"number": number})
        number += 1


def steps_of(step: int) -> Iterator[list[Document]]:
    """Groups of documents, without an end. Each group has about ``step`` leaves."""
    each = len(split_into_leaves(next(documents()), HierarchicalSplitter()))
    source = documents()
    while True:
        yield list(islice(source, max(1, step // each)))


def ours(folder: Path) -> Callable[[list[Document]], object]:
    """Make a function that adds documents to an index."""
    index = Index.open(folder, embedder=embed, embedding_cache=False)
    return lambda some: index.add(some, progress=False)


def plain(folder: Path) -> Callable[[list[Document]], object]:
    """Make a function that adds the leaves of documents to a plain collection."""
    collection = plain_collection(plain_client(folder))
    splitter = HierarchicalSplitter()

    def add(some: list[Document]) -> None:
        rows = [
            (f"{each.id}#{number}", each.text[leaf.start : leaf.end], {**each.metadata, "document": each.id})
            for each in some
            for number, leaf in enumerate(split_into_leaves(each, splitter))
        ]
        for start in range(0, len(rows), AT_ONCE):
            ids, texts, metadata = zip(*rows[start : start + AT_ONCE], strict=True)
            collection.add(ids=list(ids), documents=list(texts), embeddings=embed(list(texts)), metadatas=list(metadata))

    return add


SIDES = {"index": ours, "plain Chroma": plain}


def grow(side: str, folder: Path, step: int, steps: int) -> None:
    """Add documents, and print the processor time of each step and the most memory up to its end, in MB."""
    add = SIDES[side](folder)
    taken = []
    for some in islice(steps_of(step), steps):
        begun = time.process_time()
        add(some)
        taken.append((time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000))
    print(json.dumps(taken))


def first_question(folder: Path) -> None:
    """Ask an index, and print the processor time of the first answer and of the second one."""
    with Index.open(folder, embedder=embed, read_only=True) as index:
        taken = []
        for question in ("Where does it go?", "Who has it?"):
            begun = time.process_time()
            index.retrieve(question, Hybrid(), k=5)
            taken.append(time.process_time() - begun)
    print(json.dumps(taken))


def in_process(*arguments: object) -> Any:
    """Run this program in a separate process, and return what it prints."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", type=int, default=20_000, help="number of leaves of a step")
    parser.add_argument("--steps", type=int, default=5, help="number of steps")
    parser.add_argument("--side", choices=[*SIDES, "question"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.side == "question":
        first_question(arguments.folder)
        return 0
    if arguments.side:
        grow(arguments.side, arguments.folder, arguments.step, arguments.steps)
        return 0
    figures = []
    with tempfile.TemporaryDirectory() as temporary:
        found = {}
        for side in SIDES:
            folder = Path(temporary) / side.replace(" ", "-")
            options = ("--side", side, "--folder", folder, "--step", arguments.step, "--steps", arguments.steps)
            found[side] = in_process(*options)
        for number in range(arguments.steps):
            for side, steps in found.items():
                share = steps[number][0] / steps[0][0]
                figures.append(
                    Figure(f"{side}: processor time of a step, beside its first", share, part=f"step {number + 1}")
                )
                figures.append(Figure(f"{side}: most memory, MB", steps[number][1], part=f"step {number + 1}"))
            beside = found["index"][number][0] / found["plain Chroma"][number][0]
            figures.append(Figure("index: processor time beside plain Chroma's", beside, part=f"step {number + 1}"))
        first, second = in_process("--side", "question", "--folder", Path(temporary) / "index")
        figures.append(Figure("first question of a new process: seconds of the processor", first))
        figures.append(Figure("the second: the same", second))
    for figure in figures:
        print(f"{figure.value:8.2f}  {figure.part or '':8} {figure.name}")
    write_results("growing", arguments, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
