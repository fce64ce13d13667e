"""Property graphs of LlamaIndex."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding, Settings
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.indices.property_graph import PGRetriever, VectorContextRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import leafspan
from leafspan import F, Index, InvalidArgument, SentenceWindow
from leafspan.errors import NotALeaf, SourceFailed, SourceTimeout
from leafspan.sources import PropertyGraph
from leafspan.sources.graphs._search_graph import read_relations
from tests.lateness import ends_within
from tests.profiles import examples
from tests.sources.graphs.scripted import QUESTION, property_graph, small_index

BORN = "Who was born in Vienna?"


def leaf(index: Index, number: int, document: str = "bees") -> str:
    return index.leaves(document)[number].id


def one_hot(texts: list[str]) -> list[list[float]]:
    """A vector by the first letter, so that the question ``Bees?`` is similar to bees alone."""
    return [[float(ord(text[0].casefold()) == letter) for letter in range(128)] for text in texts]


# Passages


def test_chunks_of_leaves_are_the_leaves(sentences: Index, filled: Any):
    found = sentences.retrieve(BORN, PropertyGraph(filled, kinds=["chunk"]))
    assert found[0].id == leaf(sentences, 1)
    for each in found:
        document = sentences.get(each.document_id)
        assert document.text[each.start : each.end] == each.text
        assert each.kind == "text"


def test_named_entities_their_relations_and_chunks_come_first_with_score_1(sentences: Index, filled: Any):
    found = sentences.retrieve(BORN, PropertyGraph(filled, entities=0))
    assert [(each.id, each.score) for each in found] == [
        (leaf(sentences, 1), 1.0),
        ("entity:Vienna", 1.0),
        ("relation:Karl von Frisch -> goes with -> Vienna", 1.0),
        ("relation:Vienna -> goes with -> Nobel Prize", 1.0),
        ("entity:Karl von Frisch", 1 / 2),
        ("entity:Nobel Prize", 1 / 2),
    ]


def test_relations_carry_their_ends_and_their_leaf(sentences: Index, filled: Any):
    found = {each.id: each for each in sentences.retrieve(BORN, PropertyGraph(filled))}
    relation = found["relation:Karl von Frisch -> goes with -> Vienna"]
    assert relation.text == "Karl von Frisch -> goes with -> Vienna"
    assert relation.metadata == {
        "source": "Karl von Frisch",
        "label": "goes with",
        "target": "Vienna",
        "source_ids": [leaf(sentences, 1)],
    }
    vienna = found["entity:Vienna"]
    assert (vienna.text, vienna.kind, vienna.start) == ("Vienna (THING)", "entity", None)
    assert vienna.metadata == {"name": "Vienna", "type": "THING", "source_ids": [leaf(sentences, 1)]}


def test_each_step_halves_the_score(sentences: Index, filled: Any):
    scores = {
        each.id: each.score
        for each in sentences.retrieve("Tell me of the dance", PropertyGraph(filled, entities=0, depth=3))
    }
    assert scores["entity:dance"] == 1
    assert scores["relation:bees -> goes with -> dance"] == 1
    assert scores["entity:bees"] == 1 / 2
    assert scores["relation:Karl von Frisch -> goes with -> bees"] == 1 / 2
    assert scores["entity:Karl von Frisch"] == 1 / 4
    assert scores["relation:Karl von Frisch -> goes with -> Vienna"] == 1 / 4
    # A leaf has the best score of what was found in it.
    assert (scores[leaf(sentences, 0)], scores[leaf(sentences, 1)]) == (1, 1 / 4)


def test_without_steps_there_are_no_relations(filled: Any):
    found = leafspan.retrieve(BORN, PropertyGraph(filled, entities=0, depth=0))
    assert {each.id for each in found if each.kind != "chunk"} == {"entity:Vienna"}
    assert {each.kind for each in found} == {"chunk", "entity"}


def test_relations_are_found_from_both_ends_and_are_true_on_longer_paths(filled: Any):
    store = filled.property_graph_store
    assert [tuple(each[:3]) for each in read_relations(store, ["Vienna"], 10)] == [
        ("Karl von Frisch", "goes with", "Vienna"),
        ("Vienna", "goes with", "Nobel Prize"),
    ]
    deep = PropertyGraph(filled, entities=0, depth=5).retrieve_data("Karl von Frisch", "dict")
    assert {(edge["source"], edge["target"]) for edge in deep["edges"]} == {
        ("Karl von Frisch", "bees"),
        ("bees", "dance"),
        ("Karl von Frisch", "Vienna"),
        ("Vienna", "Nobel Prize"),
    }


def test_entities_that_are_similar_to_the_question_are_found_by_the_embedder(filled: Any):
    found = leafspan.retrieve("Bees?", PropertyGraph(filled, embedder=one_hot, entities=1, depth=0, kinds=["entity"]))
    assert [each.id for each in found] == ["entity:bees"]
    default = leafspan.retrieve("a green leaf to brew", PropertyGraph(filled, entities=1, depth=0, kinds=["entity"]))
    assert [each.id for each in default] == ["entity:tea"]


def test_entities_are_embedded_once(filled: Any):
    seen: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return one_hot(texts)

    for _ in range(2):
        leafspan.retrieve("Bees?", PropertyGraph(filled, embedder=embed))
    assert seen.count("Vienna") == 1
    assert seen.count("Bees?") == 2


def test_names_in_any_case_are_found_in_whole_words(filled: Any):
    strategy = PropertyGraph(filled, entities=0, depth=0, kinds=["entity"])
    assert [each.id for each in leafspan.retrieve("WHAT ABOUT TEA?", strategy)] == ["entity:tea"]
    assert leafspan.retrieve("What do the teams steam?", strategy) == []


def test_the_limit_keeps_the_best_relations(filled: Any):
    found = PropertyGraph(filled, entities=0, depth=3, limit=1).retrieve_data("Tell me of the dance", "dict")
    assert [(edge["source"], edge["target"]) for edge in found["edges"]] == [("bees", "dance")]
    assert [node["name"] for node in found["nodes"]] == ["dance", "bees"]


def test_the_store_alone_finds_the_same(sentences: Index, filled: Any):
    by_index = sentences.retrieve(BORN, PropertyGraph(filled))
    assert sentences.retrieve(BORN, PropertyGraph(filled.property_graph_store)) == by_index


async def test_the_same_is_found_asynchronously(sentences: Index, filled: Any):
    strategy = PropertyGraph(filled)
    assert await sentences.aretrieve(BORN, strategy) == sentences.retrieve(BORN, strategy)
    for shape in ("chunks", "strings", "dict"):
        assert await strategy.aretrieve_data(BORN, shape) == strategy.retrieve_data(BORN, shape)


def test_data_comes_in_three_shapes(sentences: Index, filled: Any):
    strategy = PropertyGraph(filled, entities=0)
    passages = strategy.retrieve_data(BORN)
    assert strategy.retrieve_data(BORN, "strings") == [each.text for each in passages]
    data = strategy.retrieve_data(BORN, "dict")
    assert data["nodes"][0] == {"name": "Vienna", "type": "THING", "source_ids": [leaf(sentences, 1)]}
    assert data["edges"][0]["target"] == "Vienna"
    [chunk] = data["chunks"]
    assert chunk["id"] == leaf(sentences, 1)
    assert chunk["text"].strip() == sentences.leaves("bees")[1].text.strip()
    assert "embedding" not in chunk


def test_a_filter_holds_for_leaves(sentences: Index, filled: Any):
    found = sentences.retrieve("bees and tea", PropertyGraph(filled), where=F("topic") == "food")
    assert {each.document_id for each in found} == {"tea"}


def test_chunks_alone_can_be_widened(sentences: Index, filled: Any):
    [found] = sentences.retrieve(BORN, SentenceWindow(base=PropertyGraph(filled, kinds=["chunk"], entities=0)))
    assert found.id == f"{leaf(sentences, 1)}-2"
    assert sentences.get("bees").text[found.start : found.end] == found.text
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        SentenceWindow(base=PropertyGraph(filled))


def test_a_graph_of_leaves_that_were_replaced_since_is_an_error(filled: Any, tmp_path: Path):
    with small_index(tmp_path / "kb") as index:
        index.add(leafspan.Document("bees", "Karl von Frisch was born in Vienna, as is well known."))
        with pytest.raises(NotALeaf, match="is not in it"):
            index.retrieve(BORN, PropertyGraph(filled))


def test_an_index_of_ours_is_no_graph(sentences: Index):
    with pytest.raises(InvalidArgument, match="graph must be a PropertyGraphIndex"):
        PropertyGraph(sentences)


def test_facts_without_chunks_are_found_too(empty_store: Any):
    empty_store.upsert_nodes([EntityNode(name="Ada", label="person"), EntityNode(name="Byron", label="person")])
    empty_store.upsert_relations([Relation(label="daughter of", source_id="Ada", target_id="Byron")])
    found = leafspan.retrieve("Who was Ada?", PropertyGraph(empty_store, entities=0))
    assert [each.text for each in found] == ["Ada (person)", "Ada -> daughter of -> Byron", "Byron (person)"]


def test_large_graphs_are_read_as_a_whole(empty_store: Any):
    names = [f"Name{number:03}" for number in range(300)]
    empty_store.upsert_nodes([EntityNode(name=name) for name in names])
    empty_store.upsert_relations([Relation(label="of", source_id=name, target_id="Name000") for name in names[1:]])
    found = PropertyGraph(empty_store, entities=0, limit=1000).retrieve_data("Name000", "dict")
    assert {node["name"] for node in found["nodes"]} == set(names)
    assert len(found["edges"]) == 299


# An empty graph


def test_an_empty_graph_has_nothing(sentences: Index, empty_store: Any):
    strategy = PropertyGraph(empty_store)
    assert sentences.retrieve(QUESTION, strategy) == []
    assert leafspan.retrieve(QUESTION, strategy) == []
    assert strategy.retrieve_data(QUESTION) == strategy.retrieve_data(QUESTION, "strings") == []
    assert strategy.retrieve_data(QUESTION, "dict") == {"nodes": [], "edges": [], "chunks": []}


def test_what_is_added_later_is_found(sentences: Index, empty_store: Any):
    strategy = PropertyGraph(empty_store)
    assert sentences.retrieve(BORN, strategy) == []
    property_graph(sentences, empty_store)
    assert sentences.retrieve(BORN, strategy)[0].id == leaf(sentences, 1)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("李小龍是誰?", "李小龍"),
        ("東京の人口は?", "東京"),
        ("Who was Zoe\u0308 Luczak?", "Zo\u00eb Luczak"),
        ("Who decoded it: Karl\n  von Frisch?", "Karl von Frisch"),
        ("Is C++ a language?", "C++"),
    ],
)
def test_a_name_is_found_in_every_script_and_however_its_letters_are_written(question: str, name: str):
    store = SimplePropertyGraphStore()
    store.upsert_nodes([EntityNode(name=name), EntityNode(name="Zo"), EntityNode(name="Karl Frisch")])
    [found] = leafspan.retrieve(question, PropertyGraph(store, entities=0))
    assert (found.metadata["name"], found.score) == (name, 1)


# A language model


def test_keywords_of_a_language_model_name_entities(filled: Any):
    prompts: list[str] = []

    def generate(prompt: str) -> str:
        prompts.append(prompt)
        return "1. Vienna\n2. Salzburg"

    strategy = PropertyGraph(filled, generate=generate, entities=0, depth=0, kinds=["entity"], keywords=2)
    [found] = leafspan.retrieve("Which city is it?", strategy)
    assert (found.id, found.score) == ("entity:Vienna", 1)
    assert "Name up to 2 keywords" in prompts[0]
    assert "Question: Which city is it?" in prompts[0]
    assert strategy.retrieve_data("Which city is it?", "strings") == ["Vienna (THING)"]


def test_what_a_language_model_thinks_before_it_answers_names_no_entity(filled: Any):
    def generate(prompt: str) -> str:
        return "<think>\nSalzburg?\nNo, it is the capital.\n</think>\nVienna"

    strategy = PropertyGraph(filled, generate=generate, entities=0, depth=0, kinds=["entity"])
    assert [each.id for each in leafspan.retrieve("Which city is it?", strategy)] == ["entity:Vienna"]


async def test_a_language_model_is_awaited_where_it_can_be(filled: Any):
    async def agenerate(prompt: str) -> str:
        return "Vienna"

    strategy = PropertyGraph(filled, generate=pytest.fail, agenerate=agenerate, entities=0, kinds=["entity"], depth=0)
    assert [each.id for each in await leafspan.aretrieve("Which city is it?", strategy)] == ["entity:Vienna"]
    assert await strategy.aretrieve_data("Which city is it?", "strings") == ["Vienna (THING)"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (OSError("gone"), "OSError: gone"),
        ("...", "there is no keyword in the answer '...'"),
        (None, "TypeError: the answer must be a text, got None"),
    ],
)
def test_without_keywords_the_rest_is_searched_and_the_trace_says_why(filled: Any, answer: Any, reason: str):
    def generate(prompt: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    found = leafspan.retrieve(BORN, PropertyGraph(filled, generate=generate, entities=0))
    assert found[0].score == 1
    assert f"PropertyGraph: no keywords were generated: {reason}" in found[0].trace.explain()


def test_a_language_model_that_never_answers_is_left_out(filled: Any):
    released = threading.Event()

    def generate(prompt: str) -> str:
        released.wait(60)
        return "tea"

    with ends_within(0.9):
        found = leafspan.retrieve(BORN, PropertyGraph(filled, generate=generate, entities=0, timeout=0.2))
    released.set()
    assert any("must answer within 0.2 seconds" in line for line in found[0].trace.explain())


def test_the_models_of_llamaindexs_settings_are_never_asked(filled: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(type(Settings), "llm", property(pytest.fail))
    monkeypatch.setattr(type(Settings), "embed_model", property(pytest.fail))
    assert leafspan.retrieve(BORN, PropertyGraph(filled))


# Retrievers of LlamaIndex


@pytest.mark.parametrize("include_text", [True, False])
def test_a_retriever_of_llamaindex_is_asked_as_it_is(sentences: Index, filled: Any, include_text: bool):
    store = filled.property_graph_store
    sub = VectorContextRetriever(
        store, vector_store=filled.vector_store, embed_model=MockEmbedding(8), include_text=include_text
    )
    for retriever in (sub, PGRetriever([sub]), PGRetriever([sub], use_async=False)):
        found = sentences.retrieve(BORN, PropertyGraph(retriever))
        kinds = {each.kind for each in found}
        assert "text" in kinds  # the leaves that the relations, or the texts with them, come from
        for each in found:
            if each.kind == "text":
                assert sentences.get(each.document_id).text[each.start : each.end] == each.text
            else:
                assert len(each.text.split(" -> ")) == 3
                assert each.metadata["source_ids"] == [each.metadata["source_ids"][0]]
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


async def test_a_retriever_is_asked_asynchronously_without_blocking(sentences: Index, filled: Any):
    store = filled.property_graph_store
    retriever = PGRetriever([VectorContextRetriever(store, vector_store=filled.vector_store, embed_model=MockEmbedding(8))])
    strategy = PropertyGraph(retriever)
    assert {each.id for each in await sentences.aretrieve(BORN, strategy)} == {
        each.id for each in sentences.retrieve(BORN, strategy)
    }


class Stub(BaseRetriever):
    """Returns one node, which hides its path from models."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        node = TextNode(text="Bees dance.", metadata={"path": "a"}, excluded_llm_metadata_keys=["path"])
        return [NodeWithScore(node=node, score=1.0)]


