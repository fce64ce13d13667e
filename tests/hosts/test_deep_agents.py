"""``IndexBackend``: the documents of an index as read-only files for deep agents."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from deepagents import FilesystemPermission, create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from deepagents.backends.protocol import BackendProtocol, GrepResult
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage

from langchain_ext import IndexBackend
from langchain_ext.deep_agents import _document_id, _path
from leafspan import Document, F, Index, InvalidArgument
from leafspan.examples import example_documents
from tests.hosts.test_middleware import scripted

TEA = "# Tea\r\n\r\nGreen tea is brewed below eighty degrees.\rBlack tea is not.\n"
AWKWARD = [
    "https://x.org/a",
    "a//b/",
    "/root",
    "..",
    "../up",
    "100%",
    "a\\b",
    "line\nend",
    ".hidden/./x",
    "ü/日本.md",
    "~me",
    "C:/x",
    "a b",
    "a%20b",
    "r.pdf",
    "r.pdf.txt",
    "r.pdf.txt.txt",
    "A.PNG",
]


@pytest.fixture
def index(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(
            [
                Document("notes/tea.md", TEA, metadata={"tenant": "a"}),
                Document("notes/old/bees.txt", "Bees dance.\n\nBees also make tea? No.", metadata={"tenant": "a"}),
                Document("secret.md", "The code is 1234.", metadata={"tenant": "b"}),
                Document("empty", ""),
            ]
        )
        yield index


@pytest.fixture
def others(index):
    """Documents whose ids look like other files, or like a file in a file."""
    index.add([Document("report.pdf", "The text of a PDF."), Document("notes/tea.md/more", "More about tea.")])


@pytest.fixture
def backend(index):
    return IndexBackend(index)


def paths(result: Any) -> list[str]:
    return [each["path"] for each in (result.entries if hasattr(result, "entries") else result.matches)]


def test_folders_are_listed_one_by_one(backend):
    assert paths(backend.ls("/")) == ["/empty", "/notes/", "/secret.md"]
    assert paths(backend.ls("/notes")) == ["/notes/old/", "/notes/tea.md"]
    assert [each.get("size") for each in backend.ls("/notes/").entries] == [0, len(TEA)]
    assert paths(backend.ls("/nowhere")) == []


def test_a_file_is_read_by_the_lines_that_passages_have(index, backend):
    articles = example_documents()
    index.add(articles)
    for leaf in index.leaves(articles[0].id):
        first, last = leaf.lines
        read = backend.read(f"/{articles[0].id}", first - 1, last - first + 1)
        assert leaf.text.strip("\n") in read.file_data["content"]
        assert (read.start_line, read.end_line) == (first, last)
    read = backend.read("/notes/tea.md", 2, 1)
    assert read.file_data["content"] == "Green tea is brewed below eighty degrees.\n"
    assert (read.start_line, read.end_line, read.total_lines, read.next_offset) == (3, 3, 4, 3)
    whole = backend.read("/notes/tea.md")
    assert whole.file_data["content"] == TEA.replace("\r\n", "\n").replace("\r", "\n")
    assert whole.next_offset is None


@pytest.mark.parametrize("window", [(0, 0), (-3, 1), (3, 5), (4, 1), (0, -1), (10**30, 1)])
def test_odd_windows_are_answered(backend, window):
    read = backend.read("/notes/tea.md", *window)
    assert read.error or read.file_data is not None
    assert backend.read("/empty", *window).file_data["content"] == ""


def test_what_is_missing_is_said(backend):
    assert (
        backend.read("/nowhere.md").error == "there is no document 'nowhere.md' in the index; did you mean 'notes/tea.md'?"
    )
    assert backend.read("/notes/tea.md", 4).error == "offset must be less than the 4 lines of the document, got 4"


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.md", None, ["/notes/tea.md", "/secret.md"]),
        ("*.md", "/notes", ["/notes/tea.md"]),
        ("/*.md", None, ["/secret.md"]),
        ("notes/**/*.{md,txt}", "/", ["/notes/old/bees.txt", "/notes/tea.md"]),
        ("*", "/secret.md", ["/secret.md"]),
        ("*.pdf", None, ["/report.pdf.txt"]),
        ("*.txt", "/", ["/notes/old/bees.txt", "/report.pdf.txt"]),
        ("*", "/notes/tea.md", ["/notes/tea.md", "/notes/tea.md/more"]),
        ("*", "/nowhere", []),
    ],
)
@pytest.mark.usefixtures("others")
def test_files_are_found_by_name(backend, pattern, path, found):
    assert paths(backend.glob(pattern, path)) == found


def test_exact_texts_are_found_in_lines(backend):
    found = backend.grep("tea")
    assert [(each["path"], each["line"]) for each in found.matches] == [
        ("/notes/old/bees.txt", 3), ("/notes/tea.md", 3), ("/notes/tea.md", 4),
    ]  # fmt: skip
    assert found.matches[1]["text"] == "Green tea is brewed below eighty degrees."
    assert not found.truncated
    assert paths(backend.grep("tea", glob="*.txt")) == ["/notes/old/bees.txt"]
    assert paths(backend.grep("tea", "/notes/tea.md", max_count=2)) == ["/notes/tea.md"] * 2
    assert not backend.grep("tea", "/notes/tea.md", max_count=2).truncated
    assert backend.grep("tea", "/notes/tea.md", max_count=1).truncated
    assert backend.grep("t.a").matches == []  # no regular expressions
    assert backend.grep("") == GrepResult(error="pattern must have 1 to 1,000 characters, got 0")
    assert "no line ends" in backend.grep("tea\n").error


def test_regular_expressions_are_found_if_they_are_wanted(index):
    backend = IndexBackend(index, regex=True)
    found = backend.grep(r"(?i)^(green|black) TEA", glob="*.md")
    assert [(each["path"], each["line"]) for each in found.matches] == [("/notes/tea.md", 3), ("/notes/tea.md", 4)]
    assert backend.grep("tea(").error.startswith("pattern must be a regular expression of RE2, got 'tea(': missing )")
    assert IndexBackend(index).grep("tea(").matches == []


def test_a_long_line_is_shown_around_the_match(index, backend):
    index.add(Document("long", "x" * 3_000 + "needle" + "y" * 3_000))
    [match] = backend.grep("needle").matches
    assert match == {"path": "/long", "line": 1, "text": "…" + "x" * 100 + "needle" + "y" * (500 - 106) + "…"}


def test_passages_are_found_by_meaning_with_path_and_line(index, backend):
    found = backend.search("How hot is green tea?", k=1)
    assert [(each["path"], each["line"]) for each in found.matches] == [("/notes/tea.md", 1)]
    read = backend.read("/notes/tea.md", found.matches[0]["line"] - 1)
    assert read.file_data["content"].strip() in found.matches[0]["text"].replace("\r\n", "\n").replace("\r", "\n")
    assert "query must be a text that is not blank" in backend.search("").error
    assert "k must be" in backend.search("tea", k=0).error
    assert IndexBackend(index.scoped(F("tenant") == "a")).search("the code 1234").matches != []
    assert "/secret.md" not in paths(IndexBackend(index.scoped(F("tenant") == "a")).search("the code 1234", k=9))


def test_lines_are_those_of_the_text_that_an_agent_reads_also_below_front_matter(tmp_path):
    (tmp_path / "page.md").write_text("---\ntitle: Tea\n---\n\n# Tea\n\nGreen tea is hot.\n")
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path / "page.md")
        [file] = IndexBackend(index).glob("*").matches
        backend = IndexBackend(index)
        [match] = backend.search("green tea", k=1).matches
        first = backend.read(file["path"], match["line"] - 1, 1).file_data["content"]
        assert first.strip()
        assert match["text"].lstrip().startswith(first)


def test_the_lines_of_a_search_are_those_of_passages(index, backend):
    index.add(example_documents())
    found = json.loads(backend.as_tool(folder="/docs/").invoke({"question": "How do bees dance?", "budget": 300}))
    for each, passage in zip(found["passages"], index.retrieve("How do bees dance?", budget=300), strict=False):
        assert (each["path"], tuple(each["lines"])) == (f"/docs/{passage.document_id}", passage.lines)


def test_a_search_that_takes_too_long_says_that_it_is_incomplete(index):
    found = IndexBackend(index, timeout=1e-9).grep("tea")
    assert (found.matches, found.truncated) == ([], True)
    assert IndexBackend(index, timeout=None).grep("tea").matches


def test_a_pattern_out_of_the_folder_is_refused(backend):
    assert "traversal" in backend.glob("../*").error
    assert "traversal" in backend.grep("tea", glob="../*").error


async def test_it_is_the_same_in_an_event_loop(backend):
    assert await backend.als("/") == backend.ls("/")
    assert await backend.aread("/notes/tea.md", 1, 2) == backend.read("/notes/tea.md", 1, 2)
    assert await backend.aread("/nowhere") == backend.read("/nowhere")
    assert await backend.aglob("*.md") == backend.glob("*.md")
    assert await backend.aglob("../*") == backend.glob("../*")
    assert await backend.agrep("tea", max_count=1) == backend.grep("tea", max_count=1)
    assert await backend.asearch("tea", k=2) == backend.search("tea", k=2)
    assert await backend.as_tool().ainvoke({"question": "tea"}) == backend.as_tool().invoke({"question": "tea"})
    files = ["/notes/tea.md", "/nowhere"]
    assert await backend.adownload_files(files) == backend.download_files(files)


def test_a_view_shows_its_documents_alone(index):
    backend = IndexBackend(index.scoped(F("tenant") == "a"))
    assert paths(backend.glob("*")) == ["/notes/old/bees.txt", "/notes/tea.md"]
    assert backend.read("/secret.md").error == "there is no document 'secret.md' in the index"
    assert backend.grep("1234").matches == []


def test_nothing_can_be_changed(index, backend):
    before = index.documents()
    assert "read-only" in backend.write("/new.md", "x").error
    assert "read-only" in backend.edit("/secret.md", "1234", "0").error
    assert "read-only" in backend.delete("/secret.md").error
    assert [each.error for each in backend.upload_files([("/new.md", b"x")])] == ["permission_denied"]
    assert index.documents() == before


def test_texts_are_downloaded_to_the_byte(backend):
    found, missing = backend.download_files(["/notes/tea.md", "/nowhere"])
    assert found.content == TEA.encode()
    assert (missing.content, missing.error) == (None, "file_not_found")


def test_a_closed_index_is_an_answer(index, backend):
    index.close()
    assert "closed" in backend.ls("/").error
    assert "closed" in backend.read("/secret.md").error
    assert "closed" in backend.glob("*").error
    assert "closed" in backend.grep("x").error
    assert "closed" in backend.search("x").error
    assert "closed" in backend.as_tool().invoke({"question": "x"})
    assert "closed" in backend.download_files(["/secret.md"])[0].error


@given(st.one_of(st.sampled_from(AWKWARD), st.text("ab/.%\\ \n", min_size=1), st.text(min_size=1)))
def test_each_id_has_a_path_of_its_own_that_leads_nowhere_else(document_id):
    path = _path(document_id)
    assert _document_id(path) == document_id
    assert path[0] == "/"
    assert not {"", ".", ".."} & set(path[1:].split("/"))


def test_awkward_ids_can_be_listed_and_read(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document(id_, f"This is {number}.") for number, id_ in enumerate(AWKWARD))
        backend = IndexBackend(index)
        for path in paths(backend.grep("This is")):
            assert backend.read(path).file_data["content"].startswith("This is")
        assert len(set(paths(backend.grep("This is")))) == len(AWKWARD)


@pytest.mark.parametrize("path", ["/%73ecret.md", "/notes%2Ftea.md", "//secret.md", "/./secret.md", "/report.pdf"])
@pytest.mark.usefixtures("others")
def test_each_document_has_one_path(backend, path):
    """Rules that deny a path could be circumvented otherwise."""
    assert "there is no file" in backend.read(path).error


def test_what_is_deleted_during_a_search_is_left_out(index, backend, monkeypatch):
    stale = index.documents()
    index.delete(["notes/tea.md"])
    monkeypatch.setattr(index, "documents", lambda: stale)
    assert paths(backend.grep("tea")) == ["/notes/old/bees.txt"]


def test_every_ending_that_an_agent_does_not_read_as_text_gets_another_one():
    from deepagents.backends import utils

    for ending in [*utils._EXTENSION_TO_FILE_TYPE, *utils._VIDEO_EXTRA_EXTENSIONS]:
        assert utils._get_file_type(_path(f"file{ending}")) == "text", ending
        assert _document_id(_path(f"file{ending}")) == f"file{ending}"


@pytest.mark.usefixtures("others")
def test_a_deep_agent_keeps_to_its_rules_and_reads_the_text_of_a_pdf(index):
    wanted = ["/docs/secret.md", "/docs/%73ecret.md", "/docs/report.pdf.txt"]
    script = [AIMessage("", tool_calls=[{"name": "read_file", "args": {"file_path": path}, "id": path}]) for path in wanted]
    backend = CompositeBackend(default=StateBackend(), routes={"/docs/": IndexBackend(index)})
    rules = [FilesystemPermission(["read"], ["/docs/secret*"], mode="deny")]
    agent = create_deep_agent(scripted(*script, AIMessage("Done.")), backend=backend, permissions=rules)
    messages = agent.invoke({"messages": [("user", "Read.")]})["messages"]
    denied, around, text = [each.text for each in messages if isinstance(each, ToolMessage)]
    assert "1234" not in denied + around
    assert "The text of a PDF." in text


def test_a_deep_agent_searches_and_reads_on(index):
    calls = [
        ("search", {"question": "How hot is green tea?", "k": 1}),
        ("ls", {"path": "/docs/notes"}),
        ("read_file", {"file_path": "/docs/notes/tea.md", "offset": 2, "limit": 1}),
        ("grep", {"pattern": "eighty", "path": "/docs", "output_mode": "content"}),
        ("glob", {"pattern": "*.txt", "path": "/docs"}),
        ("write_file", {"file_path": "/docs/new.md", "content": "x"}),
    ]
    script = [AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}]) for name, args in calls]
    files = IndexBackend(index)
    backend = CompositeBackend(default=StateBackend(), routes={"/docs/": files})
    agent = create_deep_agent(scripted(*script, AIMessage("Done.")), [files.as_tool(folder="/docs/")], backend=backend)
    messages = agent.invoke({"messages": [("user", "How hot is green tea?")]})["messages"]
    said = {each.name: each.text for each in messages if isinstance(each, ToolMessage)}
    [passage] = json.loads(said["search"])["passages"]
    assert (passage["path"], passage["lines"]) == ("/docs/notes/tea.md", [1, 4])
    assert "/docs/notes/tea.md" in said["ls"]
    assert "Green tea is brewed below eighty degrees." in said["read_file"]
    assert "/docs/notes/tea.md" in said["grep"]
    assert "/docs/notes/old/bees.txt" in said["glob"]
    assert "read-only" in said["write_file"]


def test_its_methods_take_what_the_protocol_gives():
    for name, method in inspect.getmembers(BackendProtocol, inspect.isfunction):
        ours = getattr(IndexBackend, name)
        assert [*inspect.signature(ours).parameters] == [*inspect.signature(method).parameters], name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index": None}, "index must be an Index or a view of one, got None"),
        ({"index": "kb"}, "index must be an Index or a view of one, got 'kb'"),
        ({"timeout": 0}, "timeout must be"),
        ({"regex": 1}, "regex must be True or False, got 1"),
    ],
)
def test_wrong_options_are_refused(index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        IndexBackend(**{"index": index, **options})


@pytest.mark.parametrize("folder", [None, "docs/", 3])
def test_the_folder_of_a_tool_is_a_path(backend, folder):
    with pytest.raises(InvalidArgument, match='folder must be a path that begins with "/", got'):
        backend.as_tool(folder=folder)
