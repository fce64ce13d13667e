"""What agents reach in other ways than by tools: no file, memory, resource or value of another tenant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from langchain_ext import IndexBackend, LeafspanStore
from leafspan import Index, View
from leafspan.agents import agent_tools
from leafspan.cli.mcp_server import connector_tools
from leafspan.cli.mcp_server._resources import list_resources, read_resource, uri_of
from leafspan.errors import LeafspanError
from leafspan.flows import run
from tests.agents.test_scope import OF_B, SECRET, A, B, views

__all__ = ["views"]  # the fixture


def said(call: Callable[[], Any]) -> str:
    try:
        return repr(call())
    except LeafspanError as error:
        return f"{type(error).__name__}: {error}"


def calls(view: View, ids: list[str]) -> Iterator[Callable[[], Any]]:
    """Calls of every verb, as somebody makes them who knows all ids of b."""
    files = IndexBackend(view)
    expressions = IndexBackend(view, regex=True)
    search, fetch = connector_tools(*agent_tools(view)[:2])
    for key in (None, SECRET, "tenant", "doc_id", "title"):
        yield lambda key=key: view.values(key)
    for cursor in (None, "0", "1", "1000"):
        yield lambda cursor=cursor: run(list_resources(view, cursor))
    for question in (SECRET, "bees", "the vault"):
        yield lambda question=question: search.call({"query": question})
        yield lambda question=question: files.search(question, 9)
        yield lambda question=question: files.as_tool().invoke({"question": question})
    for pattern in (SECRET, ".", "bees", "(?i)VAULT"):
        yield lambda pattern=pattern: (files.grep(pattern), expressions.grep(pattern))
    for folder in ("/", "/..", f"/{SECRET}", "/*", "//"):
        yield lambda folder=folder: (files.ls(folder), files.glob("**/*", folder), files.glob(f"*{SECRET}*"))
    for id_ in ids:
        for start, end in ((0, 0), (0, 5), (3, 10**6)):
            uri = uri_of(id_, start, end)
            yield lambda uri=uri: run(read_resource(view, uri))
            yield lambda id_=f"{id_}:{start}-{end}": fetch.call({"id": id_})
        path = f"/{id_}"
        yield lambda path=path: (files.read(path), files.download_files([path]), files.grep(".", path))


def test_every_verb_says_what_it_says_without_the_other_documents(views):
    both, alone, stored = views
    ids = [*stored, f"{SECRET}.md", "of nobody", "plan", "bees", "../kb", "%", "*"]
    answers = [said(call) for call in calls(both, ids)]
    assert answers == [said(call) for call in calls(alone, ids)]
    assert len(answers) > 80


@pytest.mark.parametrize("scope", [A, B])
def test_a_memory_has_the_items_of_its_scope(tmp_path, scope):
    with Index.open(tmp_path / "memory") as index:
        mine, yours = LeafspanStore(index.scoped(scope)), LeafspanStore(index.scoped(B if scope is A else A))
        for number, each in enumerate(OF_B):
            yours.put(("users", SECRET), f"k{number}", {"text": each.text, SECRET: SECRET})
        mine.put(("users", "ann"), "k0", {"text": "Bees dance."})
        mine.put(("users", SECRET), "k1", {"text": "My own."})
        before = [yours.get(("users", SECRET), f"k{number}") for number in range(2)]
        assert {each.value["text"] for each in mine.search((), limit=99)} == {"Bees dance.", "My own."}
        assert {each.value["text"] for each in mine.search((), query=SECRET, limit=99)} == {"Bees dance.", "My own."}
        assert mine.search(("users",), filter={SECRET: SECRET}) == []
        assert sorted(mine.list_namespaces()) == [("users", "ann"), ("users", SECRET)]
        assert mine.get(("users", SECRET), "k0") is None
        mine.delete(("users", SECRET), "k0")
        mine.put(("users", SECRET), "k1", {"text": "Overwritten."})
        mine.delete(("users", SECRET), "k1")
        assert [yours.get(("users", SECRET), f"k{number}") for number in range(2)] == before