def test_what_a_node_of_a_retriever_hides_from_models_stays_hidden(sentences: Index):
    strategy = PropertyGraph(Stub())
    for found in (sentences.retrieve("bees", strategy), strategy.retrieve_data("bees")):
        assert [(each.metadata["path"], each.hidden) for each in found] == [("a", ("path",))]


def test_options_of_the_search_are_refused_beside_a_retriever(filled: Any):
    retriever = VectorContextRetriever(filled.property_graph_store, embed_model=MockEmbedding(8))
    for name, value in {"depth": 2, "entities": 3, "embedder": one_hot, "generate": str}.items():
        with pytest.raises(InvalidArgument, match=f"{name} must not be given where graph is a retriever"):
            PropertyGraph(retriever, **{name: value})
    assert PropertyGraph(retriever, kinds=["relation"], timeout=3)


# Faults


class Gone:
    """A graph on a server that is gone, or never answers."""

    def __init__(self, wait: float = 0) -> None:
        self.wait = wait
        self.release = threading.Event()

    def get(self, properties: Any = None, ids: Any = None) -> Any:
        self.release.wait(self.wait)
        raise ConnectionError("connection refused")

    get_rel_map = upsert_nodes = get


def test_a_graph_that_fails_is_an_error(sentences: Index):
    with pytest.raises(SourceFailed, match="the graph must answer the question, but: ConnectionError: connection refused"):
        sentences.retrieve(QUESTION, PropertyGraph(Gone()))


