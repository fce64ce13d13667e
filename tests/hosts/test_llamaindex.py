"""The adapters at work in LlamaIndex."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.llm import LLMCompletionStartEvent
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.vector_stores.chroma import ChromaVectorStore

from leafspan import (
    BM25,
    AutoMerging,
    Ensemble,
    F,
    HostRetriever,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    NotALeaf,
    ParentDocument,
    SentenceWindow,
    Tree,
    Vector,
)
from leafspan.embedding import default_embedder
from leafspan.strategies._filtered import Filtered
from llamaindex_ext import (
    AutoMergingRetriever,
    BM25Retriever,
    EnsembleRetriever,
    FilterRetriever,
    HybridRetriever,
    MultiQueryRetriever,
    NodeWithTrace,
    ParentDocumentRetriever,
    SentenceWindowRetriever,
    SpanNodeParser,
    TreeRetriever,
    VectorRetriever,
    leaf_nodes,
    splitter_from,
)
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS

BASED = [ParentDocumentRetriever, SentenceWindowRetriever, AutoMergingRetriever, MultiQueryRetriever]
EVERY = [VectorRetriever, BM25Retriever, HybridRetriever, *BASED, EnsembleRetriever, FilterRetriever, TreeRetriever]
LEGS = [BM25(), Vector()]
PHRASINGS = "1. the dance of the bees\n2. what workers tell each other"


def needed(adapter) -> dict[str, Any]:
    """The options without which there is none."""
    return {"retrievers": LEGS} if adapter is EnsembleRetriever else {}


class WordLlama(BaseEmbedding):
    def _get_text_embedding(self, text):
        return default_embedder().documents([text])[0].tolist()

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


class Stub(BaseRetriever):
    """Returns what it is told to."""

    def __init__(self, nodes):
        super().__init__()
        self.nodes = nodes
        self.bundles = []

    def _retrieve(self, query_bundle):
        self.bundles.append(query_bundle)
        return self.nodes


class Quoting(CustomLLM):
    """A scripted model that quotes the last line it is shown of the context."""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=prompt.split("---------------------")[1].strip().split("\n")[-1])

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise AssertionError("nobody asked for a stream")


class Rephrasing(CustomLLM):
    """A scripted model that always writes the same phrasings, or fails; it remembers what it was asked."""

    prompts: list[str] = []  # noqa: RUF012 - pydantic copies it
    fails: bool = False

    @property
    def metadata(self):
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        self.prompts.append(prompt)
        if self.fails:
            raise ConnectionError("the line is dead")
        return CompletionResponse(text=PHRASINGS)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise AssertionError("nobody asked for a stream")


@pytest.fixture(autouse=True)
def no_default_model(monkeypatch: pytest.MonkeyPatch):
    """No test may fall back to a model that LlamaIndex would look for by itself."""

    def refuse(self):
        raise AssertionError("a default model was asked for")

    monkeypatch.setattr(type(Settings), "llm", property(refuse))
    monkeypatch.setattr(type(Settings), "embed_model", property(refuse))


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The small corpus with trees, and layers above them."""
    with Index.open(tmp_path_factory.mktemp("forest") / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree(across_documents=True)
        yield index


@pytest.mark.parametrize("adapter", [AutoMergingRetriever, HybridRetriever])
def test_a_query_engine_answers_with_citations_to_character_ranges(shared_index: Index, adapter):
    retriever = adapter(shared_index, similarity_top_k=3)
    engine = RetrieverQueryEngine.from_args(retriever, llm=Quoting())
    response = engine.query(QUESTIONS[0])
    assert response.source_nodes[0].node.node_id.startswith("bees#")
    for source in response.source_nodes:
        place = source.node.metadata
        assert TEXTS[place["doc_id"]][place["start"] : place["end"]] == source.node.text
    assert str(response) in response.source_nodes[-1].node.text


async def test_a_citation_engine_answers_asynchronously(shared_index: Index):
    engine = CitationQueryEngine.from_args(
        None, llm=MockLLM(), retriever=SentenceWindowRetriever(shared_index, similarity_top_k=2), citation_chunk_size=2_000
    )
    response = await engine.aquery(QUESTIONS[0])
    assert len(response.source_nodes) == 2


def test_nodes_carry_the_users_metadata_and_their_place(shared_index: Index):
    node = VectorRetriever(shared_index, similarity_top_k=1).retrieve(QUESTIONS[1])[0].node
    assert set(node.metadata) == {"topic", "year", "tags", "doc_id", "start", "end"}
    assert TEXTS["harbour"][node.start_char_idx : node.end_char_idx] == node.text
    assert node.relationships[NodeRelationship.SOURCE].node_id == "harbour"


def test_a_summary_says_what_it_covers_and_is_no_place_in_a_text(forest: Index):
    found = [n.node for n in TreeRetriever(forest, mode="traversal", top_k=9).retrieve(QUESTIONS[1])]
    top, *others = found
    assert set(top.metadata) == {"layer", "covers"}
    whole = [[document.id, 0, len(document.text)] for document in sorted(DOCUMENTS, key=lambda each: each.id)]
    assert (top.metadata["layer"], top.metadata["covers"]) == (max(n.metadata.get("layer", 0) for n in found), whole)
    assert (top.ref_doc_id, top.relationships, top.start_char_idx, top.end_char_idx) == (None, {}, None, None)
    harbour = next(n for n in others if n.metadata["doc_id"] == "harbour" and "layer" in n.metadata)
    assert set(harbour.metadata) == {"topic", "year", "tags", "doc_id", "start", "end", "layer", "covers"}
    assert (harbour.ref_doc_id, harbour.start_char_idx, harbour.end_char_idx) == ("harbour", None, None)
    for mode in ("llm", "embed"):
        assert top.get_content(mode) == top.text
        assert "topic: places" in harbour.get_content(mode)
        assert "covers" not in harbour.get_content(mode)
    leaf = next(n for n in others if n.metadata["doc_id"] == "harbour" and "layer" not in n.metadata)
    assert set(leaf.metadata) == {"topic", "year", "tags", "doc_id", "start", "end"}
    assert leaf.start_char_idx == leaf.metadata["start"]
    restored = TextNode.from_dict(top.to_dict())
    assert (restored.metadata, restored.hash) == (top.metadata, top.hash)


def test_summaries_can_be_cited_and_synthesised_from(forest: Index):
    retriever = TreeRetriever(forest, mode="traversal", top_k=2)
    engine = CitationQueryEngine.from_args(None, llm=MockLLM(), retriever=retriever, citation_chunk_size=2_000)
    assert len(engine.query(QUESTIONS[0]).source_nodes) == len(retriever.retrieve(QUESTIONS[0])) > 2


def test_our_own_retriever_can_be_what_ranks_a_tree(forest: Index):
    base = VectorRetriever(forest, similarity_top_k=1, where={"topic": {"$ne": "food"}})
    retriever = TreeRetriever(forest, base=base, keep_covered_summaries=True, similarity_top_k=50)
    assert retriever._strategy() == Tree(base=Filtered(Vector(), WITHIN), keep_covered_summaries=True)
    found = retriever.retrieve(QUESTIONS[2])
    assert {place[0] for n in found for place in n.node.metadata.get("covers", [])} == {"bees", "harbour"}
    assert {n.node.ref_doc_id for n in found} == {"bees", "harbour"}
    assert TreeRetriever(forest, base=HybridRetriever(forest))._strategy() == Tree() == Tree(base=Hybrid())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "vector"}, "base must be a strategy or a LlamaIndex retriever, got 'vector'"),
        (
            {"base": AutoMerging()},
            r"base must be a strategy that can search summaries, such as Hybrid\(\), got AutoMerging",
        ),
        ({"base": Stub([])}, r"base must be a strategy that can search summaries, such as Hybrid\(\), got Outside"),
        ({"mode": "up"}, "mode must be one of 'collapsed', 'traversal', got 'up'"),
        ({"start_layer": 1}, "start_layer and end_layer are for mode='traversal'"),
        ({"expand": 0}, "expand must be a whole number >= 1, got 0"),
        (
            {"mode": "traversal", "base": Filtered(Vector(), F("topic") == "food")},
            "base is not used for mode='traversal', and so its filter would not hold",
        ),
    ],
)
def test_bad_options_of_trees_are_refused(shared_index: Index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        TreeRetriever(shared_index, **options)


def test_a_model_is_shown_the_users_metadata_only(shared_index: Index):
    node = VectorRetriever(shared_index, similarity_top_k=1).retrieve(QUESTIONS[1])[0].node
    assert "topic: places" in node.get_content("llm")
    assert "doc_id" not in node.get_content("llm")


def test_nodes_explain_themselves_when_asked_as_far_as_the_answer(shared_index: Index):
    retriever = SentenceWindowRetriever(shared_index, similarity_top_k=3, explain=True)
    engine = RetrieverQueryEngine.from_args(
        retriever, llm=MockLLM(), node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0)]
    )
    for source in engine.query(QUESTIONS[1]).source_nodes:
        assert isinstance(source, NodeWithTrace)
        assert source.trace[-1] == "widened to the neighbours: 0 before and 1 after"
    plain, explained = SentenceWindowRetriever(shared_index).retrieve(QUESTIONS[1]), retriever.retrieve(QUESTIONS[1])
    assert type(plain[0]) is NodeWithScore
    assert plain[0].node == explained[0].node


