"""Query engines and chat engines of LlamaIndex over the retrievers of leafspan."""

from __future__ import annotations

import pytest
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.chat_engine import CondensePlusContextChatEngine, CondenseQuestionChatEngine, ContextChatEngine
from llama_index.core.chat_engine.types import ChatMode
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode

from leafspan import F, Index, InvalidArgument, Vector
from llamaindex_ext import AutoMergingRetriever, HybridRetriever, SpanRetriever, VectorRetriever
from tests.corpus import QUESTIONS

BEES, PIER, TEA, GOODS = QUESTIONS


class Recording(CustomLLM):
    """A scripted model that remembers what it was asked."""

    prompts: list[str] = []  # noqa: RUF012 - pydantic copies it
    answer: str = "at the pier"

    @property
    def metadata(self):
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        self.prompts.append(prompt)
        return CompletionResponse(text=self.answer)

    @llm_completion_callback()
    def stream_complete(self, prompt, formatted=False, **kwargs):
        self.prompts.append(prompt)
        written = ""
        for word in ("at", " the", " pier"):
            written += word
            yield CompletionResponse(text=written, delta=word)


def memory(said=()) -> ChatMemoryBuffer:
    """LlamaIndex's default one leaves a connection to a database open."""
    return ChatMemoryBuffer.from_defaults(list(said), token_limit=3_000)


def ids(nodes) -> list[str]:
    return [node.node.node_id for node in nodes]


@pytest.mark.parametrize("kind", [VectorRetriever, AutoMergingRetriever, SpanRetriever])
async def test_a_query_engine_answers_from_what_the_retriever_finds(shared_index: Index, kind):
    retriever, llm = kind(shared_index, similarity_top_k=3), Recording()
    engine = retriever.as_query_engine(llm)
    response = engine.query(BEES)
    assert str(response) == str(await engine.aquery(BEES)) == "at the pier"
    assert ids(response.source_nodes) == ids(retriever.retrieve(BEES))
    assert all(node.text.strip() in llm.prompts[0] for node in response.source_nodes)
    assert llm.prompts[0] == llm.prompts[1]


async def test_a_query_engine_streams(shared_index: Index):
    engine = VectorRetriever(shared_index).as_query_engine(Recording(), streaming=True)
    assert list(engine.query(BEES).response_gen) == ["at", " the", " pier"]
    streamed = await engine.aquery(BEES)
    assert [piece async for piece in streamed.async_response_gen()] == ["at", " the", " pier"]


def test_options_go_to_the_engine_and_to_a_copy_of_the_retriever(shared_index: Index):
    retriever = HybridRetriever(shared_index, similarity_top_k=3)
    engine = retriever.as_query_engine(
        MockLLM(),
        similarity_top_k=2,
        where=F("topic") == "food",
        response_mode=ResponseMode.ACCUMULATE,
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0)],
    )
    response = engine.query(TEA)
    assert [node.node.metadata["doc_id"] for node in response.source_nodes] == ["tea", "tea"]
    assert str(response).startswith("Response 1: ")
    assert retriever.similarity_top_k == 3
    assert isinstance(engine, RetrieverQueryEngine)
    assert retriever.as_query_engine(MockLLM()).retriever is retriever


def test_events_of_the_engine_go_to_the_callback_manager_of_the_retriever(shared_index: Index):
    handler = LlamaDebugHandler(print_trace_on_end=False)
    retriever = VectorRetriever(shared_index, callback_manager=CallbackManager([handler]))
    retriever.as_query_engine(MockLLM()).query(BEES)
    assert len(handler.get_event_pairs(CBEventType.QUERY)) == len(handler.get_event_pairs(CBEventType.RETRIEVE)) == 1


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("condense_plus_context", CondensePlusContextChatEngine),
        ("best", CondensePlusContextChatEngine),
        ("context", ContextChatEngine),
        (ChatMode.CONTEXT, ContextChatEngine),
        ("condense_question", CondenseQuestionChatEngine),
    ],
)
async def test_a_chat_engine_answers_from_what_the_retriever_finds(shared_index: Index, mode, kind):
    engine = VectorRetriever(shared_index).as_chat_engine(mode, Recording(answer=PIER), similarity_top_k=2, memory=memory())
    assert isinstance(engine, kind)
    found = ids(VectorRetriever(shared_index, similarity_top_k=2).retrieve(PIER))
    first = engine.chat(PIER)
    assert (str(first), ids(first.source_nodes)) == (PIER, found)
    then = await engine.achat("And then?")  # the scripted model makes the question about the pier of it
    assert (ids(then.source_nodes) == found) is (kind is not ContextChatEngine)
    assert len(engine.chat_history) == 4


@pytest.mark.parametrize("mode", ["condense_plus_context", "context"])
async def test_a_chat_engine_streams(shared_index: Index, mode):
    engine = VectorRetriever(shared_index).as_chat_engine(mode, Recording(), system_prompt="Be short.", memory=memory())
    assert "".join(engine.stream_chat(BEES).response_gen) == "at the pier"
    engine.reset()
    streamed = await engine.astream_chat(BEES)
    assert "".join([piece async for piece in streamed.async_response_gen()]) == "at the pier"
    assert any("Be short." in prompt for prompt in engine._llm.prompts)


def test_a_chat_engine_goes_on_with_a_conversation(shared_index: Index):
    said = [ChatMessage(role="user", content="I like the harbour."), ChatMessage(role="assistant", content="So do I.")]
    llm = Recording()
    engine = VectorRetriever(shared_index).as_chat_engine(llm=llm, memory=memory(said), skip_condense=True)
    engine.chat(GOODS)
    assert len(llm.prompts) == 1
    assert "I like the harbour." in llm.prompts[0]


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda it: it.as_query_engine(k=3), "as_query_engine of VectorRetriever has no option 'k'; here it is 'similarity_top_k'"),
        (lambda it: it.as_query_engine(MockLLM(), respons_mode="compact"), "did you mean 'response_mode'"),
        (lambda it: it.as_query_engine(MockLLM(), similarity_top_k=0), "similarity_top_k|k must be a whole number >= 1, got 0"),
        (lambda it: it.as_query_engine("gpt"), "llm must be a LlamaIndex LLM, got 'gpt'"),
        (lambda it: it.as_chat_engine("contxt", MockLLM()), "did you mean 'context'"),
        (lambda it: it.as_chat_engine("react", MockLLM()), "chat_mode must be one of 'condense_plus_context'"),
        (lambda it: it.as_chat_engine(llm=Vector()), "llm must be a LlamaIndex LLM"),
        (lambda it: it.as_chat_engine("context", MockLLM(), streaming=True), "has no option 'streaming'"),
    ],
)  # fmt: skip
def test_bad_options_are_named(shared_index: Index, make, rule):
    with pytest.raises(InvalidArgument, match=rule):
        make(VectorRetriever(shared_index))
