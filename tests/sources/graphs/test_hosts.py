"""Graphs in LangChain and in LlamaIndex."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from pydantic import ValidationError

import langchain_ext
import llamaindex_ext
from leafspan import Index, InvalidArgument
from leafspan.sources import LightRAG, LightRAGThread, PropertyGraph
from tests.sources.graphs.scripted import ANSWER, QUESTION

BORN = "Who was born in Vienna?"


class Vienna(CustomLLM):
    """A language model of LlamaIndex that only knows Vienna."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="vienna")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text="Vienna")

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError


MODELS = {langchain_ext: FakeListChatModel(responses=["Vienna"]), llamaindex_ext: Vienna()}


def ask(retriever: Any, question: str) -> list[tuple[str, str, float]]:
    if hasattr(retriever, "invoke"):
        return [(each.id, each.page_content, each.metadata["score"]) for each in retriever.invoke(question)]
    return [(each.node_id, each.text, each.score) for each in retriever.retrieve(question)]


async def aask(retriever: Any, question: str) -> list[tuple[str, str, float]]:
    if hasattr(retriever, "invoke"):
        return [(each.id, each.page_content, each.metadata["score"]) for each in await retriever.ainvoke(question)]
    return [(each.node_id, each.text, each.score) for each in await retriever.aretrieve(question)]


def passages(found: Any) -> list[tuple[str, str, float]]:
    return [(each.id, each.text, each.score) for each in found]


both = pytest.mark.parametrize("package", [langchain_ext, llamaindex_ext], ids=lambda package: package.__name__)


@both
async def test_a_light_rag_gives_what_the_core_gives(package: Any, sentences: Index, light_rag: LightRAGThread):
    options: dict[str, Any] = {"instance": light_rag, "mode": "local", "kinds": ["chunk", "relation"]}
    expected = passages(sentences.retrieve(QUESTION, LightRAG(**options)))
    retriever = package.LightRAGRetriever(index=sentences, **options)
    assert ask(retriever, QUESTION) == await aask(retriever, QUESTION) == expected
    without = package.LightRAGRetriever(**options)
    assert [each[0] for each in ask(without, QUESTION)] == [each[0] for each in expected]


@both
async def test_a_property_graph_gives_what_the_core_gives(package: Any, sentences: Index, filled: Any):
    expected = passages(sentences.retrieve(BORN, PropertyGraph(filled, depth=2)))
    retriever = package.PropertyGraphRetriever(index=sentences, graph=filled, depth=2)
    assert ask(retriever, BORN) == await aask(retriever, BORN) == expected


@both
async def test_the_language_model_of_the_host_gives_keywords(package: Any, filled: Any):
    retriever = package.PropertyGraphRetriever(graph=filled, llm=MODELS[package], entities=0, depth=0, kinds=["entity"])
    assert (
        ask(retriever, "Which city?") == await aask(retriever, "Which city?") == [("entity:Vienna", "Vienna (THING)", 1.0)]
    )


@both
async def test_data_comes_in_the_shapes_of_the_core_and_chunks_in_the_shape_of_the_host(
    package: Any, light_rag: LightRAGThread, filled: Any
):
    kind = "Document" if package is langchain_ext else "NodeWithScore"
    retriever = package.LightRAGRetriever(instance=light_rag)
    for shape in ("strings", "dict", "context", "answer"):
        expected = LightRAG(light_rag).retrieve_data(QUESTION, shape)
        assert retriever.retrieve_data(QUESTION, shape) == await retriever.aretrieve_data(QUESTION, shape) == expected
    assert retriever.retrieve_data(QUESTION, "answer") == ANSWER
    graph = package.PropertyGraphRetriever(graph=filled)
    for shape in ("strings", "dict"):
        expected = PropertyGraph(filled).retrieve_data(QUESTION, shape)
        assert graph.retrieve_data(QUESTION, shape) == await graph.aretrieve_data(QUESTION, shape) == expected
    for each in (retriever, graph):
        found = [*each.retrieve_data(QUESTION), *await each.aretrieve_data(QUESTION)]
        assert {type(result).__name__ for result in found} == {kind}


@both
def test_an_option_of_a_call_takes_the_place_of_the_retrievers_own(package: Any, light_rag: LightRAGThread):
    retriever = package.LightRAGRetriever(instance=light_rag)
    changed = {"mode": "naive"}
    if package is langchain_ext:
        found = [each.metadata["kind"] for each in retriever.invoke(QUESTION, **changed)]
    else:
        found = [each.node.metadata["kind"] for each in retriever.with_options(**changed).retrieve(QUESTION)]
    assert set(found) == {"chunk"}


@both
def test_wrong_options_are_errors_at_construction(package: Any, light_rag: LightRAGThread, filled: Any):
    with pytest.raises((InvalidArgument, ValidationError), match="mode must be one of"):
        package.LightRAGRetriever(instance=light_rag, mode="mixed")
    with pytest.raises((InvalidArgument, ValidationError), match="instance must be a lightrag"):
        package.LightRAGRetriever(instance="graph")
    with pytest.raises((InvalidArgument, ValidationError), match="graph must be a PropertyGraphIndex"):
        package.PropertyGraphRetriever(graph=RunnableLambda(str))
    with pytest.raises((InvalidArgument, ValidationError), match="llm must be a"):
        package.PropertyGraphRetriever(graph=filled, llm="gpt")


def test_prompts_can_be_read_and_changed_in_llamaindex(filled: Any):
    from llama_index.core.prompts import PromptTemplate

    retriever = llamaindex_ext.PropertyGraphRetriever(graph=filled)
    assert "keywords" in retriever.get_prompts()["prompt"].template
    retriever.update_prompts({"prompt": PromptTemplate("{count} words for {question}")})
    assert retriever.prompt == "{count} words for {question}"


@pytest.mark.slow
def test_the_retriever_of_langchain_loads_nothing_of_llamaindex():
    program = "import sys, langchain_ext; langchain_ext.PropertyGraphRetriever; sys.exit('llama_index' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@both
def test_graphs_are_bases_of_the_other_retrievers(package: Any, sentences: Index, light_rag: LightRAGThread, filled: Any):
    graphs = [
        package.LightRAGRetriever(instance=light_rag, kinds=["chunk"]),
        package.PropertyGraphRetriever(graph=filled, kinds=["chunk"]),
    ]
    for graph in graphs:
        found = ask(package.SentenceWindowRetriever(index=sentences, base=graph), BORN)
        assert all(text in sentences.get(id_.partition("#")[0]).text for id_, text, _ in found)
    ensemble = package.EnsembleRetriever(
        index=sentences, retrievers=[package.HybridRetriever(index=sentences), *graphs], fusion="maximum"
    )
    assert BORN.rsplit(maxsplit=1)[-1].rstrip("?") in ask(ensemble, BORN)[0][1]
    several = package.MultiQueryRetriever(
        index=sentences, base=package.LightRAGRetriever(instance=light_rag), phrasings=["What is tea?"], **{K[package]: 50}
    )
    assert {"entity:Vienna", "entity:tea"} <= {id_ for id_, _, _ in ask(several, BORN)}


K = {langchain_ext: "k", llamaindex_ext: "similarity_top_k"}
