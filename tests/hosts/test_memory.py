"""``LeafspanStore``: what LangGraph's own store does, and a search by words and meaning."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from langchain_ext import LeafspanStore
from leafspan import F, Index, InvalidArgument
from tests.profiles import examples


@pytest.fixture
def store(tmp_path):
    with Index.open(tmp_path / "memory") as index:
        yield LeafspanStore(index)


def plain(result: Any) -> Any:
    """A result without times and scores."""
    if isinstance(result, list):
        return sorted(map(plain, result), key=repr)
    return result if result is None or isinstance(result, tuple) else (result.namespace, result.key, result.value)


def test_items_are_stored_read_changed_and_deleted(store):
    store.put(("users", "ann"), "food", {"text": "likes green tea", "n": 3})
    item = store.get(("users", "ann"), "food")
    assert (item.value, item.key, item.namespace) == ({"text": "likes green tea", "n": 3}, "food", ("users", "ann"))
    store.put(("users", "ann"), "food", {"text": "likes coffee"})
    again = store.get(("users", "ann"), "food")
    assert again.value == {"text": "likes coffee"}
    assert (again.created_at, again.updated_at > item.updated_at) == (item.created_at, True)
    store.delete(("users", "ann"), "food")
    store.delete(("users", "ann"), "food")
    assert store.get(("users", "ann"), "food") is None


def test_a_question_finds_items_below_a_namespace(store):
    store.put(("users", "ann"), "food", {"text": "Ann likes green tea in the morning"})
    store.put(("users", "ann"), "work", {"text": "Ann repairs steam engines"})
    store.put(("users", "bob"), "food", {"text": "Bob drinks tea, too"})
    store.put(("users", "ann"), "secret", {"text": "tea, tea and tea"}, index=False)
    found = store.search(("users", "ann"), query="What does she drink? tea")
    assert [each.key for each in found] == ["food", "work", "secret"]  # the item that no question finds comes last
    assert found[0].score > found[1].score
    assert found[2].score is None
    assert [each.key for each in store.search(("users", "ann"), query="tea", limit=1, offset=1)] == ["work"]
    assert {each.namespace for each in store.search(("users",), query="tea")} == {("users", "ann"), ("users", "bob")}
    assert store.search(("nobody",), query="tea") == []
    assert store.search(("users",), query="tea", limit=0) == []
    assert len(store.search(("users",), query=" ", limit=50_000)) == 4  # as without a question
    assert len(store.search(("users",), query="tea", limit=50_000)) == 4
    assert [each.key for each in store.search(("users",), query="tea", filter={"text": "Ann repairs steam engines"})] == [
        "work"
    ]


def test_fields_choose_the_texts_that_questions_find(tmp_path):
    with Index.open(tmp_path / "memory") as index:
        store = LeafspanStore(index, fields=["note", "tags[*]"])
        store.put(("a",), "one", {"note": "steam engines", "tags": ["coal", "iron"], "other": "honey"})
        store.put(("a",), "two", {"note": "tea"}, index=["other"])
        assert index.get('["a", "one"]').text == "steam engines\n\ncoal\n\niron"
        assert index.get('["a", "two"]').text == ""


@pytest.mark.parametrize("awaited", [False, True])
def test_items_expire_and_reading_puts_that_off(store, awaited, monkeypatch):
    from langchain_ext import memory

    clock = memory._now()
    monkeypatch.setattr(memory, "_now", lambda: clock)

    def later(minutes: float) -> None:
        nonlocal clock
        clock += timedelta(minutes=minutes)

    def call(name: str, *arguments: Any, **options: Any) -> Any:
        if awaited:
            return asyncio.run(getattr(store, f"a{name}")(*arguments, **options))
        return getattr(store, name)(*arguments, **options)

    call("put", ("a",), "short", {"text": "tea"}, ttl=10)
    call("put", ("a",), "long", {"text": "tea"})
    later(6)
    assert call("get", ("a",), "short").key == "short"  # which begins the ten minutes again
    later(6)
    assert {each.key for each in call("search", ("a",), query="tea")} == {"short", "long"}
    later(6)
    assert call("get", ("a",), "short", refresh_ttl=False) is not None
    later(6)
    assert call("get", ("a",), "short") is None
    assert [each.key for each in call("search", ("a",))] == ["long"]
    assert [each.key for each in call("search", ("a",), query="tea")] == ["long"]
    assert call("sweep_ttl") == 1
    assert call("sweep_ttl") == 0
    assert call("get", ("a",), "long") is not None


def test_a_default_for_expiry_is_langgraphs(tmp_path):
    with Index.open(tmp_path / "memory") as index:
        store = LeafspanStore(index, ttl={"default_ttl": 5, "refresh_on_read": False})
        store.put(("a",), "one", {"x": 1})
        before = index.get('["a", "one"]').metadata["expires_at"]
        assert store.get(("a",), "one") is not None
        assert index.get('["a", "one"]').metadata["expires_at"] == before
        store.put(("a",), "two", {"x": 1}, ttl=None)
        assert "ttl" not in index.get('["a", "two"]').metadata


names = st.sampled_from(["a", "b", "é", "a.b", ""])
namespaces = st.lists(st.sampled_from(["a", "b", "ü", "x y"]), min_size=1, max_size=3).map(tuple)
values = st.dictionaries(st.sampled_from(["n", "s", "o"]), st.one_of(st.integers(-2, 2), names, st.none(), st.just([1])))
conditions = st.one_of(
    st.integers(-2, 2),
    names,
    st.dictionaries(st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(-2, 2), min_size=1),
)
paths = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2).map(tuple)
ops = st.one_of(
    st.builds(PutOp, namespaces, names, st.one_of(st.none(), values), st.none(), st.none()),
    st.builds(GetOp, namespaces, names, st.booleans()),
    st.builds(
        SearchOp,
        st.one_of(st.just(()), namespaces),
        st.one_of(st.none(), st.dictionaries(st.sampled_from(["n", "s"]), conditions, max_size=2)),
        st.just(100),
        st.just(0),
        st.none(),
        st.booleans(),
    ),
    st.builds(
        ListNamespacesOp,
        st.one_of(
            st.none(),
            st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), paths), max_size=2).map(tuple),
        ),
        st.one_of(st.none(), st.integers(1, 3)),
        st.just(100),
        st.just(0),
    ),
)


@examples(25)
@given(st.lists(st.lists(ops, max_size=6), max_size=4))
def test_any_operations_do_what_langgraphs_own_store_does(batches):
    """Its own store raises where a comparison has no numbers; here nothing matches then."""
    theirs = InMemoryStore()
    with TemporaryDirectory() as folder, Index.open(f"{folder}/memory") as index:
        store = LeafspanStore(index)
        for batch in batches:
            alive = without_empty_namespaces(theirs)
            try:
                wanted = [
                    alive.batch([op])[0] if isinstance(op, ListNamespacesOp) else result
                    for op, result in zip(batch, theirs.batch(batch), strict=True)
                ]
            except (TypeError, ValueError):
                continue
            assert [plain(each) for each in store.batch(batch)] == [plain(each) for each in wanted]


def without_empty_namespaces(theirs: InMemoryStore) -> InMemoryStore:
    """Its own store also lists namespaces that were only read, or have lost all items."""
    again = InMemoryStore()
    for item in theirs.search((), limit=1000):
        again.put(item.namespace, item.key, item.value)
    return again


def test_wrong_values_are_refused_before_anything_is_written(store):
    with pytest.raises(InvalidArgument, match="a value must be written as JSON, got"):
        store.batch([PutOp(("a",), "fine", {"x": 1}), PutOp(("a",), "odd", {"x": object()})])
    assert store.search(()) == []
    store.put(("a",), "fine", {"x": 1})
    with pytest.raises(InvalidArgument, match=r"operators of a filter are \$eq, "):
        store.search(("a",), filter={"x": {"$near": 1}})
    assert store.search(("a",), filter={"x": {"$gt": "many"}}) == []
    with pytest.raises(InvalidArgument, match="operations must be of LangGraph's BaseStore, got 3"):
        store.batch([3])
    for index in (None, "memory"):
        with pytest.raises(InvalidArgument, match=f"index must be an Index or a view of one, got {index!r}"):
            LeafspanStore(index)
    for fields in ("text", 3, [3]):
        with pytest.raises(InvalidArgument, match="fields must be a list of paths, got "):
            LeafspanStore(store._index, fields=fields)


def test_threads_and_tasks_share_it(store):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: store.put(("threads",), str(n), {"n": n}), range(6)))

    async def together() -> None:
        await asyncio.gather(*(store.aput(("tasks",), str(n), {"n": n}) for n in range(4)))

    asyncio.run(together())
    assert {name: len(store.search((name,), limit=100)) for name in ("threads", "tasks")} == {"threads": 6, "tasks": 4}


@pytest.mark.slow
def test_processes_share_it(tmp_path):
    program = (
        "import sys; from leafspan import Index; from langchain_ext import LeafspanStore\n"
        "LeafspanStore(Index.open(sys.argv[1])).put(('processes',), sys.argv[2], {'n': 1})"
    )
    with Index.open(tmp_path / "memory") as index:
        store = LeafspanStore(index)
        others = [subprocess.Popen([sys.executable, "-c", program, tmp_path / "memory", str(n)]) for n in range(2)]
        store.put(("processes",), "own", {"n": 1})
        assert [each.wait(60) for each in others] == [0, 0]
        assert {each.key for each in store.search(("processes",))} == {"own", "0", "1"}


def test_an_agent_remembers(store):
    @tool
    def remember(text: str, runtime: ToolRuntime) -> str:
        """Remember a text."""
        runtime.store.put(("notes",), text[:10], {"text": text})
        return "done"

    @tool
    def recall(question: str, runtime: ToolRuntime) -> str:
        """Recall what was said."""
        return runtime.store.search(("notes",), query=question)[0].value["text"]

    def calling(name: str, **arguments: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Scripted:
            return self

    said = [calling("remember", text="Ann drinks green tea"), "Noted.", calling("recall", question="drinks?"), "Tea."]
    agent = create_agent(Scripted(messages=iter(said)), [remember, recall], store=store)
    agent.invoke({"messages": [("user", "I drink green tea")]})
    result = agent.invoke({"messages": [("user", "What do I drink?")]})
    assert result["messages"][-2].content == "Ann drinks green tea"


def test_a_store_over_the_whole_index_leaves_out_what_was_put_through_a_view(tmp_path):
    with Index.open(tmp_path / "memory") as index:
        LeafspanStore(index.scoped(F("tenant") == "a")).put(("ann",), "z", {"text": "tea"})
        whole = LeafspanStore(index)
        whole.put(("bob",), "y", {"text": "tea"})
        assert [each.key for each in whole.search((), query="tea")] == [each.key for each in whole.search(())] == ["y"]
        assert whole.list_namespaces() == [("bob",)]


def test_an_item_that_has_expired_has_a_new_date(store, monkeypatch):
    store.put(("ann",), "drink", {"text": "tea"}, ttl=1)
    first = store.get(("ann",), "drink")
    later = first.created_at + timedelta(minutes=2)
    monkeypatch.setattr("langchain_ext.memory._now", lambda: later)
    assert store.get(("ann",), "drink") is None
    store.put(("ann",), "drink", {"text": "coffee"})
    assert store.get(("ann",), "drink").created_at == later


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda store: store.put(("a",), "k", "x"), "a value must be a mapping, got 'x'"),
        (lambda store: store.put(("a",), "k", {}, ttl=float("nan")), "ttl must be a number > 0, got nan"),
        (lambda store: store.put(("a",), "k", {}, ttl="x"), "ttl must be a number > 0, got 'x'"),
        (lambda store: store.search(("a",), limit=-1), "limit must be a whole number >= 0, got -1"),
        (lambda store: store.search(("a",), offset="1"), "offset must be a whole number >= 0, got '1'"),
    ],
)
def test_wrong_values_are_errors_that_say_the_rule(store, call, rule):
    with pytest.raises(InvalidArgument) as raised:
        call(store)
    assert str(raised.value) == rule
    assert store.search(()) == []


@pytest.mark.slow
async def test_what_many_tasks_put_at_once_is_kept(store):
    """Each waits for the others, and the waits of all leave the writer its time."""
    await asyncio.gather(*(store.aput(("ann",), f"k{number}", {"text": f"fact {number}"}) for number in range(250)))
    assert len(store.search(("ann",), limit=300)) == 250