def test_a_filter_may_be_in_any_dialect_and_is_checked_when_the_retriever_is_made(shared_index: Index):
    for where in (
        F("topic") == "food",
        {"topic": "food"},
        {"field": "meta.topic", "operator": "==", "value": "food"},
        MetadataFilters(filters=[MetadataFilter(key="topic", value="food")]),
    ):
        found = HybridRetriever(shared_index, where=where).retrieve(QUESTIONS[0])
        assert {n.node.ref_doc_id for n in found} == {"tea"}
    with pytest.raises(InvalidArgument, match="where must be a filter made with F"):
        HybridRetriever(shared_index, where="food")


@pytest.mark.parametrize("adapter", EVERY)
def test_a_retriever_of_a_view_shows_nothing_else(shared_index: Index, adapter):
    view = shared_index.scoped(F("topic") == "places")
    found = adapter(view, similarity_top_k=50, **needed(adapter)).retrieve(QUESTIONS[1])
    assert {n.node.ref_doc_id for n in found} == {"harbour"}
    assert adapter(view, where=F("topic") == "animals", **needed(adapter)).retrieve(QUESTIONS[1]) == []


async def test_filtering_needs_no_question_and_goes_page_by_page(shared_index: Index):
    retrievers = [FilterRetriever(shared_index, similarity_top_k=4, offset=offset) for offset in (0, 4, 8)]
    leaves = [leaf for document in ("bees", "harbour", "tea") for leaf in shared_index.leaves(document)]
    assert [n.text for each in retrievers for n in each.retrieve("")] == [leaf.text for leaf in leaves[:12]]
    assert [n.text for n in await retrievers[0].aretrieve("")] == [leaf.text for leaf in leaves[:4]]