def test_a_graph_that_never_answers_is_waited_for_no_longer_than_allowed(sentences: Index):
    graph = Gone(wait=3600)
    with ends_within(2):
        with pytest.raises(SourceTimeout, match=r"PropertyGraph must answer within 0\.2 seconds"):
            sentences.retrieve(QUESTION, PropertyGraph(graph, timeout=0.2))
        with pytest.raises(TimeoutError):
            PropertyGraph(graph, timeout=0.2).retrieve_data(QUESTION)
    graph.release.set()


@pytest.mark.slow
def test_a_program_ends_though_a_graph_never_answers(tmp_path: Path):
    import subprocess
    import sys

    program = """
import asyncio
from leafspan.errors import SourceTimeout
from leafspan.sources import PropertyGraph
from tests.sources.graphs.test_property_graph import Gone

try:
    asyncio.run(PropertyGraph(Gone(wait=3600), timeout=0.2).aretrieve_data("Who?"))
except SourceTimeout:
    print("late")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout == "late\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph": None}, "graph must be a PropertyGraphIndex of LlamaIndex, one of its property graph stores, or a retr"),
        ({"graph": SimplePropertyGraphStore}, r"call SimplePropertyGraphStore\(\.\.\.\) first"),
        ({"kinds": ["nodes"]}, "each of kinds must be one of"),
        ({"embedder": "model"}, "an embedder.s name must be"),
        ({"generate": 3}, "generate must be a function"),
        ({"agenerate": str}, "agenerate must have generate beside it"),
        ({"keywords": 0}, "keywords must be a whole number >= 1, got 0"),
        ({"entities": -1}, "entities must be a whole number >= 0, got -1"),
        ({"depth": -1}, "depth must be a whole number >= 0, got -1"),
        ({"limit": 0}, "limit must be a whole number >= 1, got 0"),
        ({"timeout": -1}, "timeout must be a number of seconds > 0, got -1"),
        ({"prompt": "Keywords?"}, "prompt"),
    ],
)
def test_an_option_must_be_in_its_range(options: dict[str, Any], message: str):
    with pytest.raises(InvalidArgument, match=message):
        PropertyGraph(**{"graph": SimplePropertyGraphStore(), **options})


def test_a_question_must_be_a_text(sentences: Index, filled: Any):
    with pytest.raises(InvalidArgument, match="PropertyGraph needs the query as text"):
        sentences.retrieve([0.1] * 256, PropertyGraph(filled))
    with pytest.raises(InvalidArgument, match="question must be a text that is not blank"):
        PropertyGraph(filled).retrieve_data("")
    with pytest.raises(InvalidArgument, match="shape must be one of"):
        PropertyGraph(filled).retrieve_data(BORN, "answer")  # type: ignore[arg-type]


def test_a_graph_is_asked_by_many_threads_at_once(sentences: Index, filled: Any):
    strategy = PropertyGraph(filled, depth=2)
    expected = sentences.retrieve(BORN, strategy)
    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(lambda _: sentences.retrieve(BORN, strategy), range(24)))


# Laws

NODES = st.sampled_from("abcdef")


@examples(100)
@given(st.lists(st.tuples(NODES, NODES), max_size=12), NODES, st.integers(0, 6))
def test_what_is_found_is_what_is_within_reach(pairs: list[tuple[str, str]], start: str, depth: int):
    store = SimplePropertyGraphStore()
    store.upsert_nodes([EntityNode(name=name) for name in "abcdef"])
    store.upsert_relations([Relation(label="to", source_id=a, target_id=b) for a, b in pairs])
    found = PropertyGraph(store, entities=0, depth=depth).retrieve_data(start, "dict")
    reached, edges = {start}, set()
    for _ in range(depth):
        step = {pair for pair in pairs if reached & set(pair)}
        edges |= step
        reached |= {end for pair in step for end in pair}
    assert {node["name"] for node in found["nodes"]} == reached
    assert {(edge["source"], edge["target"]) for edge in found["edges"]} == edges
