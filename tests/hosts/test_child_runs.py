"""The events inside of a leafspan retriever that LangChain's callbacks receive."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers import BaseTracer

from langchain_ext import (
    AutoMergingRetriever,
    BM25Retriever,
    EnsembleRetriever,
    HybridRetriever,
    MultiQueryRetriever,
    SentenceWindowRetriever,
    SpanRetriever,
    VectorRetriever,
    child_runs,
)
from leafspan import F, Hybrid, Index, LeafspanError
from leafspan.errors import SourceFailed
from leafspan.private import Vault, private_view
from tests.corpus import QUESTIONS
from tests.lateness import longer_and_longer
from tests.private.views.people import KEY

BEES = QUESTIONS[0]


class Runs(BaseTracer):
    """Keeps the outermost runs, with the runs below them."""

    def __init__(self):
        super().__init__()
        self.roots = []

    def _persist_run(self, run):
        self.roots.append(run)


def tree(run):
    return (run.name, [tree(each) for each in run.child_runs])


def ids(run):
    return [document.id for document in run.outputs["documents"]]


async def test_each_retriever_of_an_ensemble_has_a_run_of_its_own(shared_index: Index):
    legs = [VectorRetriever(index=shared_index), BM25Retriever(index=shared_index, where=F("topic") == "animals")]
    retriever, runs = EnsembleRetriever(index=shared_index, retrievers=legs, k=2), Runs()
    plain = retriever.invoke(BEES)
    assert retriever.invoke(BEES, {"callbacks": [runs]}) == plain
    assert await retriever.ainvoke(BEES, {"callbacks": [runs]}) == plain
    for root in runs.roots:
        assert tree(root) == ("EnsembleRetriever", [("VectorRetriever", []), ("BM25Retriever", [])])
        vector, words = root.child_runs
        assert vector.inputs == words.inputs == {"query": BEES}
        assert ids(vector)[0] == legs[0].invoke(BEES)[0].id
        assert {document.metadata["topic"] for document in words.outputs["documents"]} == {"animals"}
        assert vector.end_time is not None
        assert vector.error is None
    assert len(runs.roots) == 2


def test_traces_and_scores_do_not_depend_on_who_listens(shared_index: Index):
    base = HybridRetriever(index=shared_index, where=F("topic") != "food", min_score=0.01)
    for retriever in (
        EnsembleRetriever(index=shared_index, retrievers=[base, VectorRetriever(index=shared_index)], explain=True),
        AutoMergingRetriever(index=shared_index, base=base, explain=True),
        SentenceWindowRetriever(index=shared_index, base=VectorRetriever(index=shared_index), explain=True, budget=60),
        MultiQueryRetriever(index=shared_index, base=base, phrasings=["the dance", "the sun"], explain=True),
    ):
        assert retriever.invoke(BEES, {"callbacks": [Runs()]}) == retriever.invoke(BEES)


def test_a_base_is_a_run_for_each_phrasing(shared_index: Index):
    base, runs = VectorRetriever(index=shared_index), Runs()
    MultiQueryRetriever(index=shared_index, base=base, phrasings=["the dance"]).invoke(BEES, {"callbacks": [runs]})
    assert sorted(run.inputs["query"] for run in runs.roots[0].child_runs) == sorted([BEES, "the dance"])


def test_a_retriever_of_langchain_keeps_its_own_run(shared_index: Index):
    theirs = RunnableLambda(lambda question: VectorRetriever(index=shared_index).invoke(question)).with_config(
        run_name="theirs"
    )
    runs = Runs()
    EnsembleRetriever(retrievers=[theirs, theirs]).invoke(BEES, {"callbacks": [runs]})
    assert [name for name, _ in tree(runs.roots[0])[1]] == ["theirs", "theirs"]


async def test_runs_within_a_retrieval_that_fails_end_with_its_error(shared_index: Index):
    def fail(_question):
        raise ConnectionError("no route")

    window = SentenceWindowRetriever(index=shared_index, base=RunnableLambda(fail))
    retriever = EnsembleRetriever(index=shared_index, retrievers=[window, HybridRetriever(index=shared_index)])
    runs = Runs()
    with pytest.raises(SourceFailed, match="no route"):
        retriever.invoke(BEES, {"callbacks": [runs]})
    with pytest.raises(SourceFailed, match="no route"):
        await retriever.ainvoke(BEES, {"callbacks": [runs]})
    assert len(runs.roots) == 2
    for root in runs.roots:
        assert "no route" in root.error
        assert all(run.end_time is not None for run in root.child_runs)
        assert "no route" in next(run for run in root.child_runs if run.name == "SentenceWindowRetriever").error


def test_what_is_late_and_left_out_ends_with_an_error_and_logs_nothing(shared_index: Index, caplog):
    begun, released, others = threading.Event(), threading.Event(), set(threading.enumerate())

    def slow(_question):
        begun.set()
        released.wait(60)
        return []

    late = SentenceWindowRetriever(index=shared_index, base=RunnableLambda(slow))
    legs = [VectorRetriever(index=shared_index), late]
    for timeout in longer_and_longer(0.1):
        runs = Runs()
        retriever = EnsembleRetriever(index=shared_index, retrievers=legs, timeout=[None, timeout], on_failure="skip")
        assert retriever.invoke(BEES, {"callbacks": [runs]})
        if begun.is_set():
            break
    by_name = {run.name: run for run in runs.roots[0].child_runs}
    assert by_name["VectorRetriever"].error is None
    assert "it failed or was late" in by_name["SentenceWindowRetriever"].error
    released.set()
    for thread in set(threading.enumerate()) - others:
        if thread.name.startswith("leafspan flow"):
            thread.join()
    assert caplog.records == []


class Asynchronous(AsyncCallbackHandler):
    def __init__(self):
        self.names = []

    async def on_retriever_start(self, serialized, query, **options):
        self.names.append(options["name"])


async def test_asynchronous_handlers_are_awaited(shared_index: Index):
    handler = Asynchronous()
    retriever = AutoMergingRetriever(index=shared_index, base=HybridRetriever(index=shared_index))
    await retriever.ainvoke(BEES, {"callbacks": [handler]})
    assert handler.names == ["AutoMergingRetriever", "HybridRetriever"]


def test_nothing_is_added_where_nobody_listens(shared_index: Index):
    retriever = AutoMergingRetriever(index=shared_index, base=HybridRetriever(index=shared_index))
    assert retriever._strategy() == AutoMergingRetriever(index=shared_index, base=Hybrid())._strategy()
    retriever.invoke(BEES)
    gc.collect()
    assert len(child_runs._open) == 0


def test_a_private_view_has_no_runs_below_its_own(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        view = private_view(index, Vault.open(tmp_path / "vault", KEY), known={"PERSON": ["Alice Smith"]})
        view.add({"id": "letter", "text": "Alice Smith wrote to the council."})
        runs = Runs()
        base = SpanRetriever(index=view)
        EnsembleRetriever(index=view, retrievers=[base, base]).invoke("Who wrote?", {"callbacks": [runs]})
        assert runs.roots[0].child_runs == []


def test_a_handler_that_fails_does_not_fail_the_retrieval(shared_index: Index, caplog):
    class Failing(BaseCallbackHandler):
        def on_retriever_start(self, *_, **__):
            raise LeafspanError("no tracing today")

    retriever = AutoMergingRetriever(index=shared_index, base=HybridRetriever(index=shared_index))
    assert retriever.invoke(BEES, {"callbacks": [Failing()]}) == retriever.invoke(BEES)
    assert len(caplog.records) == 2  # LangChain's own warnings