def test_a_bundle_may_bring_its_embedding(shared_index: Index):
    retriever = VectorRetriever(shared_index)
    vector = default_embedder().queries([QUESTIONS[0]])[0].tolist()
    bundle = QueryBundle("something else", embedding=vector)
    assert [n.node_id for n in retriever.retrieve(bundle)] == [n.node_id for n in retriever.retrieve(QUESTIONS[0])]


def test_a_bundle_may_bring_texts_to_embed(shared_index: Index):
    retriever = VectorRetriever(shared_index)
    bundle = QueryBundle("something else", custom_embedding_strs=[QUESTIONS[0]])
    assert [n.node_id for n in retriever.retrieve(bundle)] == [n.node_id for n in retriever.retrieve(QUESTIONS[0])]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 2}, r"threshold must be in \[0, 1\], got 2"),
        ({"similarity_top_k": 0}, "k must be a whole number >= 1, got 0"),
        ({"base": "vector"}, "base must be a strategy or a LlamaIndex retriever, got 'vector'"),
        ({"index": "kb"}, "index must be an Index or a view of one, got 'kb'"),
        ({"where": "topic"}, "where must be a filter made with F"),
    ],
)
def test_bad_options_are_refused_when_the_retriever_is_made(shared_index: Index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        AutoMergingRetriever(**{"index": shared_index, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retrievers": [BM25()]}, "legs must be two or more strategies"),
        ({"retrievers": [BM25(), "vector"]}, "leg 2 must be a strategy or a LlamaIndex retriever, got 'vector'"),
        ({"retrievers": LEGS, "weights": [1]}, "weights must be a list of numbers, one for each of the 2 legs"),
    ],
)
def test_bad_legs_are_refused_when_the_ensemble_is_made(shared_index: Index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        EnsembleRetriever(shared_index, **options)


@pytest.mark.parametrize(
    ("name", "meant"), [("k", "similarity_top_k"), ("top_k", "similarity_top_k"), ("filters", "where")]
)
def test_what_has_another_name_here_is_named(shared_index: Index, name, meant):
    message = f"HybridRetriever got an unexpected keyword argument '{name}': here it is '{meant}'"
    with pytest.raises(TypeError, match=message):
        HybridRetriever(shared_index, **{name: 3})


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy])
def test_a_retriever_is_neither_pickled_nor_copied_and_says_what_to_do(shared_index: Index, duplicate):
    with pytest.raises(TypeError, match=r"Index cannot be pickled or copied, .*: open the index again where it is needed"):
        duplicate(HybridRetriever(shared_index))


