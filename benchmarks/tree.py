"""Trees: what growing them costs beside the paper's clustering, and what asking one costs.

    python benchmarks/tree.py [--leaves 100000] [--queries 200] [--data FOLDER]

Everything is compared within one run. Trees are grown with a summarizer that takes no time, so that what is measured is the
rest. The paper's clustering is ``RaptorClusters`` (UMAP, then Gaussian mixtures by BIC, as in the official code), after a
first run that does not count, since UMAP compiles itself. With FOLDER, that of the retrieval data, the leaves are those of
squad, and trees of both clusterers, of a third of its documents, are asked their questions: the quality of a tree is the
share of questions whose answer lies in the leaves below the best summaries, while these have so many words. Ends with 1
where a bound is missed.
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
from lexical import CANDIDATES, Row, build, make_sentences, median, medians, report
from quality import load_metric

from leafspan import Bisecting, Clusterer, Document, Extractive, Index, RaptorClusters, Tree, Vector
from leafspan.engine import Flow, Progress, run
from leafspan.examples import example_documents
from leafspan.tree._growing import Tally, TreeDraft, TreeNode, grow_trees
from leafspan.values import Covered, leaf_id

SIZE = 1_000  # leaves of the tree that both clusterers grow
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
COVERED = (300, 600, 1_200, 2_400)  # words of the leaves below the summaries that are looked at
QUESTIONS = 400


class Instant:
    """A summarizer that takes no time: the first words of what it is given."""

    identity = "first words"
    asks = False
    max_words = 75
    max_input_words = 2_500

    def prompt_words(self, words: int) -> int:
        """See Summarizer."""
        return 0

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Any, keep: Any) -> Flow[dict[int, Exception]]:
        """See Summarizer."""
        for place, texts in enumerate(groups):
            yield from keep(place, " ".join(text[: 400 // len(texts)] for text in texts))
        return {}


class Nothing:
    """Where nothing is kept."""

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """See Kept."""
        yield from ()
        return {}

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """See Kept."""
        yield from ()


def twigs_of(index: Index, count: int) -> list[TreeNode]:
    """So many leaves of an index, as what a tree grows from, over and over where there are fewer."""
    leaves = index.leaves()
    reader = run(index._store.reader(set()))
    try:
        vectors = run(reader.fetch_vectors(run(reader.leaf_ids())))
    finally:
        reader.leave()
    noise = np.random.default_rng(5)
    found = []
    for n, leaf in zip(range(count), itertools.cycle(leaves), strict=False):
        vector = np.asarray(vectors[leaf.id], dtype=np.float32)
        if n >= len(leaves):
            vector = vector + noise.standard_normal(len(vector)).astype(np.float32) * 0.02
        cover = Covered("d", "0", n, n, n, n + 1)
        found.append(TreeNode(leaf_id("d", "0", n), leaf.text, len(leaf.text.split()), vector, 0, (cover,)))
    return found


def grow(twigs: Sequence[TreeNode], clusterer: Clusterer) -> float:
    """The seconds that one tree takes to grow."""
    sapling = TreeDraft("d", "d", list(twigs), lambda place, *_: leaf_id("d", "t0", place))
    flow = grow_trees(
        [sapling],
        clusterer=clusterer,
        summarizer=Instant(),
        max_layers=10,
        embed=None,
        title_weight=0.0,
        kept=Nothing(),
        prefix="",
        tally=Tally(),
        progress=Progress(None, show=False),
    )
    started = time.perf_counter()
    run(flow)
    return time.perf_counter() - started


def clustering(index: Index) -> Iterator[Row]:
    """Both clusterers on the same leaves, then the default on more of them."""
    twigs = twigs_of(index, max(SIZES))
    grow(twigs[:100], RaptorClusters())  # compiles
    ours = min(grow(twigs[:SIZE], Bisecting()) for _ in range(3))
    theirs = grow(twigs[:SIZE], RaptorClusters())
    print(f"  a tree of {SIZE:,} leaves grows in {ours:.2f} s, with the paper's clustering in {theirs:.1f} s")
    yield "times faster than the paper's clustering, whole tree", theirs / ours, ">=", 10.0
    seconds = [min(grow(twigs[:size], Bisecting()) for _ in range(2)) for size in SIZES]
    for size, spent in zip(SIZES, seconds, strict=True):
        print(f"  {size:>7,} leaves: {spent:.2f} s, {spent / (size * math.log(size)) * 1e6:.2f} us for n log n")
    growth = SIZES[-1] * math.log(SIZES[-1]) / (SIZES[0] * math.log(SIZES[0]))
    yield f"growth from {SIZES[0]:,} to {SIZES[-1]:,} leaves, beside n log n", seconds[-1] / seconds[0] / growth, "<=", 1.0


def asking(folder: Path, leaves: int, count: int) -> Iterator[Row]:
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

        tree, traversal = Tree(base=Vector()), Tree(mode="traversal")
        work = [
            chroma,
            lambda i: index.retrieve(vectors[i], tree, k=CANDIDATES, candidates=CANDIDATES),
        ]
        plain, collapsed = medians(work, count)
        slow = median(lambda i: index.retrieve(vectors[i], traversal), 10)
        print(f"  Chroma {plain * 1000:.2f} ms, collapsed {collapsed * 1000:.2f} ms, traversal {slow * 1000:.1f} ms")
        yield "collapsed tree, beside a plain Chroma query", collapsed / plain, "<=", 2.2


def quality(folder: Path, data: Path) -> Iterator[Row]:
    """The trees of both clusterers, over the same documents and summarized alike, and how well they lead to answers."""
    metric = load_metric(data / "span_recall.py")
    documents, questions = metric.load("squad", None)
    documents = documents[::3]
    ids = {document["id"] for document in documents}
    answered = [each for each in questions if each.get("answers") and each["answers"][0]["doc_id"] in ids][:QUESTIONS]
    recall = {}
    with Index.open(folder / "squad") as index:
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        for clusterer in (Bisecting(), Bisecting(size=5), RaptorClusters()):
            started = time.perf_counter()
            index.build_tree(clusterer=clusterer, summarizer=Extractive(), progress=False)
            spent = time.perf_counter() - started
            texts = {document["id"]: document["text"] for document in documents}
            recall[str(clusterer)] = found = list(found_below(index, answered, texts))
            figures = "  ".join(f"{share:.3f}" for share in found)
            below = fmean(len(each.summary.children) for each in index.summaries() if each.summary and each.layer == 1)
            print(
                f"  {clusterer}: {figures}  mean {fmean(found):.3f}; {below:.1f} leaves a summary, built in {spent:.1f} s"
            )
    ours, theirs = recall[str(Bisecting(size=5))], recall[str(RaptorClusters())]
    yield "recall below summaries of the same size, beside the paper's", fmean(ours) / fmean(theirs), ">=", 1.0


def found_below(index: Index, questions: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> Iterator[float]:
    """The share of questions with an answer below the best summaries of the lowest layer, within so many words."""
    rows = index.retrieve(
        [question["text"] for question in questions], Tree(base=Vector(), keep_covered_summaries=True), k=400, candidates=400
    )
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
    """An index of real leaves: squad's, or those of the example articles and of sentences made of their words."""
    index = Index.open(folder / "leaves")
    if data is not None:
        documents, _ = load_metric(data / "span_recall.py").load("squad")
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        return index
    sentences = make_sentences()
    made = Document("made", " ".join(itertools.islice(sentences, 3_000)))
    index.add([*example_documents(), made], progress=False)
    return index


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="how many leaves are asked")
    parser.add_argument("--queries", type=int, default=200, help="how many questions are asked")
    parser.add_argument("--data", type=Path, help="the folder of span_recall.py and the retrieval sets")
    options = parser.parse_args()
    if options.data is not None and not (options.data / "span_recall.py").is_file():
        print(f"--data must be the folder of the retrieval data, but there is no {options.data / 'span_recall.py'}")
        return 2
    folder = Path(tempfile.mkdtemp())
    try:
        with corpus(folder, options.data) as index:
            print(f"\ngrowing, from {index.stats().leaves:,} leaves of text")
            holds = report(clustering(index))
        if options.data is not None:
            print("\nquality: questions of squad whose answer is below the best summaries, covering " + _words(COVERED))
            holds &= report(quality(folder, options.data))
        holds &= report(asking(folder, options.leaves, options.queries))
        return int(not holds)
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)


def _words(budgets: Sequence[int]) -> str:
    return " / ".join(f"{budget:,}" for budget in budgets) + " words"


if __name__ == "__main__":
    sys.exit(main())
