"""Retrievals as spans of OpenTelemetry, by the conventions of OpenInference."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

import leafspan
from langchain_ext import HybridRetriever as LangChainsRetriever
from leafspan import F, HostRetriever, Hybrid, Index, InvalidArgument, MultiQuery, Query, RetrievalTimeout, Vector
from leafspan.errors import SourceFailed
from leafspan.strategies import CallFunction, HostResult, Strategy
from llamaindex_ext import HybridRetriever as LlamaIndexRetriever
from tests.corpus import QUESTIONS
from tests.private.views.people import DOCUMENTS, is_in_the_clear, opened

BEES, PIER, TEA, GOODS = QUESTIONS
KIND = "openinference.span.kind"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What an application sets up, for one test."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


def the_span(exporter: InMemorySpanExporter):
    (span,) = exporter.get_finished_spans()
    return span


def test_a_retrieval_is_a_span_with_question_and_passages(shared_index: Index, exporter):
    found = shared_index.retrieve(BEES, Hybrid(), k=2, where=F("topic") == "animals")
    span = the_span(exporter)
    assert span.name == "Hybrid.retrieve"
    assert span.status.status_code is StatusCode.UNSET
    attributes = dict(span.attributes)
    for number, passage in enumerate(found):
        prefix = f"retrieval.documents.{number}.document"
        assert attributes.pop(f"{prefix}.id") == passage.id
        assert attributes.pop(f"{prefix}.content") == passage.text
        assert attributes.pop(f"{prefix}.score") == passage.score
        assert json.loads(attributes.pop(f"{prefix}.metadata")) == {
            "topic": "animals",
            "year": 1973,
            "doc_id": "bees",
            "title": "Honey bees",
            "start": passage.start,
            "end": passage.end,
            "start_line": passage.lines[0],
            "end_line": passage.lines[1],
            "trace": passage.trace.explain(),
        }
    assert attributes == {KIND: "RETRIEVER", "input.value": BEES, "input.mime_type": "text/plain"}


async def test_the_asynchronous_twin_and_both_hosts_record_the_same(shared_index: Index, exporter):
    shared_index.retrieve(BEES, Hybrid(), k=2)
    await shared_index.aretrieve(BEES, Hybrid(), k=2)
    LangChainsRetriever(index=shared_index, k=2).invoke(BEES)
    await LangChainsRetriever(index=shared_index, k=2).ainvoke(BEES)
    LlamaIndexRetriever(shared_index, similarity_top_k=2).retrieve(BEES)
    await LlamaIndexRetriever(shared_index, similarity_top_k=2).aretrieve(BEES)
    shared_index.retrieve(BEES, Hybrid(), k=2, timeout=60)
    await shared_index.aretrieve(BEES, Hybrid(), k=2, timeout=60)
    first, *others = exporter.get_finished_spans()
    assert len(others) == 7
    assert all((span.name, span.attributes) == (first.name, first.attributes) for span in others)


@pytest.mark.parametrize("asked", [[BEES, PIER], (Query(BEES), Query(PIER))], ids=["texts", "queries"])
def test_each_of_several_questions_has_a_span_of_its_own(shared_index: Index, exporter, asked):
    rows = shared_index.retrieve_many(asked, Vector(), k=1)
    *below, above = exporter.get_finished_spans()
    assert (above.attributes[KIND], "input.value" in above.attributes) == ("CHAIN", False)
    assert [span.attributes[KIND] for span in below] == ["RETRIEVER", "RETRIEVER"]
    assert [span.attributes["input.value"] for span in below] == [BEES, PIER]
    assert [span.attributes["retrieval.documents.0.document.id"] for span in below] == [row[0].id for row in rows]
    assert all(span.parent.span_id == above.context.span_id for span in below)


def test_a_vector_is_no_text(shared_index: Index, exporter):
    shared_index.retrieve([1.0] * 256, Vector(), k=1)
    span = the_span(exporter)
    assert "input.value" not in span.attributes
    assert "retrieval.documents.0.document.id" in span.attributes


def test_passages_of_other_sources_have_what_they_have(exporter):
    odd = {"when": object(), "nan": float("nan"), "nested": {"a": [1]}}
    result = HostResult("row-7", "three words here", 0.5, odd, kind="row")
    leafspan.retrieve("anything", HostRetriever("shop", lambda _: [result], None))
    attributes = the_span(exporter).attributes
    assert attributes["retrieval.documents.0.document.id"] == "row-7"
    metadata = json.loads(attributes["retrieval.documents.0.document.metadata"])
    assert (metadata["kind"], metadata["nested"]) == ("row", {"a": [1]})
    assert metadata["when"].startswith("<object object")
    assert metadata["nan"] == "nan"


def test_metadata_that_json_cannot_hold_do_not_fail_a_retrieval(exporter):
    circular: dict = {}
    circular["self"] = circular
    for odd in (circular, {("a", "b"): 1}):
        found = leafspan.retrieve("x", HostRetriever("shop", lambda _, odd=odd: [HostResult("1", "text", 1.0, odd)], None))
        assert [passage.text for passage in found] == ["text"]
    assert len(exporter.get_finished_spans()) == 2


def test_spans_of_any_question_and_answer_can_be_sent(shared_index: Index, exporter):
    odd = HostResult("\ud800", "a \ud800 b", 1.0, {"\ud800": "\ud800"})
    leafspan.retrieve("x", HostRetriever("shop", lambda _: [odd], None))
    with pytest.raises(InvalidArgument, match="valid Unicode"):
        shared_index.retrieve("\ud800")
    found, failed = exporter.get_finished_spans()
    assert found.attributes["retrieval.documents.0.document.content"] == "a ? b"
    assert failed.attributes["input.value"] == "?"
    for span in (found, failed):
        str([*span.attributes.values(), span.status.description]).encode()


class Asking(Strategy):
    """Asks a function of the test in the middle of a retrieval."""

    def __init__(self, function, native=None):
        self.function, self.native = function, native

    def retrieve(self, queries, retrieval):
        yield CallFunction(self.function, (), self.native)
        return [[] for _ in queries]


async def test_spans_of_what_a_retrieval_calls_are_below_its_own(shared_index: Index, exporter):
    tracer = trace.get_tracer("model")

    def ask():
        with tracer.start_as_current_span("model"):
            pass

    async def aask():
        ask()

    with tracer.start_as_current_span("request"):
        shared_index.retrieve(BEES, Asking(ask))
        shared_index.retrieve(BEES, Asking(ask), timeout=60)
        await shared_index.aretrieve(BEES, Asking(ask, aask))
        await shared_index.aretrieve(BEES, Asking(ask), timeout=60)
        shared_index.retrieve(BEES, shared_index.as_strategy(Vector()))
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    parents = [(span.name, names[span.parent.span_id]) for span in spans if span.parent]
    assert parents == [
        *[("model", "Asking.retrieve"), ("Asking.retrieve", "request")] * 4,
        *[("Vector.retrieve", "Vector.retrieve"), ("Vector.retrieve", "OtherIndex.retrieve")],  # it asks a list of one
        ("OtherIndex.retrieve", "request"),
    ]


def test_an_error_is_recorded_and_raised(shared_index: Index, exporter):
    def fail(_question):
        raise ConnectionError("no route to the shop")

    with pytest.raises(SourceFailed):
        shared_index.retrieve(BEES, HostRetriever("shop", fail, None))
    span = the_span(exporter)
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description.startswith("SourceFailed: shop failed on")
    (event,) = span.events
    assert event.attributes["exception.type"].endswith("SourceFailed")
    assert "no route to the shop" in event.attributes["exception.stacktrace"]
    assert span.attributes["input.value"] == BEES


async def test_late_and_cancelled_retrievals_end_their_spans(shared_index: Index, exporter, caplog):
    asked, released = threading.Event(), threading.Event()

    def never():
        asked.set()
        released.wait(60)

    with pytest.raises(RetrievalTimeout):
        shared_index.retrieve(BEES, Asking(never), timeout=0.05)
    with pytest.raises(RetrievalTimeout):
        await shared_index.aretrieve(BEES, Asking(never), timeout=0.05)
    asked.clear()
    task = asyncio.create_task(shared_index.aretrieve(BEES, Asking(never)))
    assert await asyncio.to_thread(asked.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    released.set()
    await asyncio.sleep(0.2)  # until what was late has ended, too
    descriptions = [span.status.description.partition(":")[0] for span in exporter.get_finished_spans()]
    assert descriptions == ["RetrievalTimeout", "RetrievalTimeout", "CancelledError"]
    assert caplog.records == []


@pytest.mark.parametrize("value", ["true", "TRUE", " True "])
def test_questions_and_contents_can_be_left_out(shared_index: Index, exporter, monkeypatch, value):
    monkeypatch.setenv("OPENINFERENCE_HIDE_INPUTS", value)
    shared_index.retrieve(BEES, Hybrid(), k=1, where=F("topic") == "animals")
    monkeypatch.setenv("OPENINFERENCE_HIDE_OUTPUTS", value)
    shared_index.retrieve(BEES, Hybrid(), k=1)
    with pytest.raises(SourceFailed):
        shared_index.retrieve(BEES, HostRetriever("shop", lambda _: 1 / 0, None))
    inputs, both, failed = exporter.get_finished_spans()
    assert inputs.attributes["input.value"] == both.attributes["input.value"] == "__REDACTED__"
    assert "retrieval.documents.0.document.content" in inputs.attributes
    assert "trace" not in inputs.attributes["retrieval.documents.0.document.metadata"]
    names = sorted(name.rpartition(".")[2] for name in both.attributes if name.startswith("retrieval."))
    assert names == ["id", "score"]
    assert failed.status.description == "SourceFailed"
    assert [dict(event.attributes) for event in failed.events] == [{"exception.type": "SourceFailed"}]


@pytest.mark.parametrize("value", ["", "false", "0", "no"])
def test_nothing_else_leaves_them_out(shared_index: Index, exporter, monkeypatch, value):
    monkeypatch.setenv("OPENINFERENCE_HIDE_INPUTS", value)
    shared_index.retrieve(BEES, Hybrid(), k=1)
    assert the_span(exporter).attributes["input.value"] == BEES


@pytest.mark.parametrize("reveal", [False, True])
async def test_spans_of_a_private_view_have_pseudonyms_only(tmp_path: Path, exporter, reveal):
    index, view = opened(tmp_path)
    view = view.revealing(reveal)
    view.add(DOCUMENTS)
    question = "When did Alice Smith call Robert Quillfeather?"
    rows = [
        view.retrieve(question, k=3, where={"from": "alice.smith@example.com"}),
        await view.aretrieve(question, MultiQuery(phrasings=["Who is Alice Smith?"]), k=3),
        *view.retrieve_many([question, "Zoë Łuczak"], Vector(), k=2),
        view.retrieve(
            "planks", HostRetriever("mail", lambda _: [HostResult("1", "Alice Smith", 1.0, {"a": "Zoë Łuczak"})], None)
        ),
    ]
    for failing in (lambda _: 1 / 0, lambda _: {}["Alice Smith"]):
        with pytest.raises(SourceFailed):
            view.retrieve(question, HostRetriever("mail", failing, None))
    with pytest.raises(InvalidArgument):
        view.retrieve(question, HostRetriever("Alice Smith", lambda _: "no list", None))
    other = Index.open(tmp_path / "other")
    other.add(DOCUMENTS)  # that is not private itself, so spans of its own retrievals are in the clear
    rows.append(view.retrieve("the pier", other.as_strategy(Vector()), k=2))
    *spans, _, _, last = exporter.get_finished_spans()
    spans.append(last)
    assert [span.name for span in spans][-5:] == ["HostRetriever.retrieve"] * 4 + ["OtherIndex.retrieve"]
    written = "\n".join(span.to_json() for span in spans) + str([dict(span.attributes) for span in spans])
    assert is_in_the_clear(written) == []
    assert "called" in written
    assert bool(is_in_the_clear(str(rows))) is reveal
    other.close()
    index.close()


def test_nothing_is_recorded_where_nobody_records(shared_index: Index, exporter, monkeypatch):
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    shared_index.retrieve(BEES)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", trace.NoOpTracerProvider())
    shared_index.retrieve(BEES)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", TracerProvider(sampler=ALWAYS_OFF))
    assert shared_index.retrieve(BEES)
    assert exporter.get_finished_spans() == ()


def test_nothing_is_recorded_where_it_is_suppressed(shared_index: Index, exporter):
    token = context.attach(context.set_value("suppress_instrumentation", True))
    try:
        shared_index.retrieve(BEES)
    finally:
        context.detach(token)
    assert exporter.get_finished_spans() == ()
    shared_index.retrieve(BEES)
    assert len(exporter.get_finished_spans()) == 1


def test_opentelemetry_is_not_imported_for_it():
    code = """
import sys
import leafspan
from leafspan import *
from leafspan.strategies import HostResult
leafspan.retrieve("x", leafspan.HostRetriever("shop", lambda _: [HostResult("1", "text", 1.0)], None))
sys.exit("opentelemetry" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