def leaf_retriever(index: Index, k: int) -> BaseRetriever:
    leaves = index.client.get_collection("kb.leaves", embedding_function=None)
    store = ChromaVectorStore(chroma_collection=leaves)
    return VectorStoreIndex.from_vector_store(store, embed_model=WordLlama()).as_retriever(similarity_top_k=k)


@pytest.mark.parametrize("adapter", BASED)
async def test_a_vector_index_over_the_leaves_can_be_the_base(shared_index: Index, adapter):
    inside = adapter(shared_index, base=Vector(), candidates=8, similarity_top_k=20)
    outside = adapter(shared_index, base=leaf_retriever(shared_index, 8), candidates=8, similarity_top_k=20)
    for question in QUESTIONS:
        assert {n.node_id for n in outside.retrieve(question)} == {n.node_id for n in inside.retrieve(question)}
        assert await outside.aretrieve(question) == outside.retrieve(question)


def test_the_base_is_asked_the_whole_bundle(shared_index: Index):
    base = Stub([])
    bundle = QueryBundle(QUESTIONS[0], custom_embedding_strs=["an imagined answer"])
    assert AutoMergingRetriever(shared_index, base=base).retrieve(bundle) == []
    assert base.bundles == [bundle]
    MultiQueryRetriever(shared_index, base=base, phrasings=["a", "b"]).retrieve(bundle)
    assert base.bundles == [bundle, bundle, QueryBundle("a"), QueryBundle("b")]


def test_our_own_retriever_can_be_the_base_with_its_scores(shared_index: Index):
    outside = AutoMergingRetriever(shared_index, base=HybridRetriever(shared_index, similarity_top_k=8), candidates=8)
    inside = AutoMergingRetriever(shared_index, candidates=8)
    assert outside.retrieve(QUESTIONS[0]) == inside.retrieve(QUESTIONS[0])


WITHIN = F("topic") != "food"


