"""PII-aware retrieval: leaves that mention a name in the question, beside leaves near to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from langchain_ext import PIIAwareRetriever
from leafspan import AutoMerging, Document, F, Hybrid, Index, InvalidArgument, Vector
from leafspan.private import PIIAware, PrivateView, private_view
from leafspan.strategies import LexicalMatches, LexicalSearch, Query, RetrievalContext, VectorSearch
from llamaindex_ext import PIIAwareRetriever as LlamaIndexRetriever
from tests.corpus import SPLITTER
from tests.private.views.people import fixed_vault

KNOWN = {"PERSON": ["Alice Smith", "Bob Jones", "Carol White"]}
NOTES = [
    Document(
        "rowing", "Alice Smith rows on the lake. The lake is cold in spring. Ducks live there too.", "Rowing", {"year": 1}
    ),
    Document("tax", "The tax office is in the old town. Alice Smith paid late. Bob Jones paid early.", "Tax", {"year": 2}),
    Document("cake", "A cake needs butter, sugar and flour. It is baked for an hour.", "A cake of Bob Jones", {"year": 3}),
    Document("lake", "The lake has clear water. In summer many people swim in the lake.", "The lake", {"year": 4}),
]


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateView]:
    folder = tmp_path_factory.mktemp("notes")
    with Index.open(folder / "kb", splitter=SPLITTER) as index:
        view = private_view(index, fixed_vault(folder / "vault.db"), known=KNOWN, finder=())
        view.add(NOTES)
        yield view


def ids(passages: list) -> list[str]:
    return [passage.id for passage in passages]


def test_the_score_is_the_weighted_sum_of_both_ranks(view: PrivateView):
    question = "What did Alice Smith do at the lake?"
    near = ids(view.retrieve(question, Vector(), k=20))
    mentions = {"rowing", "tax"}
    found = view.retrieve(question, PIIAware(), k=20)
    scores = {passage.id: passage.score for passage in found}
    listed = [contribution for passage in found for step in passage.trace.fused for contribution in step.contributions]
    ranks = {passage.id: {part.source: part.rank for part in passage.trace.fused[0].contributions} for passage in found}
    for id_, rank in ranks.items():
        expected = sum({"entities": 0.2, "meaning": 0.8}[source] / (60 + place) for source, place in rank.items())
        assert scores[id_] == pytest.approx(expected)
        assert rank["meaning"] == near.index(id_) + 1
    assert {id_.partition("#")[0] for id_, rank in ranks.items() if "entities" in rank} == mentions
    assert sorted(part.rank for part in listed if part.source == "entities") == [1, 2]
    assert found[0].document_id == "rowing"


def test_the_more_mentions_weigh_the_higher_they_come(view: PrivateView):
    question = "clear water, and what Alice Smith did"
    assert view.retrieve(question, PIIAware(weights=(0.001, 1)), k=1)[0].id == view.retrieve(question, Vector(), k=1)[0].id
    first, second = view.retrieve(question, PIIAware(weights=(1, 0.001)), k=2)
    assert {first.document_id, second.document_id} == {"tax", "rowing"}


def test_a_title_counts_as_a_mention(view: PrivateView):
    found = view.retrieve("What does Bob Jones like?", PIIAware(weights=(1, 0.001)), k=3)
    assert {passage.document_id for passage in found if passage.trace.hits[0].source == "entities"} == {"tax", "cake"}


def test_of_several_names_each_counts(view: PrivateView):
    found = view.retrieve("Alice Smith and Bob Jones", PIIAware(weights=(1, 0.001)), k=20)
    mentioned = {hit.source: 0 for passage in found for hit in passage.trace.hits}
    assert "entities" in mentioned
    with_mentions = {
        passage.document_id for passage in found if any(hit.source == "entities" for hit in passage.trace.hits)
    }
    assert with_mentions == {"rowing", "tax", "cake"}


@pytest.mark.parametrize("question", ["Where can one swim?", "What does Carol White do?"])
def test_without_a_mention_only_the_base_counts(view: PrivateView, question: str):
    base = view.retrieve(question, Vector(), k=4)
    found = view.retrieve(question, PIIAware(), k=4)
    assert ids(found) == ids(base)
    assert [passage.score for passage in found] == pytest.approx([0.8 / (60 + rank) for rank in range(1, 5)])


def test_weights_are_normalised(view: PrivateView):
    question = "What did Alice Smith do at the lake?"
    assert view.retrieve(question, PIIAware(weights=[2, 8])) == view.retrieve(question, PIIAware(weights=(0.2, 0.8)))
    assert PIIAware(weights=[2, 8]).weights == (2, 8)


def test_the_rank_constant_matches_the_fusion(view: PrivateView):
    (best,) = view.retrieve("Where can one swim?", PIIAware(rank_constant=0), k=1)
    assert best.score == pytest.approx(0.8 / (0 + 1))


def test_each_list_is_asked_for_the_fewest_candidates():
    """A test of the requests alone: no index is needed."""
    query = Query("PERSON0AAAAAAAAAAAAAAAA0 rows")
    flow = PIIAware(min_candidates=50).retrieve([query], RetrievalContext(3, private=True))
    next(flow)
    asked = flow.send([[1.0, 0.0]])
    where = F("entities").contains_any(["PERSON0AAAAAAAAAAAAAAAA0"])
    assert asked == (LexicalSearch(("PERSON0AAAAAAAAAAAAAAAA0",), 500, where),)


def test_several_questions_are_embedded_in_one_call(tmp_path: Path):
    calls: list[int] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        calls.append(len(texts))
        return [[float(len(text)), 1.0] for text in texts]

    questions = ["Where does Alice Smith row?", "What did Bob Jones pay?", "Who swims?", "Did Carol White bake?"]
    with Index.open(tmp_path / "kb", splitter=SPLITTER, embedder=embed) as index:
        view = private_view(index, fixed_vault(tmp_path / "vault.db"), known=KNOWN, finder=())
        view.add(NOTES)
        one_by_one = [view.retrieve(question, PIIAware(), k=4) for question in questions]
        calls.clear()
        assert view.retrieve_many(questions, PIIAware(), k=4) == one_by_one
    assert calls == [3, 1]  # those with a name, then the base's other one


def test_the_filter_of_the_call_holds_for_both_lists(view: PrivateView):
    found = view.retrieve("What did Alice Smith do at the lake?", PIIAware(), where=F("year") > 1, k=20)
    assert {passage.document_id for passage in found} == {"tax", "cake", "lake"}
    scoped = view.scoped(F("year") == 2).retrieve("Alice Smith", PIIAware(), k=20)
    assert {passage.document_id for passage in scoped} == {"tax"}


def test_an_analyzer_that_cuts_pseudonyms_leaves_the_documents_that_mention_one(view: PrivateView, tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER, analyzer=_of_letters) as index:
        cut = private_view(index, view.vault, known=KNOWN, finder=())
        cut.add(NOTES)
        found = cut.retrieve("What did Alice Smith do at the lake?", PIIAware(), k=20)
        by_entity = {p.document_id for p in found if any(hit.source == "entities" for hit in p.trace.hits)}
        assert by_entity == {"rowing", "tax"}


def _of_letters(text: str) -> list[str]:
    return [word for word in text.split() if word.islower()]


def test_it_may_be_a_base_and_have_any_base(view: PrivateView):
    question = "What did Alice Smith do at the lake?"
    assert not PIIAware().finds_spans
    assert PIIAware(base=AutoMerging()).finds_spans
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        AutoMerging(base=PIIAware(base=AutoMerging()))
    assert view.retrieve(question, AutoMerging(base=PIIAware()))[0].document_id == "rowing"
    assert view.retrieve(question, PIIAware(base=Hybrid()))[0].document_id == "rowing"
    spans = view.retrieve(question, PIIAware(base=AutoMerging()), k=10)
    taken = [(span.document_id, place) for span in spans for place in range(span.start, span.end)]
    assert len(taken) == len(set(taken))


def test_vectors_and_lists_are_questions_too(view: PrivateView):
    vector = tuple(float(number) for number in range(1, 1 + (view.stats().dimension or 0)))
    assert ids(view.retrieve(Query(vector=vector), PIIAware())) == ids(view.retrieve(Query(vector=vector), Vector()))
    questions = ["What did Alice Smith do?", "Where can one swim?"]
    assert view.retrieve_many(questions, PIIAware()) == [view.retrieve(question, PIIAware()) for question in questions]


def test_it_refuses_an_index_that_is_not_private(shared_index: Index):
    """The question would go to the embedder in the clear."""
    for strategy in (PIIAware(), AutoMerging(base=PIIAware())):
        with pytest.raises(InvalidArgument, match=r"must be asked through a private view, private_view\(index, vault\)"):
            shared_index.retrieve("Alice Smith", strategy)


def test_both_hosts_give_the_same(view: PrivateView):
    question = "What did Alice Smith do at the lake?"
    expected = [(passage.id, passage.score) for passage in view.retrieve(question, PIIAware(weights=(1, 1)), k=3)]
    documents = PIIAwareRetriever(index=view, weights=(1, 1), k=3).invoke(question)
    nodes = LlamaIndexRetriever(view, weights=(1, 1), similarity_top_k=3).retrieve(question)
    assert [(document.id, document.metadata["score"]) for document in documents] == expected
    assert [(node.node_id, node.score) for node in nodes] == expected
    revealed = PIIAwareRetriever(index=view.revealing(), k=1).invoke(question)
    assert revealed[0].page_content.startswith("Alice Smith rows")
    with pytest.raises(InvalidArgument, match="weights must be two numbers"):
        LlamaIndexRetriever(view, weights=(1,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": (1,)}, r"weights must be two numbers > 0, of leaves with a pseudonym and of the base, got \(1,\)"),
        ({"weights": (0, 1)}, "weights must be a number > 0, got 0"),
        ({"weights": (1, float("nan"))}, "weights must be a number > 0, got nan"),
        ({"weights": "ab"}, "weights must be two numbers"),
        ({"weights": None}, "weights must be two numbers"),
        ({"rank_constant": -1}, "rank_constant must be a number >= 0, got -1"),
        ({"min_candidates": 0}, "min_candidates must be a whole number >= 1, got 0"),
        ({"entities_field": 3}, "entities_field must be a string, got 3"),
        ({"entities_field": "score"}, "no document can have the metadata key 'score'"),
        ({"base": Vector}, "base must be a strategy such as Vector.., got .*did you forget the parentheses"),
    ],
)
def test_options_are_checked(options: dict, message: str):
    with pytest.raises(InvalidArgument, match=message):
        PIIAware(**options)


def test_where_no_leaf_has_the_word_its_documents_are_searched():
    query = Query("PERSON0AAAAAAAAAAAAAAAA0", vector=(1.0, 0.0))
    flow = PIIAware().retrieve([query], RetrievalContext(3, private=True))
    assert [type(request) for request in next(flow)] == [LexicalSearch]
    [request] = flow.send([[LexicalMatches([], 0.0)]])
    assert isinstance(request, VectorSearch)
    assert request.where == F("entities").contains_any(["PERSON0AAAAAAAAAAAAAAAA0"])
