"""The corpus that all systems of the benchmarks get."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leafspan import Index

pytestmark = pytest.mark.usefixtures("scripts")


@pytest.fixture
def corpus():
    from corpus import Corpus

    return Corpus.made(100, {"book": 0, "language": "en"})


def test_its_leaves_are_those_that_an_index_makes(corpus, tmp_path: Path):
    with Index.open(tmp_path / "kb", embedder=corpus.embedder()) as index:
        index.add(corpus.documents, progress=False)
        stored = {leaf.id: (leaf.text, leaf.metadata["book"]) for leaf in index.leaves()}
    assert stored == dict(zip(corpus.ids, zip(corpus.texts, corpus.books, strict=True), strict=True))


def test_no_two_leaves_are_alike(corpus):
    assert len({text.strip() for text in corpus.texts}) == len(corpus.texts) > 80


def test_the_texts_of_the_children_of_a_node_are_its_text(corpus):
    nodes = list(corpus.nodes())
    assert [node.id for node in nodes if node.level == 0] == list(corpus.ids)
    for parent in (node for node in nodes if node.level > 0):
        children = [node for node in nodes if node.parent == parent.id]
        assert {child.level for child in children} == {parent.level - 1}
        assert "".join(child.text for child in children) == parent.text


def test_groups_are_all_documents_with_their_leaves(corpus):
    from corpus import Corpus

    large = Corpus(corpus.documents * 200, corpus.ids, corpus.texts, [4 * number for number in range(601)])
    groups = list(large.groups())
    assert [len(documents) for documents, _ in groups] == [320, 280]
    assert [(rows.start, rows.stop) for _, rows in groups] == [(0, 4 * 320), (4 * 320, 4 * 600)]


def test_recall_is_the_share_of_the_nearest_leaves(corpus):
    from corpus import WORDLLAMA

    question = "Who decoded the dance of the bees?"
    order = np.argsort(-(corpus.vectors @ WORDLLAMA.queries([question])[0]))
    ids = [corpus.ids[place] for place in order]
    assert corpus.recall(question, ids[:4], 4) == 4 / 4
    assert corpus.recall(question, ids[2:6], 4) == 2 / 4
    assert corpus.recall(question, ids[:2], 4) == 2 / 4
    second = range(corpus.starts[1], corpus.starts[2])
    within = [corpus.ids[place] for place in order if place in second]
    assert corpus.recall(question, within[:3], 3, (1, 2)) == 3 / 3


def test_an_embedder_looks_leaves_up_and_embeds_everything_else(corpus):
    from corpus import WORDLLAMA

    embedder = corpus.embedder()
    embed = embedder.documents
    assert embedder.local  # so no cache keeps what is at hand
    assert (embed([corpus.texts[3], corpus.texts[1]]) == corpus.vectors[[3, 1]]).all()
    assert np.allclose(embed(["no leaf"]), WORDLLAMA.documents(["no leaf"]))