def test_our_own_retriever_over_the_same_index_is_its_strategy(shared_index: Index):
    legs = [BM25Retriever(shared_index, similarity_top_k=1), VectorRetriever(shared_index, where=WITHIN)]
    ensemble = EnsembleRetriever(shared_index, retrievers=legs)
    assert ensemble._strategy() == Ensemble(retrievers=[BM25(), Filtered(Vector(), WITHIN)])
    hybrid = HybridRetriever(shared_index, similarity_top_k=1, candidates=1, budget=9)
    assert SentenceWindowRetriever(shared_index, base=hybrid)._strategy() == SentenceWindow()
    multi = MultiQueryRetriever(shared_index, base=ParentDocumentRetriever(shared_index))
    assert multi._strategy() == MultiQuery(base=ParentDocument())


def test_the_filter_and_the_limits_reach_our_own_retrievers(shared_index: Index):
    limits = {"where": {"doc_id": "tea"}, "similarity_top_k": 4, "candidates": 9}
    legs = [BM25Retriever(shared_index, similarity_top_k=1), VectorRetriever(shared_index, similarity_top_k=1)]
    found = EnsembleRetriever(shared_index, retrievers=legs, **limits).retrieve(QUESTIONS[0])
    assert found == EnsembleRetriever(shared_index, retrievers=LEGS, **limits).retrieve(QUESTIONS[0])
    assert [each.node.metadata["doc_id"] for each in found] == ["tea"] * 4


def test_the_filter_of_our_own_retriever_holds_beside_the_others(shared_index: Index):
    base = VectorRetriever(shared_index, where={"topic": {"$ne": "food"}})
    found = SentenceWindowRetriever(shared_index, base=base, similarity_top_k=50).retrieve(QUESTIONS[2])
    assert {each.node.metadata["doc_id"] for each in found} == {"bees", "harbour"}
    assert SentenceWindowRetriever(shared_index, base=base, where=F("doc_id") == "tea").retrieve(QUESTIONS[2]) == []


@pytest.mark.parametrize("adapter", [ParentDocumentRetriever, SentenceWindowRetriever, AutoMergingRetriever])
def test_our_own_retriever_that_finds_spans_can_be_a_leg_and_is_refused_as_a_base(shared_index: Index, adapter):
    spans = adapter(shared_index, where=WITHIN)
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        SentenceWindowRetriever(shared_index, base=spans)
    found = EnsembleRetriever(shared_index, retrievers=[spans, BM25Retriever(shared_index)]).retrieve(QUESTIONS[0])
    assert found[0].node.metadata["doc_id"] == "bees"


def test_our_own_retriever_over_an_equal_view_is_its_strategy_and_over_another_is_asked(shared_index: Index, tmp_path):
    view = shared_index.scoped(WITHIN)
    ours = AutoMergingRetriever(view, base=VectorRetriever(shared_index.scoped(F("topic") != "food")))
    assert ours._strategy() == AutoMerging(base=Vector())
    with Index.open(tmp_path / "other") as another:
        for other in (shared_index, shared_index.scoped(F("topic") != "animals"), another):
            theirs = AutoMergingRetriever(view, base=VectorRetriever(other))
            assert isinstance(theirs._strategy().base, HostRetriever)


def test_a_subclass_with_results_of_its_own_is_asked(shared_index: Index):
    class Backwards(VectorRetriever):
        def _retrieve(self, query_bundle):
            return super()._retrieve(query_bundle)[::-1]

    found = SentenceWindowRetriever(shared_index, base=Backwards(shared_index), before=0, after=0)
    assert isinstance(found._strategy().base, HostRetriever)


class Meeting(Stub):
    """Comes back when another is asked too."""

    threads = threading.Barrier(2)

    def _retrieve(self, query_bundle):
        self.threads.wait(5)
        return self.nodes

    async def _aretrieve(self, query_bundle):
        async with asyncio.timeout(5):
            await self.tasks.wait()
        return self.nodes


