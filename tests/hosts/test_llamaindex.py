"""Tests for LlamaIndex only. Tests for both hosts are in test_contract.py."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from itertools import pairwise

import pytest
from llama_index.core import Document, MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.llm import LLMCompletionStartEvent
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.schema import IndexNode, MetadataMode, NodeRelationship, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool

import llamaindex_ext
from leafspan import AutoMerging, Hybrid, Index, InvalidArgument
from leafspan.embedding import default_embedder
from leafspan.private import Vault, private_view
from llamaindex_ext import (
    AutoMergingRetriever,
    EnsembleRetriever,
    FollowReferencesRetriever,
    HybridRetriever,
    MultiQueryRetriever,
    NodeWithTrace,
    RetrievalTraceEvent,
    SentenceWindowRetriever,
    SpanNodeParser,
    TreeRetriever,
    VectorRetriever,
    leaf_nodes,
    splitter_from,
)
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS
from tests.hosts.contract import RETRIEVERS, WITHOUT_INDEX, LlamaIndex, needed

HOST = LlamaIndex()
PHRASINGS = "1. the dance of the bees\n2. what workers tell each other"


class Stub(BaseRetriever):
    """Returns what it was made with."""

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
    """A scripted model that always writes the same phrasings, and remembers what it was asked."""

    prompts: list[str] = []  # noqa: RUF012 - pydantic copies it

    @property
    def metadata(self):
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        self.prompts.append(prompt)
        return CompletionResponse(text=PHRASINGS)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise AssertionError("nobody asked for a stream")


def test_a_model_is_shown_no_metadata_that_the_document_hides(tmp_path):
    tea = Document(
        text="Green tea is steamed.",
        id_="tea",
        metadata={"file_path": "/srv/tea.md", "topic": "food"},
        excluded_llm_metadata_keys=["file_path"],
    )
    with Index.open(tmp_path / "kb") as index:
        index.add(tea)
        (found,) = HybridRetriever(index, similarity_top_k=1).retrieve("tea")
        assert found.node.get_content(MetadataMode.LLM) == tea.get_content(MetadataMode.LLM)
        assert found.node.metadata["file_path"] == "/srv/tea.md"


def test_a_view_shows_models_no_metadata_that_the_document_hides(tmp_path):
    tea = Document(
        text="Green tea is steamed.",
        id_="tea",
        metadata={"file_path": "a", "by": "Kit"},
        excluded_llm_metadata_keys=["file_path"],
    )
    with Index.open(tmp_path / "kb") as index:
        private = private_view(
            index, Vault.open(tmp_path / "vault.db", bytes(range(32))), known={"PERSON": ["Kit"]}, finder=()
        )
        for view in (index.scoped({"tenant": "a"}), private, private.scoped({"tenant": "b"})):
            view.add(tea)
            (found,) = HybridRetriever(view, similarity_top_k=1).retrieve("tea")
            assert found.node.metadata["file_path"] == "a"
            assert "file_path" not in found.node.get_content(MetadataMode.LLM)


def test_an_added_index_node_refers_to_what_it_stands_for(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document(text="Green tea wants water below eighty degrees.", id_="tea")])
        index.add(IndexNode(text="An overview of hot drinks.", index_id="tea", id_="overview"))
        (found,) = FollowReferencesRetriever(index, similarity_top_k=1).retrieve("An overview of hot drinks.")
        assert found.node.metadata["doc_id"] == "tea"


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
    retriever = SentenceWindowRetriever(shared_index, max_words=30, similarity_top_k=8)
    engine = CitationQueryEngine.from_args(None, llm=MockLLM(), retriever=retriever, citation_chunk_size=2_000)
    response = await engine.aquery(QUESTIONS[0])
    assert len(response.source_nodes) == len(retriever.retrieve(QUESTIONS[0])) > 1


def test_nodes_know_their_place_and_their_document_as_other_nodes_do(shared_index: Index):
    node = VectorRetriever(shared_index, similarity_top_k=1).retrieve(QUESTIONS[1])[0].node
    assert TEXTS["harbour"][node.start_char_idx : node.end_char_idx] == node.text
    assert node.relationships[NodeRelationship.SOURCE].node_id == "harbour"


def test_a_summary_is_no_place_in_a_text(forest: Index):
    found = [n.node for n in TreeRetriever(forest, mode="traversal", top_k=9).retrieve(QUESTIONS[1])]
    top, *others = found
    assert (top.ref_doc_id, top.relationships, top.start_char_idx, top.end_char_idx) == (None, {}, None, None)
    harbour = next(n for n in others if n.metadata["doc_id"] == "harbour" and "layer" in n.metadata)
    assert (harbour.ref_doc_id, harbour.start_char_idx, harbour.end_char_idx) == ("harbour", None, None)
    for mode in ("llm", "embed"):
        assert top.get_content(mode) == top.text
        assert "title: The harbour" in harbour.get_content(mode)
        assert "topic: places" in harbour.get_content(mode)
        assert "covers" not in harbour.get_content(mode)
    leaf = next(n for n in others if n.metadata["doc_id"] == "harbour" and "layer" not in n.metadata)
    assert leaf.start_char_idx == leaf.metadata["start"]
    restored = TextNode.from_dict(top.to_dict())
    assert (restored.metadata, restored.hash) == (top.metadata, top.hash)


def test_summaries_can_be_cited_and_synthesised_from(forest: Index):
    retriever = TreeRetriever(forest, mode="traversal", top_k=2)
    engine = CitationQueryEngine.from_args(None, llm=MockLLM(), retriever=retriever, citation_chunk_size=2_000)
    assert len(engine.query(QUESTIONS[0]).source_nodes) == len(retriever.retrieve(QUESTIONS[0])) > 2


@pytest.mark.parametrize("mode", ["llm", "embed"])
def test_a_model_is_shown_the_users_metadata_and_what_the_text_is_about(shared_index: Index, mode: str):
    node = VectorRetriever(shared_index, similarity_top_k=1).retrieve(QUESTIONS[1])[0].node
    shown = dict(line.split(": ", 1) for line in node.get_content(mode).split("\n\n")[0].splitlines())
    assert set(shown) == {"topic", "year", "tags", "title", "headings"}
    assert (shown["topic"], shown["headings"]) == ("places", "The harbour")


def test_a_leaf_is_the_same_node_wherever_it_comes_from(shared_index: Index):
    nodes = {node.node_id: node for node in leaf_nodes(shared_index)}
    for retriever in (VectorRetriever(shared_index), HybridRetriever(shared_index, similarity_top_k=4)):
        for found in retriever.retrieve(QUESTIONS[1]):
            assert found.node == nodes[found.node.node_id]
            assert found.node.hash == nodes[found.node.node_id].hash


def test_nodes_explain_themselves_when_asked_as_far_as_the_answer(shared_index: Index):
    retriever = SentenceWindowRetriever(shared_index, similarity_top_k=3, explain=True)
    engine = RetrieverQueryEngine.from_args(
        retriever, llm=MockLLM(), node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0)]
    )
    for source in engine.query(QUESTIONS[1]).source_nodes:
        assert isinstance(source, NodeWithTrace)
        assert "widened to the neighbours: 0 before and 1 after" in source.trace
    plain = SentenceWindowRetriever(shared_index, similarity_top_k=3).retrieve(QUESTIONS[1])
    explained = retriever.retrieve(QUESTIONS[1])
    assert type(plain[0]) is NodeWithScore
    assert plain[0].node == explained[0].node


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
    ("given", "meant"),
    [("k", "similarity_top_k"), ("top_k", "similarity_top_k"), ("filters", "where"), ("filter", "where")],
)
def test_what_has_another_name_here_is_named(shared_index: Index, given, meant):
    error = HOST.refusal(lambda: HybridRetriever(shared_index, **{given: 3}))
    assert str(error) == f"HybridRetriever has no option '{given}'; here it is '{meant}'"


@pytest.mark.parametrize(
    ("name", "option"),
    [("EnsembleRetriever", "retrievers"), *((name, "index") for name in RETRIEVERS if name not in WITHOUT_INDEX)],
)
def test_an_option_that_is_missing_is_named_as_python_does(shared_index: Index, name, option):
    options = {"index": shared_index, **needed(name)}
    del options[option]
    with pytest.raises(TypeError, match=rf"__init__\(\) missing 1 required \S+ argument: '{option}'"):
        getattr(llamaindex_ext, name)(**options)


@pytest.mark.parametrize("name", RETRIEVERS)
def test_the_index_alone_may_be_given_by_position(shared_index: Index, name):
    kind = getattr(llamaindex_ext, name)
    assert kind(shared_index, **needed(name)).index is shared_index
    with pytest.raises(TypeError, match="positional arguments but 3 "):
        kind(shared_index, 5, **needed(name))


@pytest.mark.parametrize(
    "name", ["BM25Retriever", "VectorRetriever", "HybridRetriever", "AutoMergingRetriever", "TreeRetriever"]
)
def test_a_retriever_that_needs_an_index_is_refused_without_one(name: str):
    for arguments in ((None,), ()):
        with pytest.raises(
            (InvalidArgument, TypeError), match=f"{name} must have an index to search, got no index|required"
        ):
            getattr(llamaindex_ext, name)(*arguments)
    with pytest.raises(InvalidArgument, match=f"{name} must have an index to search, got no index"):
        getattr(llamaindex_ext, name)(index=None)


def test_options_of_every_retriever_of_llamaindex_are_handed_on(shared_index: Index):
    manager = CallbackManager()
    objects = [IndexNode(text="a text", index_id="one", obj=TextNode(text="an object"))]
    retriever = VectorRetriever(shared_index, callback_manager=manager, objects=objects, verbose=True)
    assert retriever.callback_manager is manager
    assert retriever.object_map == {"one": objects[0].obj}
    assert retriever._verbose
    plain = VectorRetriever(shared_index, callback_manager=None, object_map=None)
    assert isinstance(plain.callback_manager, CallbackManager)
    assert plain.object_map == {}


def test_a_retriever_is_equal_to_itself_only_and_can_be_a_key(shared_index: Index):
    one, other = VectorRetriever(shared_index), VectorRetriever(shared_index)
    assert one != other
    assert {one: 1, other: 2} == {other: 2, one: 1}


def test_a_subclass_may_be_a_dataclass_in_the_plainest_form(shared_index: Index):
    @dataclasses.dataclass
    class Labelled(VectorRetriever):
        label: str = "none"

    retriever = Labelled(shared_index, label="mine", similarity_top_k=1)
    assert [retriever.label, len(retriever.retrieve(QUESTIONS[0]))] == ["mine", 1]
    assert "label='mine'" in repr(retriever)


def test_the_base_is_asked_the_whole_bundle(shared_index: Index):
    base = Stub([])
    bundle = QueryBundle(QUESTIONS[0], custom_embedding_strs=["an imagined answer"])
    assert AutoMergingRetriever(shared_index, base=base).retrieve(bundle) == []
    assert base.bundles == [bundle]
    MultiQueryRetriever(shared_index, base=base, phrasings=["a", "b"]).retrieve(bundle)
    assert base.bundles == [bundle, bundle, QueryBundle("a"), QueryBundle("b")]


def nested(index: Index, base: Stub) -> EnsembleRetriever:
    """The base below one retriever, below two, and below three."""
    window = SentenceWindowRetriever(index, base=base)
    return EnsembleRetriever(retrievers=[window, EnsembleRetriever(retrievers=[window, base], index=index)], index=index)


def test_a_base_below_others_is_asked_the_whole_bundle(shared_index: Index):
    base, bundle = Stub([]), QueryBundle(QUESTIONS[0], custom_embedding_strs=["an imagined answer"])
    assert nested(shared_index, base).retrieve(bundle) == []
    assert base.bundles == [bundle] * 3


async def test_a_base_is_asked_the_whole_bundle_asynchronously_too(shared_index: Index):
    base, bundle = Stub([]), QueryBundle(QUESTIONS[0], custom_embedding_strs=["an imagined answer"])
    assert await AutoMergingRetriever(shared_index, base=base).aretrieve(bundle) == []
    assert await nested(shared_index, base).aretrieve(bundle) == []
    assert base.bundles == [bundle] * 4


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


class HearingAll(BaseEventHandler):
    events: list = []  # noqa: RUF012 - pydantic copies it

    @classmethod
    def class_name(cls):
        return "HearingAll"

    def handle(self, event, **kwargs):
        self.events.append(event)


async def test_instrumentation_gets_the_reasons_why_passages_were_returned(shared_index: Index, monkeypatch):
    retriever, root, heard = HybridRetriever(shared_index, similarity_top_k=2), get_dispatcher(), HearingAll()
    traces = {each.id: each.trace.explain() for each in shared_index.retrieve(QUESTIONS[0], Hybrid(), k=2)}
    seen = SimpleSpanHandler()
    with monkeypatch.context() as patch:
        patch.setattr(root, "event_handlers", [*root.event_handlers, heard])
        patch.setattr(root, "span_handlers", [*root.span_handlers, seen])
        retriever.retrieve(QUESTIONS[0])
        await retriever.aretrieve(QUESTIONS[0])
        retriever.retrieve_many([QUESTIONS[0]])
        await retriever.aretrieve_many([QUESTIONS[0]])
    retriever.retrieve(QUESTIONS[0])  # nobody listens any more
    names = ["RetrievalStartEvent", "RetrievalTraceEvent", "RetrievalEndEvent"]
    assert [event.class_name() for event in heard.events] == names * 4
    told = [event for event in heard.events if isinstance(event, RetrievalTraceEvent)]
    assert [event.traces for event in told] == [traces] * 4
    ended = {span.id_.partition("-")[0] for span in seen.completed_spans}
    assert {"HybridRetriever.retrieve_many", "HybridRetriever.aretrieve_many"} <= ended
    assert all(event.span_id is not None for event in told)


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_instrumentation_shows_the_model_and_the_bases_within_the_retriever(shared_index: Index, spans, asynchronous):
    seen, heard = spans
    for retriever in (
        MultiQueryRetriever(shared_index, llm=Rephrasing(), base=Stub([])),
        EnsembleRetriever(shared_index, retrievers=[HOST.vector_search(shared_index, 4), Stub([])]),
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


async def test_a_tool_accepts_our_retrievers(shared_index: Index):
    tool = RetrieverTool.from_defaults(VectorRetriever(shared_index, similarity_top_k=1), description="about bees")
    assert "dance" in str(await tool.acall(QUESTIONS[0]))


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"author": {"name": "Ada"}}, {"author": {"name": "Bob"}}),
        ({"mixed": ["a", 1]}, {"mixed": ["a", 2]}),
        ({"doc_id": "a", "score": 1}, {"doc_id": "b", "score": 1}),
        ({"a": {"b": 1}, "a.b": 1}, {"a": {"b": 2}, "a.b": 1}),
        ({"half": "\ud800"}, {"half": "\ud801"}),
        ({"many": object}, {"many": 2**70}),
    ],
    ids=["nested", "mixed", "reserved", "doubled", "surrogate", "object"],
)
def test_the_node_parser_takes_metadata_that_no_index_stores(one, other):
    documents = [Document(text="Tea is hot.", metadata={"file_path": "tea.md", **metadata}) for metadata in (one, other)]
    nodes = SpanNodeParser().get_nodes_from_documents(documents)
    assert [node.metadata for node in nodes] == [document.metadata for document in documents]
    assert all(node.node_id.startswith("tea.md:") for node in nodes)
    assert len({node.node_id for node in nodes}) == 2  # not the same document
    assert nodes == SpanNodeParser().get_nodes_from_documents(documents)


def test_the_node_parsers_ids_are_the_leaf_ids_of_flattened_metadata(tmp_path):
    documents = [Document(text="One sentence. Another one.", metadata={"author": {"name": "Ada"}})]
    with Index.open(tmp_path) as index:
        index.add(documents, flatten_metadata=True)
        ids = [leaf.id for leaf in index.leaves()]
    assert [node.node_id for node in SpanNodeParser().get_nodes_from_documents(documents)] == ids


def test_a_misspelt_option_of_the_node_parser_is_an_error():
    with pytest.raises(InvalidArgument, match=r"SpanNodeParser has no option 'leaf_word'; did you mean 'leaf_words'\?"):
        SpanNodeParser(leaf_word=10)
    parser = SpanNodeParser(leaf_words=10, include_metadata=False)
    dumped = parser.model_dump()  # with the name of its class
    written = (SpanNodeParser.from_dict(parser.to_dict()), SpanNodeParser.from_json(parser.to_json()))
    for same in (SpanNodeParser(**dumped), *written, pickle.loads(pickle.dumps(parser)), copy.deepcopy(parser)):
        assert (same.leaf_words, same.include_metadata) == (10, False)


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
def test_the_levels_of_a_parser_become_levels_of_the_index(tmp_path, parser, levels):
    with Index.open(tmp_path, splitter=splitter_from(parser)) as index:
        index.add(DOCUMENTS)
        whole = index.retrieve(QUESTIONS[0], AutoMerging(threshold=0, max_level=levels, max_words=None), k=1)[0]
        assert whole.text == TEXTS[whole.document_id]


def test_leaves_start_where_the_lowest_nodes_of_a_hierarchical_parser_do():
    text = " ".join(f"Sentence {number} has five words." for number in range(60))
    parser = HierarchicalNodeParser.from_defaults([100, 30], chunk_overlap=0)
    lowest = [node.text for node in get_leaf_nodes(parser.get_nodes_from_documents([Document(text=text)]))]
    ends = [cut.end for cut in splitter_from(parser)(text)]
    leaves = [text[start:end].strip() for start, end in pairwise([0, *ends])]
    assert leaves == [each.strip() for each in lowest]
