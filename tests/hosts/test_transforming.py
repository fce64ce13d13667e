"""RewriteQuery, Rerank and Decay in both hosts. test_scenarios.py compares their results with the core."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import QueryBundle

import langchain_ext
import llamaindex_ext
from leafspan import BM25, Index, InvalidArgument, Query, RewriteQuery, Vector
from leafspan.language_model import PROMPTS
from tests.corpus import QUESTIONS
from tests.hosts.contract import HOSTS, Host, LlamaIndex, needed, words_in_common

every_host = pytest.mark.parametrize("host", HOSTS, ids=repr)

BAD_OPTIONS = [
    (
        "RewriteQueryRetriever",
        {"how": "hyde"},
        "how='hyde' must have a language model, got none: give llm=... in LangChain and LlamaIndex, generate=... in plain "
        "Python",
    ),
    ("RewriteQueryRetriever", {"how": len, "count": 2}, "count must be left out where how is a function, got 2"),
    ("RewriteQueryRetriever", {"generate": len}, "RewriteQueryRetriever has no option 'generate'; here it is 'llm'"),
    ("RewriteQueryRetriever", {"base": 5}, "base must be a strategy or a HOST retriever, got 5"),
    ("RewriteQueryRetriever", {"keep_question": "yes"}, "keep_question must be True or False, got 'yes'"),
    ("RerankRetriever", {"rerank": None}, "Rerank must have a function rerank, or a diversity > 0, got neither"),
    ("RerankRetriever", {"diversity": 1.5}, "diversity must be a number in [0, 1], got 1.5"),
    ("RerankRetriever", {"depth": 0}, "depth must be a whole number >= 1, got 0"),
    ("RerankRetriever", {"on_failure": "drop"}, "on_failure must be one of 'raise', 'keep', got 'drop'"),
    ("DecayRetriever", {"scale": "30"}, "scale must be a number of days > 0, got '30'"),
    ("DecayRetriever", {"shape": "exp"}, "shape must be one of 'exponential', 'gaussian', 'linear', got 'exp'"),
    ("DecayRetriever", {"now": "soon"}, "now must be a datetime, a date, or an ISO text of one, got 'soon'"),
    ("DecayRetriever", {"halflife": 30}, "DecayRetriever has no option 'halflife'"),
]


@every_host
@pytest.mark.parametrize(("name", "options", "message"), BAD_OPTIONS, ids=[f"{n}, {o}" for n, o, _ in BAD_OPTIONS])
def test_bad_options_are_refused_with_the_same_message(host: Host, shared_index: Index, name, options, message):
    error = host.refusal(lambda: host.make(name, shared_index, **{**needed(name), **options}))
    assert str(error) == message.replace("HOST", host.name)


@every_host
@pytest.mark.parametrize("llm", ["gpt", len, 5])
def test_a_model_that_is_none_of_the_hosts_is_refused(host: Host, shared_index: Index, llm):
    error = host.refusal(lambda: host.make("RewriteQueryRetriever", shared_index, llm=llm))
    assert str(error).startswith("llm must be a ")


@every_host
@pytest.mark.parametrize("how", list(PROMPTS))
async def test_what_is_searched_can_come_from_a_model_of_the_host(host: Host, shared_index: Index, how):
    prompts = []

    def write(prompt):
        prompts.append(prompt)
        return "When did the old pier burn down?"

    retriever = host.make("RewriteQueryRetriever", shared_index, how=how, llm=host.model(write))
    found = await host.both(retriever, QUESTIONS[3])
    core = RewriteQuery(how=how, generate=write)
    assert [result.id for result in found] == [passage.id for passage in shared_index.retrieve(QUESTIONS[3], core)]
    assert prompts == [PROMPTS[how].format(question=QUESTIONS[3], count=3 if how == "decompose" else 1)] * 3


@every_host
async def test_a_model_that_fails_leaves_the_question_itself_and_a_note(host: Host, shared_index: Index):
    def fail(prompt):
        raise ConnectionError("the line is dead")

    retriever = host.make("RewriteQueryRetriever", shared_index, llm=host.model(fail), explain=True)
    found = await host.both(retriever, QUESTIONS[0])
    expected = host.ask(host.make("HybridRetriever", shared_index), QUESTIONS[0])
    assert [(result.id, result.score) for result in found] == [(result.id, result.score) for result in expected]
    note = "RewriteQuery: rewrite wrote nothing to search: ConnectionError: the line is dead"
    assert all(result.trace[-1] == note for result in found)


@every_host
async def test_a_coroutine_function_is_awaited_where_there_is_an_event_loop(host: Host, shared_index: Index):
    called = []

    async def ahow(question):
        called.append("ahow")
        return question

    async def arerank(question, texts):
        called.append("arerank")
        return words_in_common(question, texts)

    transform = host.make("RewriteQueryRetriever", shared_index, how=str, ahow=ahow)
    await host.both(
        host.make("RerankRetriever", shared_index, base=transform, rerank=words_in_common, arerank=arerank), "pier"
    )
    assert called == ["ahow", "arerank"]


def test_a_call_of_langchain_can_set_every_option(shared_index: Index):
    plain = langchain_ext.RerankRetriever(index=shared_index, base=Vector(), rerank=words_in_common)
    diverse = langchain_ext.RerankRetriever(index=shared_index, base=Vector(), diversity=0.5)
    assert plain.invoke(QUESTIONS[0], rerank=None, diversity=0.5) == diverse.invoke(QUESTIONS[0])
    old = langchain_ext.DecayRetriever(index=shared_index, key="year", now="1974-01-01")
    assert old.invoke("bees", scale=timedelta(days=365), now=datetime(1975, 1, 1))[0].metadata["score"] < 1
    transforming = langchain_ext.RewriteQueryRetriever(index=shared_index, base=BM25(), how=lambda question: "tea")
    assert transforming.invoke("bees")[0].metadata["doc_id"] == "tea"
    assert transforming.invoke("bees", how=str.upper)[0].metadata["doc_id"] == "bees"


def test_a_copy_of_llamaindexs_has_other_options(shared_index: Index):
    plain = llamaindex_ext.RerankRetriever(shared_index, base=Vector(), rerank=words_in_common)
    diverse = llamaindex_ext.RerankRetriever(shared_index, base=Vector(), diversity=0.5)
    assert plain.with_options(rerank=None, diversity=0.5).retrieve(QUESTIONS[0]) == diverse.retrieve(QUESTIONS[0])
    rows = plain.retrieve_many(QUESTIONS)
    assert rows == [plain.retrieve(question) for question in QUESTIONS]


def test_the_prompt_can_be_read_and_changed_as_elsewhere_in_llamaindex(shared_index: Index):
    prompts = []

    def write(prompt):
        prompts.append(prompt)
        return "pier"

    retriever = llamaindex_ext.RewriteQueryRetriever(shared_index, how="step-back", llm=LlamaIndex().model(write))
    assert retriever.get_prompts()["prompt"].get_template() == PROMPTS["step-back"]
    retriever.update_prompts({"prompt": PromptTemplate("More general than {question}?"), "of another": PromptTemplate("x")})
    retriever.retrieve("oak")
    assert prompts == ["More general than oak?"]
    assert retriever.get_prompts()["prompt"].template_vars == ["question"]
    with pytest.raises(InvalidArgument, match=r"prompt must be a text with \{question\}, if wanted \{count\}"):
        retriever.update_prompts({"prompt": PromptTemplate("Say it again.")})
    assert llamaindex_ext.RewriteQueryRetriever(shared_index, how=str.lower).get_prompts() == {}


async def test_a_runnable_says_what_is_searched(shared_index: Index):
    asked = []

    class Seen(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, **kwargs):
            asked.append(inputs)

    chain = RunnableLambda(lambda question: "green tea") | RunnableLambda(str.upper)
    retriever = langchain_ext.RewriteQueryRetriever(index=shared_index, how=chain, base=BM25(), k=2)
    expected = [found.id for found in shared_index.retrieve("GREEN TEA", BM25(), k=2)]
    assert [found.id for found in retriever.invoke("another", config={"callbacks": [Seen()]})] == expected
    assert asked[:2] == ["another", "another"]  # the chain, and its first step
    assert [found.id for found in await retriever.ainvoke("another")] == expected
    assert [found.id for found in retriever.invoke("another", how=str.lower)] != expected


async def test_a_query_transform_says_what_is_searched(shared_index: Index):
    class Transforming(BaseQueryTransform):
        def _get_prompts(self):
            return {}

        def _update_prompts(self, prompts):
            pass

        def _run(self, query_bundle, metadata):
            return QueryBundle(query_bundle.query_str, custom_embedding_strs=["green tea", "black tea"])

    retriever = llamaindex_ext.RewriteQueryRetriever(shared_index, how=Transforming(), base=Vector(), similarity_top_k=2)
    imagined = Query(text="another", embedding_texts=("green tea", "black tea"))
    expected = [found.id for found in shared_index.retrieve(imagined, Vector(), k=2)]
    assert [found.node_id for found in retriever.retrieve("another")] == expected
    assert [found.node_id for found in await retriever.aretrieve("another")] == expected