async def test_the_legs_of_an_ensemble_run_together(shared_index: Index):
    first, second = leaf_nodes(shared_index)[:2]
    legs = [Meeting([NodeWithScore(node=leaf)]) for leaf in (first, second)]
    Meeting.tasks = asyncio.Barrier(2)
    retriever = EnsembleRetriever(shared_index, retrievers=legs, rank_constant=0, weights=[3, 1])
    expected = [(first.text, 0.75 / 1), (second.text, 0.25 / 1)]
    for found in (await retriever.aretrieve("x"), await asyncio.to_thread(retriever.retrieve, "x")):
        assert [(n.text, n.score) for n in found] == expected


def test_an_ensemble_calls_the_hosts_retrievers_by_their_classes(shared_index: Index):
    legs = [leaf_retriever(shared_index, 9), BM25Retriever(shared_index.scoped(F("year") > 0), similarity_top_k=9)]
    retriever = EnsembleRetriever(shared_index, retrievers=legs, explain=True)
    trace = retriever.retrieve(QUESTIONS[0])[0].trace
    assert any("from VectorIndexRetriever (rank" in line and "from BM25Retriever (rank" in line for line in trace)


def test_a_leg_that_fails_is_left_out_when_asked(shared_index: Index):
    class Broken(BaseRetriever):
        def _retrieve(self, query_bundle):
            raise ConnectionError("the line is dead")

    legs = [Broken(), BM25()]
    with pytest.raises(ConnectionError, match="the line is dead"):
        EnsembleRetriever(shared_index, retrievers=legs).retrieve(QUESTIONS[0])
    patient = EnsembleRetriever(shared_index, retrievers=legs, on_failure="leave out", explain=True)
    found = patient.retrieve(QUESTIONS[0])
    assert [n.node_id for n in found] == [n.node_id for n in BM25Retriever(shared_index).retrieve(QUESTIONS[0])]
    assert found[0].trace[-1].endswith("was left out: ConnectionError: the line is dead")


async def test_phrasings_can_come_from_a_model(shared_index: Index):
    llm = Rephrasing()
    asked = MultiQueryRetriever(shared_index, llm=llm, count=2)
    given = MultiQueryRetriever(shared_index, phrasings=["the dance of the bees", "what workers tell each other"])
    assert asked.retrieve(QUESTIONS[0]) == given.retrieve(QUESTIONS[0])
    assert await asked.aretrieve(QUESTIONS[0]) == given.retrieve(QUESTIONS[0])
    assert len(llm.prompts) == 2
    assert all(QUESTIONS[0] in prompt and "2 other phrasings" in prompt for prompt in llm.prompts)
    with pytest.raises(InvalidArgument, match="llm must be a LlamaIndex LLM, got 'gpt'"):
        MultiQueryRetriever(shared_index, llm="gpt")


async def test_a_model_that_fails_leaves_the_question_itself_and_a_note(shared_index: Index):
    retriever = MultiQueryRetriever(shared_index, llm=Rephrasing(fails=True), explain=True)
    found = retriever.retrieve(QUESTIONS[0])
    assert [n.node_id for n in found] == [n.node_id for n in HybridRetriever(shared_index).retrieve(QUESTIONS[0])]
    for node in [*found, *await retriever.aretrieve(QUESTIONS[0])]:
        assert node.trace[-1] == "no phrasings were generated: ConnectionError: the line is dead"


def test_the_prompt_can_be_read_and_changed_as_elsewhere_in_llamaindex(shared_index: Index):
    llm = Rephrasing()
    retriever = MultiQueryRetriever(shared_index, llm=llm)
    assert retriever.get_prompts()["prompt"].get_template() == retriever.prompt
    partial = PromptTemplate("{count} ways to ask {question} in {language}").partial_format(language="Latin")
    retriever.update_prompts({"prompt": partial, "of another": PromptTemplate("x")})
    retriever.retrieve(QUESTIONS[0])
    assert llm.prompts == [f"3 ways to ask {QUESTIONS[0]} in Latin"]
    assert retriever.get_prompts()["prompt"].template_vars == ["count", "question"]
    with pytest.raises(InvalidArgument, match=r"prompt must be a text with \{question\} and \{count\}"):
        retriever.update_prompts({"prompt": PromptTemplate("Say it again.")})
    assert retriever.prompt == "{count} ways to ask {question} in Latin"


