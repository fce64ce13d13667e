"""Retrieval as of a moment, in either host and in an agent's tool."""

from __future__ import annotations

import json
from datetime import date

import pytest

import langchain_ext
import llamaindex_ext
from leafspan import BM25, Document, F, Index, Vector
from llamaindex_ext import FilteredQueryBundle
from tests.hosts.contract import HOSTS, RETRIEVERS, Host, needed
from tests.profiles import paired
from tests.retrieval.test_as_of import set_now

QUESTION = "What does the ferry cost?"
CHANGE = "2024-05-01"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Index.open(tmp_path_factory.mktemp("fares") / "kb") as opened:
        opened.add(
            [
                Document("old", "The ferry costs 3 euros.", metadata={"valid_until": CHANGE}),
                Document("new", "The ferry costs 4 euros.", metadata={"valid_from": CHANGE, "line": "north"}),
                Document("rules", "The ferry takes bicycles."),
            ]
        )
        opened.build_tree()
        yield opened


def documents(results):
    return {each.document for each in results if each.document}


@pytest.mark.parametrize(("name", "host"), paired(RETRIEVERS, HOSTS))
async def test_every_retriever_has_it(index, host: Host, name: str):
    options = {**needed(name), "k": 9}
    for moment in (CHANGE, date(2024, 4, 30)):
        retriever = host.make(name, index, **options, as_of=moment)
        expected = host.make(name, index, **options, where=F.valid_at(moment))
        assert await host.both(retriever, QUESTION) == host.ask(expected, QUESTION)
        assert documents(host.ask(retriever, QUESTION)) == {"rules", "new" if moment == CHANGE else "old"}
        again = (
            type(retriever).from_dict(retriever.to_dict(given={}), index=index) if name == "HybridRetriever" else retriever
        )
        assert host.ask(again, QUESTION) == host.ask(retriever, QUESTION)


@pytest.mark.parametrize("host", HOSTS)
def test_it_holds_beside_the_filter_of_a_call_and_its_own(index, host: Host):
    north = F("line") == "north"
    retriever = host.make("BM25Retriever", index, where=F("line") == "south", as_of=CHANGE)
    if host.name == "LangChain":
        assert {each.metadata["doc_id"] for each in retriever.invoke(QUESTION, where=north)} == {"new"}
        assert retriever.invoke(QUESTION, where=north, as_of="2024-04-30") == []
        assert retriever.invoke(QUESTION, where=F("doc_id") == "old") == []
    else:
        assert {each.metadata["doc_id"] for each in retriever.retrieve(FilteredQueryBundle(QUESTION, north))} == {"new"}
        assert retriever.with_options(as_of="2024-04-30", where=north).retrieve(QUESTION) == []
        assert retriever.retrieve(FilteredQueryBundle(QUESTION, F("doc_id") == "old")) == []


@pytest.mark.parametrize("host", HOSTS)
def test_a_base_keeps_its_own_and_now_is_the_moment_of_each_call(index, monkeypatch, host: Host):
    base = host.make("BM25Retriever", index, as_of="now")
    whole = host.make("EnsembleRetriever", index, retrievers=[base, base])
    tool = host.package.as_tool(base)
    written = whole.to_dict()
    assert written["init_parameters"]["retrievers"] == [{"type": "filtered", "base": "bm25", "as_of": "now"}] * 2
    again = type(whole).from_dict(written, index=index)
    for moment, fare in (("2024-04-30", "old"), ("2024-05-01", "new")):
        set_now(monkeypatch, moment)
        for retriever in (base, whole, again):
            assert documents(host.ask(retriever, QUESTION)) == {fare, "rules"}
        said = tool.invoke({"question": QUESTION}) if host.name == "LangChain" else tool.call(question=QUESTION).content
        assert {each["document_id"] for each in json.loads(said)["passages"]} == {fare, "rules"}


@pytest.mark.parametrize("package", [langchain_ext, llamaindex_ext])
def test_no_argument_of_a_model_leaves_it(index, package):
    retriever = package.BM25Retriever(index=index, as_of=CHANGE)
    tool = package.as_tool(retriever)
    arguments = {"question": QUESTION, "where": 'F("doc_id") == "old"'}
    said = tool.invoke(arguments) if package is langchain_ext else tool.call(**arguments).content
    assert json.loads(said)["passages"] == []


def test_a_tool_over_a_configured_index_has_the_moment_of_the_retriever(index, tmp_path):
    with Index.open(tmp_path / "kb", config={"as_of": CHANGE}) as configured:
        configured.add([index.get("old"), index.get("new")])
        for as_of, fare in ((None, "new"), ("2024-04-30", "old")):
            tool = langchain_ext.as_tool(langchain_ext.SpanRetriever(index=configured, strategy=Vector(), as_of=as_of))
            [passage] = json.loads(tool.invoke({"question": QUESTION}))["passages"]
            assert passage["document_id"] == fare


@pytest.mark.parametrize("host", HOSTS)
def test_a_wrong_moment_is_refused(index, host: Host):
    error = host.refusal(lambda: host.make("SpanRetriever", index, strategy=BM25(), as_of="May 2024"))
    assert str(error) == ('as_of must be a date, a datetime, an ISO text such as "2024-05-01", or "now", got \'May 2024\'')
