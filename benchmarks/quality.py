"""Retrieval quality: span recall of the strategies over plain vector search, next to LlamaIndex's.

    python benchmarks/quality.py --data FOLDER [--set squad] [--queries 400] [--peer]

FOLDER holds ``span_recall.py``, the metric, and a folder for each set with its corpus and questions. Every strategy runs
with its public defaults on the same 24 candidates. The defaults were chosen on the questions in even positions (the tuned
half); those in odd positions (the other half) say what the choice is worth.

A strategy passes where its mean over the budgets is above its peer's, and no budget is more than 0.015 below. Without
``--peer``, LlamaIndex's figures are those measured for the design, on 400 questions; with it, LlamaIndex itself runs on
the same questions. Ends with 1 where a strategy fails on all questions, with 2 where there is no data.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from leafspan import AutoMerging, Document, HierarchicalSplitter, Index, ParentDocument, SentenceWindow, Strategy, Vector

if TYPE_CHECKING:
    from llama_index.core.retrievers import BaseRetriever

Place = tuple[str, int, int]  # document id, start and end character
Results = list[list[Place]]  # for each question, best first
Recall = Mapping[int, float]  # by budget in words

SETS = ("squad", "covidqa")
CANDIDATES = 24
TOLERANCE = 0.015
STRATEGIES: dict[str, Strategy] = {
    "Vector": Vector(),
    "ParentDocument": ParentDocument(),
    "SentenceWindow": SentenceWindow(),
    "AutoMerging": AutoMerging(),
}
PARTS = {"tuned half": slice(0, None, 2), "other half": slice(1, None, 2), "all": slice(None)}

PEER_OF = {"SentenceWindow": "LlamaIndex SentenceWindow", "AutoMerging": "LlamaIndex AutoMerging"}
TITLED = ", titled"  # the peer with titles in its nodes' metadata, for which the design has no figures
MEASURED_QUESTIONS = 400
MEASURED = {  # of LlamaIndex 0.14, with 24 chunks, on all 400 questions
    "squad": {
        "LlamaIndex SentenceWindow": {150: 0.62, 300: 0.75, 600: 0.83, 1200: 0.89},
        "LlamaIndex AutoMerging": {150: 0.67, 300: 0.79, 600: 0.87, 1200: 0.92},
    },
    "covidqa": {
        "LlamaIndex SentenceWindow": {150: 0.38, 300: 0.47, 600: 0.56, 1200: 0.66},
        "LlamaIndex AutoMerging": {150: 0.40, 300: 0.50, 600: 0.56, 1200: 0.58},
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Span recall of the strategies over plain vector search.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of span_recall.py and the sets")
    parser.add_argument("--set", choices=SETS, action="append", help="one set (may be given again); both by default")
    parser.add_argument("--queries", type=int, default=400, help="so many questions a set, evenly spaced")
    parser.add_argument("--peer", action="store_true", help="run LlamaIndex itself on the same questions")
    arguments = parser.parse_args()
    sets = list(dict.fromkeys(arguments.set or SETS))
    wanted = [arguments.data / "span_recall.py", *(arguments.data / name / "corpus.jsonl" for name in sets)]
    absent = [str(path) for path in wanted if not path.is_file()]
    if absent:
        print(f"--data must be the folder of the retrieval data, but there is no {', '.join(absent)}", file=sys.stderr)
        return 2
    metric = load_metric(wanted[0])

    print(f"{HierarchicalSplitter().describe()}, {CANDIDATES} candidates over vectors")
    for strategy in STRATEGIES.values():
        print(f"  {strategy}")
    passed = True
    for name in sets:
        documents, questions = metric.load(name, arguments.queries)
        results = retrieve(documents, questions)
        if arguments.peer:
            results |= retrieve_with_llamaindex(documents, questions)
        passed &= report(metric, name, documents, questions, results)
    return 0 if passed else 1


def load_metric(path: Path) -> Any:
    """The module of the metric, from its file."""
    spec = importlib.util.spec_from_file_location("span_recall", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def retrieve(documents: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]) -> dict[str, Results]:
    """The passages of every strategy, from an index of the documents that lasts as long as this call."""
    texts = [question["text"] for question in questions]
    with tempfile.TemporaryDirectory() as folder, Index.open(folder) as index:
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        found = {}
        for name, strategy in STRATEGIES.items():
            # As many passages as candidates, so that it is the metric that cuts them at each budget.
            rows = index.retrieve(texts, strategy, k=CANDIDATES, candidates=CANDIDATES)
            found[name] = [[(passage.document_id, passage.start, passage.end) for passage in row] for row in rows]
    return found


def report(
    metric: Any,
    name: str,
    documents: Sequence[Mapping[str, Any]],
    questions: Sequence[Mapping[str, Any]],
    results: Mapping[str, Results],
) -> bool:
    """Print the tables of a set; True where every strategy that has a peer passes on all questions."""
    texts = {document["id"]: document["text"] for document in documents}
    passed = True
    for part, chosen in PARTS.items():
        asked = questions[chosen]
        table: dict[str, Recall] = {
            row: metric.span_recall(places[chosen], asked, texts, metric.BUDGETS) for row, places in results.items()
        }
        # The figures of the design are of all 400 questions; beside other questions they would say nothing.
        if not set(PEER_OF.values()) <= set(table) and len(asked) == MEASURED_QUESTIONS:
            table |= MEASURED[name]
        verdicts = {row: judge(table[row], table[peer]) for row, peer in PEER_OF.items() if peer in table}
        print(f"\n{name}, {part}: {len(asked)} questions")
        print(f"{'within so many words':<36}" + "".join(f"{budget:>8}" for budget in metric.BUDGETS) + f"{'mean':>8}")
        for row, recall in table.items():
            figures = [*recall.values(), fmean(recall.values())]
            print(f"{row:<36}" + "".join(f"{figure:>8.3f}" for figure in figures) + f"  {verdicts.get(row, '')}".rstrip())
        if part == "all":
            passed = not any(verdict.startswith("FAIL") for verdict in verdicts.values())
    return passed


def judge(recall: Recall, peer: Recall) -> str:
    """PASS or FAIL against the peer, with what is gained in the mean and at the worst budget."""
    mean = fmean(recall.values()) - fmean(peer.values())
    worst = min(recall[budget] - peer[budget] for budget in peer)
    # The tolerance is meant in whole thousandths, which are not exact in binary.
    verdict = "PASS" if mean > 0 and worst >= -TOLERANCE - 1e-9 else "FAIL"
    return f"{verdict} (mean {mean:+.3f}, worst {worst:+.3f})"


def retrieve_with_llamaindex(
    documents: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]
) -> dict[str, Results]:
    """The passages of LlamaIndex's auto-merging and windows of two sentences, over the same embedder."""
    from llama_index.core import Document as LlamaIndexDocument
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import get_leaf_nodes
    from llama_index.core.retrievers import AutoMergingRetriever
    from llama_index.core.storage.docstore import SimpleDocumentStore

    from leafspan.wordllama import default_embedder

    logging.getLogger("llama_index").setLevel(logging.WARNING)  # it tells of each merge
    embed = default_embedder().documents

    class WordLlama(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embed(texts)]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    model = WordLlama(embed_batch_size=1024)
    asked = [question["text"] for question in questions]
    texts = {document["id"]: document["text"] for document in documents}
    whole = [LlamaIndexDocument(id_=id_, text=text) for id_, text in texts.items()]
    titles = {document["id"]: document["title"] for document in documents}
    results = {}
    for suffix in ("", TITLED):
        nodes, places = _windows(whole, texts)
        retriever = VectorStoreIndex(_titled(nodes, places, titles if suffix else {}), embed_model=model).as_retriever(
            similarity_top_k=CANDIDATES
        )
        results[PEER_OF["SentenceWindow"] + suffix] = _ask(retriever, asked, places)

        nodes, places = _hierarchy(whole, texts)
        docstore = SimpleDocumentStore()
        docstore.add_documents(nodes)
        storage = StorageContext.from_defaults(docstore=docstore)
        leaves = _titled(get_leaf_nodes(nodes), places, titles if suffix else {})
        index = VectorStoreIndex(leaves, storage_context=storage, embed_model=model)
        vectors: Any = index.as_retriever(similarity_top_k=CANDIDATES)
        merging = AutoMergingRetriever(vectors, storage)
        results[PEER_OF["AutoMerging"] + suffix] = _ask(merging, asked, places)
    return results