class Hearing(BaseEventHandler):
    spans: list[str] = []  # noqa: RUF012 - pydantic copies it

    @classmethod
    def class_name(cls):
        return "Hearing"

    def handle(self, event, **kwargs):
        if isinstance(event, LLMCompletionStartEvent):
            self.spans.append(event.span_id)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch):
    """What LlamaIndex's instrumentation sees: the spans, and those in which a model was asked."""
    root, seen, heard = get_dispatcher(), SimpleSpanHandler(), Hearing()
    monkeypatch.setattr(root, "span_handlers", [*root.span_handlers, seen])
    monkeypatch.setattr(root, "event_handlers", [*root.event_handlers, heard])
    return seen, heard


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_instrumentation_shows_the_model_and_the_legs_within_the_retriever(shared_index: Index, spans, asynchronous):
    seen, heard = spans
    for retriever in (
        MultiQueryRetriever(shared_index, llm=Rephrasing(), base=Stub([])),
        EnsembleRetriever(shared_index, retrievers=[leaf_retriever(shared_index, 4), Stub([])]),
    ):
        if asynchronous:
            await retriever.aretrieve(QUESTIONS[0])
        else:
            retriever.retrieve(QUESTIONS[0])

    above = {span.id_: span.parent_id for span in seen.completed_spans}

    def path(span):
        """The span and those it lies in, as far as retrievers and models go: each is ``Class.method-number``."""
        names = [] if above[span] is None else path(above[span])
        kind, _, method = span.partition("-")[0].partition(".")
        return [*names, kind] if method in ("retrieve", "aretrieve", "complete", "acomplete") else names

    paths = [tuple(path(span)) for span in above]
    assert ("MultiQueryRetriever", "Stub") in paths
    assert ("EnsembleRetriever", "VectorIndexRetriever") in paths
    assert ("EnsembleRetriever", "Stub") in paths
    assert path(heard.spans[0])[:2] == ["MultiQueryRetriever", "Rephrasing"]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_callback_manager_hears_of_the_model_within_the_retriever(shared_index: Index, asynchronous):
    debug = LlamaDebugHandler(print_trace_on_end=False)
    manager = CallbackManager([debug])
    retriever = MultiQueryRetriever(shared_index, llm=Rephrasing(callback_manager=manager), callback_manager=manager)
    if asynchronous:
        await retriever.aretrieve(QUESTIONS[0])
    else:
        retriever.retrieve(QUESTIONS[0])
    [retrieved] = debug.get_event_pairs(CBEventType.RETRIEVE)
    asked = debug.get_event_pairs(CBEventType.LLM)
    assert asked[0][0].id_ in debug._trace_map[retrieved[0].id_]


def test_scores_of_the_base_count_where_it_has_them_and_ranks_where_not(shared_index: Index):
    first, second = leaf_nodes(shared_index)[0], leaf_nodes(shared_index)[5]

    def scores(*pairs):
        base = Stub([NodeWithScore(node=node, score=score) for node, score in pairs])
        window = SentenceWindowRetriever(shared_index, base=base, before=0, after=0)
        return [node.score for node in window.retrieve(QUESTIONS[0])]

    assert scores((first, 0.9), (second, 0.4)) == [0.9, 0.4]
    assert scores((first, None), (second, None)) == [1 / 1, 1 / 2]
    assert scores((first, 0.4), (second, 0.9)) == [1 / 1, 1 / 2]


def test_a_base_that_returns_anything_else_is_refused_by_name(shared_index: Index):
    base = Stub([NodeWithScore(node=TextNode(id_="x", text="No leaf."), score=1.0)])
    with pytest.raises(NotALeaf, match="the results of Stub must be leaves of this index, but number 1 is not: id 'x'"):
        AutoMergingRetriever(shared_index, base=base).retrieve(QUESTIONS[0])


