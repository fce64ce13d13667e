"""Retrievers become plain values and retrievers again: ``to_dict``, ``from_dict``, LangChain's ``dumpd`` and ``load``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.load import dumpd, load
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

import langchain_ext
from langchain_ext.retriever import INDEX_KEY
from leafspan import (
    BM25,
    AutoMerging,
    BM25Settings,
    Budget,
    Ensemble,
    F,
    Hybrid,
    Index,
    InvalidArgument,
    Strategy,
    Vector,
)
from tests.corpus import QUESTIONS
from tests.hosts.contract import HOSTS, Host, LangChain

of_langchain = pytest.mark.filterwarnings("ignore:The function `load` is in beta")
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("VectorRetriever", {}),
    ("HybridRetriever", {"weights": (0.6, 0.4), "bm25": BM25Settings(k1=1.2), "k": 3, "where": F("topic") == "food"}),
    ("AutoMergingRetriever", {"base": BM25(), "threshold": 0.4, "budget": 300, "min_score": 0.1}),
    ("EnsembleRetriever", {"retrievers": [Vector(), BM25()], "weights": [1.0, 2.0], "explain": True}),
    ("RouterRetriever", {"retrievers": {"words": BM25(), "meaning": Vector()}, "choose": None}),
    ("DecayRetriever", {"base": Hybrid(), "scale": 30.0, "now": "2026-05-01"}),
    ("SpanRetriever", {"strategy": AutoMerging(base=Vector()), "candidates": 50, "filter_policy": "merge"}),
]


@pytest.fixture(params=HOSTS, ids=repr)
def host(request) -> Host:
    return request.param


def first_word(question: str) -> list[str]:
    return ["words"]


def made(host: Host, index: Index, name: str, options: dict[str, Any]) -> Any:
    return host.make(name, index, **({**options, "choose": first_word} if name == "RouterRetriever" else options))


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=[name for name, _ in OPTIONS])
def test_a_retriever_is_the_same_after_its_plain_values(host: Host, shared_index: Index, name, options):
    given = {"first_word": first_word}
    retriever = made(host, shared_index, name, options)
    plain = json.loads(json.dumps(retriever.to_dict(given=given)))
    again = type(retriever).from_dict(plain, index=shared_index, given=given)
    assert again.to_dict(given=given) == retriever.to_dict(given=given)
    assert again._strategy() == retriever._strategy()
    assert host.ask(again, QUESTIONS[0]) == host.ask(retriever, QUESTIONS[0])


@pytest.mark.parametrize(
    "where",
    [
        F("year") >= 2020,
        {"year": {"$gte": 2020}},
        {"operator": "AND", "conditions": [{"field": "meta.year", "operator": ">=", "value": 2020}]},
        MetadataFilters(filters=[MetadataFilter(key="year", value=2020, operator=FilterOperator.GTE)]),
    ],
    ids=["leafspan", "chroma", "haystack", "llamaindex"],
)
@pytest.mark.parametrize("name", ["VectorRetriever", "SpanRetriever"])
def test_a_filter_in_any_dialect_is_the_same_after_its_plain_values(host: Host, shared_index: Index, where, name):
    retriever = host.make(name, shared_index, where=where, **({"strategy": Vector()} if name == "SpanRetriever" else {}))
    again = type(retriever).from_dict(retriever.to_dict(), index=shared_index)
    assert again.where == retriever.where == (F("year") >= 2020)
    assert again.to_dict() == retriever.to_dict()
    if isinstance(host, LangChain):
        assert again == retriever


def test_only_what_differs_from_the_defaults_is_written(host: Host, shared_index: Index):
    retriever = host.make("HybridRetriever", shared_index, weights=(0.6, 0.4), where=F("year") >= 2020)
    kind = type(retriever)
    assert retriever.to_dict() == {
        "type": f"{kind.__module__}.HybridRetriever",
        "init_parameters": {"weights": [0.6, 0.4], "where": "F('year') >= 2020"},
    }


def test_the_same_setting_moves_between_the_core_and_both_frameworks(host: Host, shared_index: Index):
    config = AutoMerging(base=Hybrid(weights=(0.5, 0.5)), threshold=0.4).to_config()
    retriever = host.make("SpanRetriever", shared_index, strategy=config)
    assert retriever._strategy() == Strategy.from_config(config)
    assert retriever.to_dict()["init_parameters"] == {"strategy": config}


def test_a_retriever_of_this_package_is_written_as_its_strategy(host: Host, shared_index: Index):
    inner = host.make("BM25Retriever", shared_index, where=F("topic") == "food")
    outer = host.make("EnsembleRetriever", shared_index, retrievers=[inner, Vector()])
    again = type(outer).from_dict(outer.to_dict(), index=shared_index)
    assert again._strategy() == outer._strategy()
    assert isinstance(again._strategy(), Ensemble)


def test_bases_can_be_named_and_described(host: Host, shared_index: Index):
    named = host.make("AutoMergingRetriever", shared_index, base="bm25")
    assert named._strategy() == AutoMerging(base=BM25())
    described = host.make("EnsembleRetriever", shared_index, retrievers=["vector", {"type": "bm25", "k": 3}])
    assert described._strategy() == Ensemble(retrievers=[Vector(), BM25(k=3)])
    tuned = host.make("HybridRetriever", shared_index, bm25={"k1": 1.2})
    assert tuned._strategy() == Hybrid(bm25=BM25Settings(k1=1.2))
    error = host.refusal(lambda: host.make("AutoMergingRetriever", shared_index, base="bm52"))
    assert "base" in str(error)
    assert str(error).endswith("got 'bm52'; did you mean 'bm25'?")


def test_what_cannot_be_written_must_be_named(host: Host, shared_index: Index):
    retriever = host.make("VectorRetriever", shared_index, budget=Budget(100, count=len))
    with pytest.raises(
        InvalidArgument, match=r"budget: .*count must be plain values to be written, got .*: name it in given="
    ):
        retriever.to_dict()
    plain = retriever.to_dict(given={"characters": len})
    assert plain["init_parameters"]["budget"] == {"limit": 100, "count": {"given": "characters"}}
    with pytest.raises(InvalidArgument, match="'characters' must be given beside the configuration"):
        type(retriever).from_dict(plain, index=shared_index)


@pytest.mark.parametrize("data", [{}, [], "hybrid", {"type": "HybridRetriever"}, {"init_parameters": {}}])
def test_what_to_dict_has_not_made_is_refused(host: Host, shared_index: Index, data):
    kind = type(host.make("HybridRetriever", shared_index))
    with pytest.raises(
        InvalidArgument, match=r"data must be what to_dict of HybridRetriever gives, with type '.*HybridRetriever'"
    ):
        kind.from_dict(data, index=shared_index)


@of_langchain
@pytest.mark.parametrize(("name", "options"), [each for each in OPTIONS if each[0] != "RouterRetriever"])
def test_langchain_writes_and_reads_a_retriever(shared_index: Index, name, options):
    retriever = getattr(langchain_ext, name)(index=shared_index, **options)
    plain = json.loads(json.dumps(dumpd(retriever)))
    assert plain["type"] == "constructor"
    again = load(
        plain, allowed_objects=[type(retriever)], valid_namespaces=["langchain_ext"], secrets_map={INDEX_KEY: shared_index}
    )
    assert again.to_dict() == retriever.to_dict()
    assert again.invoke(QUESTIONS[0]) == retriever.invoke(QUESTIONS[0])


@of_langchain
def test_langchain_does_not_read_what_it_could_not_write(shared_index: Index):
    plain = dumpd(langchain_ext.VectorRetriever(index=shared_index, budget=Budget(100, count=len)))
    with pytest.raises(NotImplementedError, match="doesn't implement serialization"):
        load(
            plain,
            allowed_objects=[langchain_ext.VectorRetriever],
            valid_namespaces=["langchain_ext"],
            secrets_map={INDEX_KEY: shared_index},
        )