def _hierarchy(documents: Sequence[Any], texts: Mapping[str, str]) -> tuple[list[Any], dict[str, Place]]:
    """Nodes of 1024, 256 and 64 tokens, and where each stands; its own place counts from the start of its parent."""
    from llama_index.core.node_parser import HierarchicalNodeParser

    nodes: list[Any] = HierarchicalNodeParser.from_defaults(chunk_sizes=[1024, 256, 64]).get_nodes_from_documents(documents)
    places: dict[str, Place] = {}
    for node in nodes:
        parent = node.parent_node
        document, begin, _ = places[parent.node_id] if parent else (node.ref_doc_id, 0, 0)
        # Where a text is repeated, the parser can lose the place of the next one.
        lost = node.start_char_idx is None
        start = texts[document].index(node.text, begin) if lost else begin + node.start_char_idx
        end = start + len(node.text)
        assert texts[document][start:end] == node.text, f"{node.node_id} is not at {start} of {document}"
        places[node.node_id] = (document, start, end)
    return nodes, places


def _windows(documents: Sequence[Any], texts: Mapping[str, str]) -> tuple[list[Any], dict[str, Place]]:
    """A node for each sentence, and where its window stands: from two sentences before it to two after."""
    from llama_index.core.node_parser import SentenceWindowNodeParser

    size = 2
    nodes: list[Any] = SentenceWindowNodeParser.from_defaults(window_size=size).get_nodes_from_documents(documents)
    sentences: dict[str, list[Any]] = {}
    for node in nodes:
        sentences.setdefault(node.ref_doc_id, []).append(node)
    places: dict[str, Place] = {}
    for document, row in sentences.items():
        bounds = []
        end = 0
        for node in row:
            start = texts[document].index(node.text, end)
            end = start + len(node.text)
            bounds.append((start, end))
        for number, node in enumerate(row):
            first, last = max(0, number - size), min(len(row) - 1, number + size)
            places[node.node_id] = (document, bounds[first][0], bounds[last][1])
    return nodes, places


def _titled(nodes: Sequence[Any], places: Mapping[str, Place], titles: Mapping[str, str]) -> Sequence[Any]:
    """The nodes with their documents' titles, where there are any: set after parsing, which would cut shorter for them."""
    for node in nodes:
        document, _, _ = places[node.node_id]
        if document in titles:
            node.metadata["title"] = titles[document]
    return nodes


def _ask(retriever: BaseRetriever, asked: Sequence[str], places: Mapping[str, Place]) -> Results:
    return [[places[found.node.node_id] for found in retriever.retrieve(question)] for question in asked]


if __name__ == "__main__":
    sys.exit(main())