@pytest.mark.parametrize("adapter", EVERY)
@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
def test_a_fusion_accepts_our_retrievers(shared_index: Index, adapter, mode):
    legs = [adapter(shared_index, similarity_top_k=3, **needed(adapter)), VectorRetriever(shared_index, similarity_top_k=3)]
    fusion = QueryFusionRetriever(legs, llm=MockLLM(), mode=mode, num_queries=1, use_async=False, similarity_top_k=4)
    found = fusion.retrieve(QUESTIONS[0])
    assert found[0].node.metadata["doc_id"] == "bees"
    assert len({node.node_id for node in found}) == len(found)


async def test_a_tool_accepts_our_retrievers(shared_index: Index):
    tool = RetrieverTool.from_defaults(VectorRetriever(shared_index, similarity_top_k=1), description="about bees")
    assert "dance" in str(await tool.acall(QUESTIONS[0]))


def test_the_strategy_is_the_cores(shared_index: Index):
    assert AutoMergingRetriever(shared_index)._strategy() == AutoMerging()


def test_the_node_parser_makes_the_very_leaves_of_the_index(shared_index: Index):
    documents = [Document(id_=d.id, text=d.text, metadata={**d.metadata, "title": d.title}) for d in DOCUMENTS]
    parser = SpanNodeParser(leaf_words=SPLITTER.leaf_words, parent_words=SPLITTER.parent_words)
    nodes = IngestionPipeline(transformations=[parser]).run(documents=documents)
    leaves = [leaf for d in DOCUMENTS for leaf in shared_index.leaves(d.id)]
    assert [(n.text, n.start_char_idx, n.end_char_idx) for n in nodes] == [(p.text, p.start, p.end) for p in leaves]
    assert [n.ref_doc_id for n in nodes] == [p.document_id for p in leaves]
    harbour = [n for n in nodes if n.ref_doc_id == "harbour"]
    assert "".join(n.text for n in harbour) == TEXTS["harbour"]
    assert harbour[0].next_node.node_id == harbour[1].node_id
    assert harbour[1].prev_node.node_id == harbour[0].node_id
    assert harbour[-1].next_node is None
    assert harbour[0].metadata["topic"] == "places"


def test_the_node_parsers_ids_are_the_leaf_ids(tmp_path):
    documents = [Document(id_="a", text="One sentence. Another one.", metadata={"title": "T", "x": 1})]
    with Index.open(tmp_path) as index:
        index.add(documents)
        ids = [leaf.id for leaf in index.leaves()]
    nodes = SpanNodeParser().get_nodes_from_documents(documents)
    assert [node.node_id for node in nodes] == ids


def test_the_node_parser_feeds_a_vector_index_of_llamaindexs_own():
    parser = SpanNodeParser(leaf_words=12, parent_words=(40,))
    nodes = parser.get_nodes_from_documents([Document(id_=d.id, text=d.text) for d in DOCUMENTS])
    found = VectorStoreIndex(nodes, embed_model=MockEmbedding(8)).as_retriever(similarity_top_k=2).retrieve("x")
    assert len(found) == 2


@pytest.mark.parametrize(
    ("parser", "levels"),
    [
        (SentenceSplitter(chunk_size=40, chunk_overlap=10), 1),
        (HierarchicalNodeParser.from_defaults([200, 80, 40], chunk_overlap=0), 3),
    ],
    ids=["flat", "hierarchical"],
)
def test_a_llamaindex_parser_can_cut_the_leaves(tmp_path, parser, levels):
    with Index.open(tmp_path, splitter=splitter_from(parser)) as index:
        index.add(DOCUMENTS)
        assert "".join(leaf.text for leaf in index.leaves("harbour")) == TEXTS["harbour"]
        whole = index.retrieve(QUESTIONS[0], AutoMerging(threshold=0, max_level=levels, max_words=None), k=1)[0]
        assert whole.text == TEXTS[whole.document_id]
    with pytest.raises(InvalidArgument, match="a LlamaIndex node parser must be a NodeParser, got 5"):
        splitter_from(5)
