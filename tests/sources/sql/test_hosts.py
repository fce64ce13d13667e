"""SQLRetriever in both hosts."""

from __future__ import annotations

import copy
import pickle

import pytest
from langchain_core.language_models import FakeListChatModel
from llama_index.core.llms import MockLLM
from llama_index.core.prompts import PromptTemplate
from pydantic import ValidationError

import langchain_ext
import llamaindex_ext
from leafspan import InvalidArgument
from leafspan.errors import RefusedQuery
from tests.hosts.contract import WritingLLM

SQL = "SELECT id, name FROM customers ORDER BY id LIMIT 2"


def test_langchain_gets_a_document_for_each_row(sqlite_url):
    retriever = langchain_ext.SQLRetriever(database=sqlite_url, explain=True)
    first, second = retriever.invoke(SQL)
    assert first.page_content == "id: 1\nname: Ada"
    assert (first.metadata["name"], second.metadata["name"]) == ("Ada", "Grace")
    assert first.metadata["score"] == 1
    assert first.metadata["trace"][1] == f"SQL: {SQL}"


async def test_llamaindex_gets_a_node_for_each_row(sqlite_url):
    retriever = llamaindex_ext.SQLRetriever(database=sqlite_url)
    nodes = retriever.retrieve(SQL)
    assert [each.text for each in nodes] == ["id: 1\nname: Ada", "id: 2\nname: Grace"]
    assert [each.score for each in nodes] == [1, 1 / 2]
    assert [each.text for each in await retriever.aretrieve(SQL)] == [each.text for each in nodes]


@pytest.mark.parametrize("duplicate", [lambda retriever: pickle.loads(pickle.dumps(retriever)), copy.deepcopy])
def test_retrievers_over_a_url_can_be_pickled_and_copied(sqlite_url, duplicate):
    of_langchain = duplicate(langchain_ext.SQLRetriever(database=sqlite_url))
    assert [each.metadata["name"] for each in of_langchain.invoke(SQL)] == ["Ada", "Grace"]
    of_llamaindex = duplicate(llamaindex_ext.SQLRetriever(database=sqlite_url))
    assert [each.metadata["name"] for each in of_llamaindex.retrieve(SQL)] == ["Ada", "Grace"]


async def test_questions_are_answered_by_a_model_of_the_host(sqlite_url):
    of_langchain = FakeListChatModel(responses=[SQL] * 3)
    retriever = langchain_ext.SQLRetriever(database=sqlite_url, llm=of_langchain, max_retries=1)
    assert len(retriever.invoke("Who came first?")) == 2
    assert len(await retriever.ainvoke("Who came first?")) == 2
    assert list(retriever.retrieve_frame("Who came first?")["name"]) == ["Ada", "Grace"]
    other = llamaindex_ext.SQLRetriever(database=sqlite_url, llm=WritingLLM(write=lambda prompt: SQL), max_retries=1)
    assert len(other.retrieve("Who came first?")) == 2
    assert len(await other.aretrieve("Who came first?")) == 2
    sql, frame = await other.aretrieve_frame("Who came first?", return_query=True)
    assert (sql, len(frame)) == (SQL, 2)


def test_attacks_are_refused_in_both_hosts(sqlite_url):
    with pytest.raises(RefusedQuery, match="only reads pass"):
        langchain_ext.SQLRetriever(database=sqlite_url).invoke("DELETE FROM items")
    with pytest.raises(RefusedQuery, match="only reads pass"):
        llamaindex_ext.SQLRetriever(database=sqlite_url).retrieve("DELETE FROM items")


def test_retries_need_a_model_in_both_hosts(sqlite_url):
    with pytest.raises(ValidationError, match="max_retries needs a language model"):
        langchain_ext.SQLRetriever(database=sqlite_url, max_retries=1)
    with pytest.raises(InvalidArgument, match="max_retries needs a language model"):
        llamaindex_ext.SQLRetriever(database=sqlite_url, max_retries=1)


def test_no_host_shows_the_password_of_a_database():
    url = "postgresql+psycopg://me:hunter2@host/db"
    assert "hunter2" not in repr(langchain_ext.SQLRetriever(database=url))
    assert "hunter2" not in repr(vars(llamaindex_ext.SQLRetriever(database=url)))
    for wrong in ({"max_retries": 1}, {"row_limit": 0}, {"explain": 7}):
        with pytest.raises(ValidationError) as caught:
            langchain_ext.SQLRetriever(database=url, **wrong)
        assert "hunter2" not in repr(caught.value)
        assert "hunter2" not in str(caught.value)


def test_prompts_of_llamaindex_can_be_read_and_changed(sqlite_url):
    retriever = llamaindex_ext.SQLRetriever(database=sqlite_url, llm=MockLLM())
    assert set(retriever.get_prompts()) == {"prompt", "repair_prompt"}
    retriever.update_prompts({"prompt": PromptTemplate("{dialect} {schema} {question}")})
    assert retriever.prompt == "{dialect} {schema} {question}"
    with pytest.raises(InvalidArgument, match="prompt must be a text with"):
        retriever.update_prompts({"prompt": PromptTemplate("{question}")})


def test_rows_can_be_fused_with_leaves_of_an_index(shared_index, sqlite_url):
    rows = langchain_ext.SQLRetriever(database=sqlite_url, preprocess_query=lambda _: SQL)
    leaves = langchain_ext.VectorRetriever(index=shared_index)
    ensemble = langchain_ext.EnsembleRetriever(index=shared_index, retrievers=[rows, leaves])
    found = ensemble.invoke("Who came first?", k=6)
    assert {each.metadata.get("name") for each in found} >= {"Ada", "Grace"}
    assert len(found) == 6


@pytest.mark.parametrize("name", ["engine", "url", "db", "sql_database"])
def test_what_others_call_the_database_is_named(sqlite_url, name):
    for package in (langchain_ext, llamaindex_ext):
        with pytest.raises(ValueError, match=f"SQLRetriever has no option '{name}'; here it is 'database'"):
            package.SQLRetriever(**{name: sqlite_url})
