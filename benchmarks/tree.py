"""Trees: the cost of growing them, and the cost of asking them.

    python benchmarks/tree.py [--leaves 100000] [--queries 200] [--data FOLDER] [--json FILE]

Everything is compared within one run. The summarizer takes no time, so that only the rest is measured.

With ``--data``, the folder of the question sets (see ``build_data.py``), the leaves come from squad. Trees of a third of
its documents are also built, and the questions about these are asked. The quality of a tree is the share of questions
whose answer is below the best summaries, for a given total number of words in the leaves below these summaries.

Ends with 1 if a bound is missed, with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from lexical import CANDIDATES, build, make_sentences
from question_sets import (
    ASKED,
    Questions,
    add_data_option,
    load_documents,
    load_questions,
    what_is_absent,
)
from results import Figure, add_json_option, all_passed, print_figures, write_results
from side_by_side import clocked, medians

from leafspan import Document, Index, Tree, Vector
from leafspan.examples import example_documents
from leafspan.flows import Flow, Progress, run
from leafspan.strategies import LeafId
from leafspan.trees import Bisecting, Clusterer, Extractive
from leafspan.trees._growing import TreeDraft, TreeGrower, TreeNode
from leafspan.values import Covered

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
COVERED = (300, 600, 1_200, 2_400)  # words of the leaves below the summaries that are read
SET = "squad"


class Instant:
    """A summarizer that takes no time: the first words of each text."""

    identity = "first words"
    asks = False
    max_input_words = 2_500

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Any, keep: Any) -> Flow[dict[int, Exception]]:
        """See Summarizer."""
        for place, texts in enumerate(groups):
            yield from keep(place, " ".join(text[: 400 // len(texts)] for text in texts))
        return {}


class NoCache:
    """A cache of summaries that is always empty."""

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """See SummaryCache."""
        yield from ()
        return {}

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """See SummaryCache."""
        yield from ()


def nodes_of(index: Index, count: int) -> list[TreeNode]:
    """``count`` leaves of an index, as nodes to grow a tree from.

    If the index has fewer leaves, its leaves are repeated, with a little noise in their vectors.
    """
    leaves = index.leaves()
    collection = index.client.get_collection("kb.leaves", embedding_function=None)
    vectors: dict[str, Any] = {}
    for first in range(0, len(leaves), 5_000):
        page = collection.get(ids=[leaf.id for leaf in leaves[first : first + 5_000]], include=["embeddings"])
        vectors.update(zip(page["ids"], page["embeddings"], strict=True))
    noise = np.random.default_rng(5)
    found = []
    for n, leaf in zip(range(count), itertools.cycle(leaves), strict=False):
        vector = np.asarray(vectors[leaf.id], dtype=np.float32)
        if n >= len(leaves):
            vector = vector + noise.standard_normal(len(vector)).astype(np.float32) * 0.02
        cover = Covered("d", "0", n, n, n, n + 1)
        found.append(TreeNode(str(LeafId("d", "0", n)), leaf.text, len(leaf.text.split()), vector, 0, (cover,)))
    return found


def noise(texts: Sequence[str]) -> Flow[Any]:
    """An embedder that takes no time."""
    yield from ()
    return np.random.default_rng(len(texts)).standard_normal((len(texts), 256)).astype(np.float32)


def grow(nodes: Sequence[TreeNode], clusterer: Clusterer) -> float:
    """The seconds to grow one tree."""
    draft = TreeDraft("d", "d", list(nodes), lambda place, *_: str(LeafId("d", "t0", place)))
    grower = TreeGrower(clusterer, Instant(), max_layers=10, embed=noise, title_weight=0.0, cache=NoCache(), key_prefix="")
    started = time.perf_counter()
    run(grower.grow([draft], Progress(None, show=False, what="Growing")))
    return time.perf_counter() - started


def clustering(index: Index) -> Iterator[Figure]:
    """The clusterer on more and more leaves."""
    nodes = nodes_of(index, max(SIZES))
    seconds = [min(grow(nodes[:size], Bisecting()) for _ in range(2)) for size in SIZES]
    for size, spent in zip(SIZES, seconds, strict=True):
        print(f"  {size:>7,} leaves: {spent:.2f} s, {spent / (size * math.log(size)) * 1e6:.2f} us for n log n")
        yield Figure(f"seconds to grow a tree of {size:,} leaves", spent)
    growth = SIZES[-1] * math.log(SIZES[-1]) / (SIZES[0] * math.log(SIZES[0]))
    name = f"growth from {SIZES[0]:,} to {SIZES[-1]:,} leaves, beside n log n"
    yield Figure(name, seconds[-1] / seconds[0] / growth, "<=", 1.0)


def asking(folder: Path, leaves: int, count: int) -> Iterator[Figure]:
    """A collapsed tree beside Chroma's own query of the leaves alone."""
    with build(folder, leaves, None) as index:
        started = time.perf_counter()
        built = index.build_tree(summarizer=Instant(), progress=False)
        print(
            f"\n{index.stats().leaves:,} leaves and {built.summaries:,} summaries, the best {CANDIDATES}; "
            f"the trees were built in {time.perf_counter() - started:.0f} s"
        )
        vectors = np.random.default_rng(4).standard_normal((count + 2, index.stats().dimension or 0)).tolist()
        collection = index.client.get_collection("kb.leaves", embedding_function=None)

        def chroma(i: int) -> Any:
            include = ["documents", "metadatas", "distances"]
            return collection.query(query_embeddings=[vectors[i]], n_results=CANDIDATES, include=include)

        def ask(tree: Tree) -> Any:
            return clocked(lambda i: index.retrieve(vectors[i], tree, k=CANDIDATES, candidates=CANDIDATES))

        traversal = Tree(mode="traversal")
        plain, collapsed = medians([clocked(chroma), ask(Tree(base=Vector()))], count)
        (slow,) = medians([clocked(lambda i: index.retrieve(vectors[i], traversal))], 10)
        print(f"  Chroma {plain * 1000:.2f} ms, collapsed {collapsed * 1000:.2f} ms, traversal {slow * 1000:.1f} ms")
        for name, seconds in {"a Chroma query": plain, "a collapsed tree": collapsed, "a traversal": slow}.items():
            yield Figure(f"{name}, ms", seconds * 1000)
        yield Figure("collapsed tree, beside a plain Chroma query", collapsed / plain, "<=", 2.2)


def quality(folder: Path, data: Path) -> Iterator[Figure]:
    """How well trees with clusters of two sizes lead to answers, over the same documents and with the same summarizer."""
    documents, questions = load_documents(data, SET)[::3], load_questions(data, SET)
    ids = {document["id"] for document in documents}
    answered = [each for each in questions if each.get("answers") and each["answers"][0]["doc_id"] in ids][:ASKED]
    texts = {document["id"]: document["text"] for document in documents}
    with Index.open(folder / "squad") as index:
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        for clusterer in (Bisecting(), Bisecting(size=5)):
            started = time.perf_counter()
            index.build_tree(clusterer=clusterer, summarizer=Extractive(), progress=False)
            spent = time.perf_counter() - started
            found = list(found_below(index, answered, texts))
            shares = "  ".join(f"{share:.3f}" for share in found)
            below = fmean(len(each.summary.children) for each in index.summaries() if each.summary and each.layer == 1)
            print(f"  {clusterer}: {shares}  mean {fmean(found):.3f}; {below:.1f} leaves a summary, built in {spent:.1f} s")
            for budget, share in zip(COVERED, found, strict=True):
                yield Figure(f"{clusterer}: answers below summaries that cover {budget} words", share)
            yield Figure(f"{clusterer}: leaves below a summary", below)
            yield Figure(f"{clusterer}: seconds to build the trees", spent)


def found_below(index: Index, questions: Questions, texts: Mapping[str, str]) -> Iterator[float]:
    """The share of questions with an answer below the best summaries of the lowest layer, for each number of words."""
    asked = [question["text"] for question in questions]
    tree = Tree(base=Vector(), keep_covered_summaries=True)
    rows = index.retrieve_many(asked, tree, k=400, candidates=400)
    for budget in COVERED:
        hits = 0
        for row, question in zip(rows, questions, strict=True):
            left = budget
            for passage in row:
                if passage.layer != 1 or passage.summary is None:
                    continue
                runs = passage.summary.covers
                left -= sum(len(re.findall(r"\S+", texts[each.document_id][each.start : each.end])) for each in runs)
                if left < 0:
                    break
                if any(
                    each.document_id == answer["doc_id"] and each.start <= answer["start"] and answer["end"] <= each.end
                    for answer in question["answers"]
                    for each in runs
                ):
                    hits += 1
                    break
        yield hits / len(questions)


def corpus(folder: Path, data: Path | None) -> Index:
    """An index of real leaves: from squad, or from the example articles and sentences made of their words."""
    index = Index.open(folder / "leaves")
    if data is not None:
        documents = load_documents(data, SET)
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        return index
    sentences = make_sentences()
    made = Document("made", " ".join(itertools.islice(sentences, 3_000)))
    index.add([*example_documents(), made], progress=False)
    return index


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="number of leaves of the index that is asked")
    parser.add_argument("--queries", type=int, default=200, help="number of questions")
    add_data_option(parser, required=False)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.data is not None and (problem := what_is_absent(arguments.data, [SET])):
        print(problem, file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp())
    try:
        with corpus(folder, arguments.data) as index:
            print(f"\ngrowing, from {index.stats().leaves:,} leaves of text")
            figures = print_figures(clustering(index))
        if arguments.data is not None:
            print("\nquality: questions of squad whose answer is below the best summaries, covering " + _words(COVERED))
            figures += print_figures(quality(folder, arguments.data))
        figures += print_figures(asking(folder, arguments.leaves, arguments.queries))
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)
    write_results("tree", arguments, figures)
    return int(not all_passed(figures))


def _words(budgets: Sequence[int]) -> str:
    return " / ".join(f"{budget:,}" for budget in budgets) + " words"


if __name__ == "__main__":
    sys.exit(main())
