"""After a sync, the index has exactly the source's documents for that source, and all others unchanged."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument

from leafspan import Document, F, Files, Index, InvalidArgument, Synced, View
from leafspan.errors import EmptySource, InvalidDocument
from leafspan.files import Skipped, _formats
from tests.durability.versions import EMBEDDER, SPLITTER
from tests.profiles import examples


def contents(index: View) -> list[Document]:
    """Everything that an index has."""
    return [index.get(document.id) for document in index.documents()]


def synced(**ids: Any) -> Synced:
    return Synced(**{name: tuple(ids.get(name, ())) for name in ("added", "replaced", "deleted", "unchanged", "skipped")})


@contextmanager
def opened(folder: Path) -> Iterator[Index]:
    with Index.open(folder / "kb", embedder=EMBEDDER, splitter=SPLITTER) as index:
        yield index


@pytest.mark.parametrize(
    ("folder", "name"), [("kb", "bees.md"), ("", "notes/bees.md")], ids=["in the source", "the source"]
)
def test_nothing_of_the_indexs_own_files_is_read(tmp_path: Path, folder: str, name: str):
    notes = tmp_path / "notes"
    notes.mkdir()
    left_out = {f"index {folder or 'notes'}": 1}
    (notes / "bees.md").write_text("Bees dance to tell the others where flowers are.")
    for expected in (synced(added=[name]), synced(unchanged=[name])):
        with Index.open(notes / folder) as index:
            assert index.sync(notes) == replace(expected, left_out=left_out)
            index.build_tree()
            index.warm()
            assert index.sync(notes) == replace(synced(unchanged=[name]), left_out=left_out)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder of two files, one of them in a folder below."""
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("# A\n\nAbout a.")
    (folder / "deep" / "b.txt").write_text("About b.")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with opened(tmp_path) as index:
        yield index


def test_what_is_new_changed_and_gone_is_added_replaced_and_deleted(index: Index, docs: Path):
    other = Document("other", "Not of the folder.", metadata={"source": "docs/other.md"})
    index.add([other, Document("docs/by-hand.md", "Nor this one.")])
    assert index.sync(docs) == synced(added=["docs/a.md", "docs/deep/b.txt"])
    assert index.sync(docs) == synced(unchanged=["docs/a.md", "docs/deep/b.txt"])
    (docs / "a.md").write_text("# A\n\nMore about a.")
    (docs / "deep" / "b.txt").rename(docs / "c.txt")
    wanted = synced(added=["docs/c.txt"], replaced=["docs/a.md"], deleted=["docs/deep/b.txt"])
    before = contents(index)
    assert index.sync(docs, dry_run=True) == wanted
    assert contents(index) == before
    assert index.sync(docs) == wanted
    assert [document.id for document in index.documents()] == ["docs/a.md", "docs/by-hand.md", "docs/c.txt", "other"]
    assert index.get("docs/a.md").text == "# A\n\nMore about a."
    assert index.get("other") == other


async def test_the_twin_does_the_same(index: Index, docs: Path):
    assert (await index.a_sync(docs)).added == ("docs/a.md", "docs/deep/b.txt")
    (docs / "a.md").unlink()
    assert (await index.a_sync(docs)).deleted == ("docs/a.md",)


def test_one_file_covers_itself_and_several_paths_all_of_theirs(index: Index, docs: Path):
    index.sync(docs)
    (docs / "a.md").unlink()
    (docs / "deep" / "b.txt").write_text("New.")
    assert index.sync(docs / "deep") == synced(replaced=["docs/deep/b.txt"])
    assert index.sync([docs / "deep" / "b.txt", docs]) == synced(unchanged=["docs/deep/b.txt"], deleted=["docs/a.md"])


def test_a_folder_does_not_cover_one_whose_name_only_begins_alike(index: Index, docs: Path, tmp_path: Path):
    shutil.copytree(docs, tmp_path / "docs2")
    index.sync(tmp_path / "docs2")
    assert index.sync(docs).deleted == ()
    assert index.count() == 4


def test_files_that_are_not_to_be_read_are_not_deleted_either(index: Index, docs: Path):
    index.sync(docs)
    for file in (docs / "a.md", docs / "deep" / "b.txt"):
        file.unlink()
    (docs / "c.md").write_text("C.")
    assert index.sync(Files(docs, glob="*.md")) == synced(added=["docs/c.md"], deleted=["docs/a.md"])
    assert index.sync(Files(docs, exclude="deep")) == synced(unchanged=["docs/c.md"])
    assert index.sync(docs) == synced(unchanged=["docs/c.md"], deleted=["docs/deep/b.txt"])


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_front_matter_is_in_no_passage_and_lines_match_the_file(index: Index, docs: Path, line: str):
    body = ["# Bees", "", "Bees dance.", "", "Bees make honey.", ""]
    for front in (["---", "title: The dance", "---", ""], ["---", "title: The dance", "# a note", "---", ""], []):
        page = [*front, *body]
        (docs / "bees.md").write_bytes(line.join(page).encode())
        result = index.sync(docs)
        assert "docs/bees.md" in (*result.added, *result.replaced)
        assert "docs/bees.md" in index.sync(docs).unchanged
        document = index.get("docs/bees.md")
        assert "---" not in document.text
        passages = index.leaves("docs/bees.md")
        assert "".join(each.text for each in passages) == document.text
        for each in passages:
            assert each.text == document.text[each.start : each.end]
            first, last = each.lines
            assert line.join(page[first - 1 : last]).strip() == each.text.strip()
    assert index.repair(verify=True) == []


@pytest.mark.parametrize(
    "page",
    [
        "# Bees\n\ne" + "\u0300\u0316" * 50_000,
        "# Bees" + "\u0300\u0316" * 50_000 + "\n\nThey dance.",
        "Bees" + "\u0300\u0316" * 50_000 + "\n---\n\nThey dance.",
        "---\ntitle: Bees" + "\u0300\u0316" * 50_000 + "\n---\n\nThey dance.",
        "---\nkey: value\n" + "".join(f"k{number}: {'v' * 20}\n" for number in range(90_000)) + "---\n\nThey dance.",
    ],
    ids=["text", "heading", "underlined heading", "title", "front matter"],
)
def test_a_page_that_would_keep_a_reader_busy_is_synced_within_seconds(index: Index, docs: Path, page: str):
    (docs / "bees.md").write_text(page)
    before = time.process_time()
    assert "docs/bees.md" in index.sync(docs).added
    assert time.process_time() - before < 10
    for row in index.documents():
        assert len(row.title or "") <= 1_000


def test_the_pages_and_lines_of_a_file_go_with_it(index: Index, docs: Path):
    lines = docs / "d.jsonl"
    lines.write_text('{"text": "One.", "id": "x"}\n{"text": "Two.", "id": "y"}')
    named = Files(docs, id_field="id")
    assert index.sync(named).added == ("docs/a.md", "x", "y", "docs/deep/b.txt")
    lines.write_text('{"text": "One.", "id": "x"}')
    assert index.sync(named).deleted == ("y",)
    lines.write_text('{"text": "One.", "id": "x"}\nbroken')
    index.add(Document("y", "By hand, so it is of no file."))
    assert index.sync(named).deleted == ()
    lines.unlink()
    assert index.sync(named).deleted == ("x",)
    assert index.get("y").text == "By hand, so it is of no file."


# nothing is deleted by mistake


def test_a_file_that_cannot_be_read_stays_in_the_index(index: Index, docs: Path):
    index.sync(docs)
    (docs / "a.md").write_bytes(b"\xff")
    result = index.sync(docs)
    assert result.deleted == ()
    assert [each.path for each in result.skipped] == ["docs/a.md"]
    assert index.get("docs/a.md").text == "# A\n\nAbout a."
    with pytest.raises(InvalidDocument, match=r"file 'docs/a.md' cannot be read: it is not UTF-8"):
        index.sync(Files(docs, strict=True))


def test_a_folder_that_cannot_be_looked_into_keeps_its_documents(index: Index, docs: Path, monkeypatch):
    index.sync(docs)
    list_folder = os.listdir

    def refusing(path: Any) -> list[str]:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied")
        return list_folder(path)

    monkeypatch.setattr(os, "listdir", refusing)
    assert index.sync(docs) == synced(unchanged=["docs/a.md"], skipped=[Skipped("docs/deep", "Permission denied")])
    assert index.count() == 2


def test_a_record_that_cannot_be_read_keeps_the_others_of_its_file(index: Index, docs: Path):
    (docs / "d.jsonl").write_text('{"text": "One."}\n{"text": "Two."}')
    index.sync(docs)
    (docs / "d.jsonl").write_text('{"text": "One."}\n{"text": "Tw')
    assert index.sync(docs).deleted == ()
    assert index.count() == 4


@pytest.mark.parametrize("dry_run", [False, True])
def test_allow_empty_is_advised_only_where_documents_would_be_deleted(
    index: Index, docs: Path, tmp_path: Path, dry_run: bool
):
    for path in (tmp_path / "nope", tmp_path / "nope.md", docs / "nope"):
        with pytest.raises(InvalidDocument, match=r"there is no file or folder '.*nope(\.md)?'$"):
            index.sync([docs, path], dry_run=dry_run)
    assert index.count() == 0
    index.sync(docs)
    (docs / "a.md").unlink()
    with pytest.raises(InvalidDocument, match=r"a\.md'; .* pass allow_empty=True"):
        index.sync(docs / "a.md", dry_run=dry_run)
    with pytest.raises(InvalidDocument, match=r"nope'$"):
        index.sync([docs, tmp_path / "nope"], dry_run=dry_run)


@pytest.mark.parametrize("method", ["add", "sync"])
def test_a_pattern_that_matches_no_file_is_a_warning(index: Index, docs: Path, method: str):
    with pytest.warns(RuntimeWarning, match=r"no file of a known kind \(.*\) in '.*docs' matches glob=\('\*\.rst',\)$"):
        getattr(index, method)(Files(docs, glob="*.rst"))
    with pytest.warns(RuntimeWarning, match=r"matches glob=\('\*\.md',\), without exclude=\('a\.\*',\)$"):
        getattr(index, method)(Files(docs, glob="*.md", exclude="a.*"))
    getattr(index, method)(Files(docs, glob="*.md"))
    getattr(index, method)(Files(docs / "a.md", glob="*.rst"))  # a file that is named is read


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_empty_folder_deletes_nothing_unless_it_is_allowed(index: Index, docs: Path, tmp_path: Path, dry_run: bool):
    more = tmp_path / "more"
    shutil.copytree(docs, more)
    index.sync([docs, more])
    shutil.rmtree(docs)
    before = contents(index)
    with pytest.raises(InvalidDocument, match=r"there is no file or folder '.*docs'; .* pass allow_empty=True"):
        index.sync([more, docs], dry_run=dry_run)
    docs.mkdir()
    message = r"there are no documents in '.*docs', so 2 would be deleted; if that is meant, say allow_empty=True"
    with pytest.raises(EmptySource, match=message):
        index.sync([more, docs], dry_run=dry_run)
    assert contents(index) == before
    docs.rmdir()
    result = index.sync([more, docs], allow_empty=True, dry_run=dry_run)
    assert result.deleted == ("docs/a.md", "docs/deep/b.txt")
    assert index.count() == (4 if dry_run else 2)


def test_an_empty_folder_that_the_index_has_nothing_of_is_no_error(index: Index, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    assert index.sync(tmp_path / "empty") == synced()


def test_a_source_that_fails_in_the_middle_deletes_nothing(index: Index):
    index.add([Document("old", "Old."), Document("kept", "Kept.")])

    def failing() -> Iterator[Document]:
        yield Document("kept", "Kept.")
        raise ConnectionError("the line is cut")

    with pytest.raises(ConnectionError, match="the line is cut"):
        index.sync(failing(), within="everything")
    assert [document.id for document in index.documents()] == ["kept", "old"]


def test_what_was_replaced_meanwhile_is_not_deleted(index: Index, docs: Path, monkeypatch):
    index.sync(docs)
    (docs / "a.md").unlink()
    forget = Index._forget

    def overtaken(view: Index, ids: Any) -> Any:
        monkeypatch.undo()
        view.add(Document("docs/a.md", "Another process was faster."))
        return forget(view, ids)

    monkeypatch.setattr(Index, "_forget", overtaken)
    assert index.sync(docs).deleted == ()
    assert index.get("docs/a.md").text == "Another process was faster."


# documents


def crm(id_: str, text: str = "A customer.") -> Document:
    return Document(id_, text, metadata={"system": "crm"})


def test_documents_within_a_filter_are_all_that_there_are_of_it(index: Index):
    index.add([crm("a"), crm("b"), Document("c", "Of no system."), Document("d", "Wiki.", metadata={"system": "wiki"})])
    result = index.sync([crm("a", "Changed."), crm("e")], within=F("system") == "crm")
    assert result == synced(added=["e"], replaced=["a"], deleted=["b"])
    assert index.sync(iter([crm("a", "Changed.")]), within={"system": "crm"}).deleted == ("e",)
    assert [document.id for document in index.documents()] == ["a", "c", "d"]
    assert index.sync([crm("a", "Changed.")], within="everything").deleted == ("c", "d")


def test_a_document_that_does_not_match_what_is_covered_is_refused_before_anything_is_deleted(index: Index):
    index.add([crm("a")])
    with pytest.raises(InvalidDocument, match=r"document 'w' must match within, .* got metadata {'system': 'wiki'}"):
        index.sync([Document("w", "Wiki.", metadata={"system": "wiki"})], within=F("system") == "crm")
    assert [document.id for document in index.documents()] == ["a"]


def test_with_a_source_key_only_sources_that_appear_are_covered(index: Index):
    def chunk(source: str, number: int) -> LangChainDocument:
        return LangChainDocument(id=f"{source}-{number}", page_content=f"Chunk {number}.", metadata={"source": source})

    index.add([chunk(source, number) for source in ("a.md", "b.md") for number in range(3)] + [Document("none", "None.")])
    result = index.sync([chunk("a.md", 0), chunk("a.md", 7)], source_key="source")
    assert result == synced(added=["a.md-7"], unchanged=["a.md-0"], deleted=["a.md-1", "a.md-2"])
    assert index.sync([], source_key="source") == synced()
    assert index.count() == 6
    with pytest.raises(
        InvalidDocument, match="must have a string or a whole number under the source_key 'source', got None"
    ):
        index.sync([Document("x", "X.")], source_key="source")


def test_documents_that_are_none_delete_nothing_unless_it_is_allowed(index: Index):
    index.add([crm("a"), Document("b", "B.")])
    with pytest.raises(EmptySource, match="there are no documents in the source, so 1 would be deleted"):
        index.sync([], within=F("system") == "crm")
    assert index.sync([], within=F("system") == "crm", allow_empty=True) == synced(deleted=["a"])


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ([], {}, "a sync of documents must say what they cover"),
        ([crm("a")], {"within": "everything", "source_key": "x"}, "must say what they cover: give either within"),
        ([crm("a")], {"within": "all"}, "within must be a filter|filter"),
        ([crm("a")], {"within": F("system").not_in([])}, "within must be a filter with a condition, or 'everything'"),
        ([crm("a")], {"source_key": 3}, "source_key must be a string, got 3"),
        (Path(), {"within": F("system") == "crm"}, "files already say what they cover"),
        ([Path()], {"source_key": "source"}, "files already say what they cover"),
        ([crm("a")], {"within": "everything", "dry_run": "yes"}, "dry_run must be True or False"),
        ([crm("a")], {"within": "everything", "allow_empty": 1}, "allow_empty must be True or False"),
    ],
)
def test_a_source_must_say_what_it_covers(index: Index, source: Any, options: dict[str, Any], message: str):
    index.add(crm("kept"))
    with pytest.raises(InvalidArgument, match=message):
        index.sync(source, **options)
    assert index.count() == 1


# views, trees, clients, earlier versions


def test_a_tenants_sync_touches_only_the_tenants_documents(index: Index, docs: Path):
    index.add(Document("shared", "Of everybody."))
    a, b = (index.scoped(F("tenant") == name) for name in "ab")
    assert a.sync(docs).added == b.sync(docs).added == ("docs/a.md", "docs/deep/b.txt")
    of_b = contents(b)
    (docs / "a.md").write_text("Changed.")
    (docs / "deep" / "b.txt").unlink()
    assert a.sync(docs) == synced(replaced=["docs/a.md"], deleted=["docs/deep/b.txt"])
    assert a.sync([Document("only", "Only.")], within="everything") == synced(added=["only"], deleted=["docs/a.md"])
    assert contents(b) == of_b
    assert index.get("shared").text == "Of everybody."
    assert (
        a.sync([Document("x", "X.", metadata={"kind": "k"})], within=(F("tenant") == "a") & (F("kind") == "k")).deleted
        == ()
    )


def test_the_trees_of_deleted_documents_are_forgotten(index: Index, docs: Path):
    (docs / "long.txt").write_text(" ".join(f"The hill lies in valley {n} of the north, as it is said." for n in range(12)))
    index.sync(docs)
    index.build_tree()
    assert index.summaries("docs/long.txt")
    (docs / "long.txt").unlink()
    index.sync(docs)
    trees = index.client.get_collection("kb.tree.leaves", embedding_function=None).get()
    assert [id_ for id_ in trees["ids"] if "long" in id_] == []


def test_behind_a_client_ids_are_absolute_paths_or_relative_to_a_root(docs: Path, tmp_path: Path):
    client = chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
    index = Index.open(client=client, name=f"sync-{os.getpid()}", embedder=EMBEDDER, splitter=SPLITTER)
    try:
        paths = tuple((docs / name).as_posix() for name in ("a.md", "deep/b.txt"))
        assert index.sync(docs).added == paths
        (docs / "a.md").unlink()
        assert index.sync(docs).deleted == paths[:1]
        assert index.delete(paths) == [paths[1]]
        rooted = Files(docs, root=tmp_path)
        assert index.sync(rooted).added == ("docs/deep/b.txt",)
        (docs / "deep" / "b.txt").rename(docs / "c.txt")
        assert index.sync(rooted) == synced(added=["docs/c.txt"], deleted=["docs/deep/b.txt"])
    finally:
        client.delete_collection(f"sync-{os.getpid()}.leaves")
        client.delete_collection(f"sync-{os.getpid()}.manifest")


# deleting by a filter


def test_documents_that_match_a_filter_are_deleted(index: Index):
    index.add([Document(str(year), f"In {year}.", metadata={"year": year}) for year in (2018, 2019, 2020)])
    index.add(Document("none", "No year."))
    assert index.delete(where=F("year") < 2020, dry_run=True) == ["2018", "2019"]
    assert index.count() == 4
    assert index.delete(where={"year": {"$lt": 2020}}) == ["2018", "2019"]
    assert index.delete(where=F("year") < 2020) == []
    assert [document.id for document in index.documents()] == ["2020", "none"]
    assert index.delete(["2020", "2020", "nobody"], dry_run=True) == ["2020"]


async def test_deleting_by_a_filter_has_a_twin(index: Index):
    index.add(crm("a"))
    assert await index.adelete(where=F("system") == "crm") == ["a"]


def test_in_a_scoped_view_a_filter_deletes_only_what_the_view_shows(index: Index):
    a, b = (index.scoped(F("tenant") == name) for name in "ab")
    for view in (a, b):
        view.add([Document("x", "X.", metadata={"year": 1}), Document("y", "Y.", metadata={"year": 2})])
    assert a.delete(where=F("year") == 1) == ["x"]
    assert [document.id for document in a.documents()] == ["y"]
    assert [document.id for document in b.documents()] == ["x", "y"]


@pytest.mark.parametrize("where", [{}, F("year").not_in([])])
def test_a_filter_without_a_condition_deletes_nothing(index: Index, where: object):
    index.add(crm("a"))
    with pytest.raises(InvalidArgument, match="where must have a condition that says what to delete"):
        index.delete(where=where)
    with pytest.raises(InvalidArgument, match="give either ids or where"):
        index.delete(["a"], where=F("year") == 1)
    assert index.count() == 1


# laws


NAMES = ["a.md", "b.txt", "deep/a.md", "deep/er/c.rst", "d.jsonl", "e.html", ".hidden.md", "photo.gif"]
TEXTS = [
    "",
    "One.",
    "# Two\n\nIn two.",
    '{"text": "Three.", "n": 3}\n{"text": "Four."}',
    "<h1>Five</h1><p>Five.</p>",
    b"\xff",
]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
        st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("sync"), st.none(), st.none()),
        st.tuples(st.just("dry run"), st.none(), st.none()),
    ),
    max_size=12,
)


def write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


@given(steps)
@examples(25, fast=2)
@example([("write", "a.md", "One."), ("sync", None, None), ("write", "a.md", b"\xff"), ("remove", "a.md", None)])
def test_after_any_changes_a_sync_gives_what_a_fresh_index_has_and_nothing_else_is_touched(changes: list[Any]):
    others = [Document("docs/x.md", "By hand."), Document("y", "Y.", "Y", {"source": "docs/y.md"})]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        docs = folder / "docs"
        write(docs / "always.md", "So that it is never empty.")
        write(folder / "beside" / "a.md", "Another folder.")
        with opened(folder) as index:
            index.add(others)
            index.sync(folder / "beside")
            beside = contents(index)
            for what, path, content in [*changes, ("settle", None, None), ("sync", None, None)]:
                if what == "write":
                    write(docs / path, content)
                elif what == "remove":
                    (docs / path).unlink(missing_ok=True)
                elif what == "settle":  # what cannot be read would keep what it was before
                    for unreadable in docs.rglob("*"):
                        if unreadable.is_file() and not readable(unreadable):
                            unreadable.unlink()
                else:
                    planned = index.sync(docs, dry_run=True)
                    if what == "sync":
                        assert index.sync(docs) == planned
            again = index.sync(docs)
            assert again == replace(synced(unchanged=again.unchanged), left_out=again.left_out)
            of_docs = [document for document in contents(index) if document not in beside]
            assert [document for document in contents(index) if document in beside] == beside
        shutil.rmtree(folder / "kb")
        with opened(folder) as fresh:
            fresh.add(docs)
            assert contents(fresh) == of_docs


def readable(file: Path) -> bool:
    content = file.read_bytes()
    is_lines = all(line.startswith(b"{") for line in content.splitlines())
    return (content != b"\xff" and (file.suffix != ".jsonl" or is_lines)) or file.suffix not in _formats.SUFFIXES


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["1", "2"]), st.sampled_from("xy")), max_size=8),
    st.data(),
)
@examples(15, fast=5)
def test_a_sync_of_documents_leaves_exactly_them_of_what_they_cover(
    existing: list[tuple[str, str, str]], data: st.DataObject
):
    def documents(chosen: list[tuple[str, str, str]]) -> list[Document]:
        return list({id_: Document(id_, text, metadata={"team": team}) for id_, text, team in chosen}.values())

    ids = st.tuples(st.sampled_from("abcdef"), st.sampled_from(["1", "2"]), st.just("x"))
    wanted = documents(data.draw(st.lists(ids, min_size=1, max_size=5)))
    with tempfile.TemporaryDirectory() as name, opened(Path(name)) as index:
        index.add(documents(existing))
        kept = [each for each in contents(index) if each.metadata["team"] == "y"]
        if {each.id for each in kept} & {each.id for each in wanted}:
            before = contents(index)
            with pytest.raises(InvalidDocument, match="outside of what the source covers, and would be replaced"):
                index.sync(wanted, within=F("team") == "x")
            assert contents(index) == before
            return
        index.sync(wanted, within=F("team") == "x")
        assert contents(index) == sorted([*kept, *wanted], key=lambda document: document.id)


def test_a_document_that_was_not_read_from_a_file_is_never_deleted_or_replaced_by_one(index: Index, docs: Path):
    loaded = Document("docs/gone.md", "From a loader.", "A title", {"source": "docs/gone.md"})
    index.add(loaded)
    assert index.sync(docs).deleted == ()
    assert index.get("docs/gone.md") == loaded
    index.add(Document("docs/new.md", "Made by hand."))
    (docs / "new.md").write_text("A file of that name.")
    with pytest.raises(InvalidDocument, match=r"of the file 'docs/new\.md' would replace a document that is of no file"):
        index.sync(docs)
    assert index.get("docs/new.md").text == "Made by hand."


def test_a_line_of_json_never_takes_the_id_of_another_file(index: Index, docs: Path):
    for name in ("one", "two"):
        (docs / f"{name}.jsonl").write_text(json.dumps({"id": "x", "text": f"Of {name}."}) + "\n")
    index.sync(Files(docs / "one.jsonl", id_field="id"))
    with pytest.raises(InvalidDocument, match=r"'docs/two\.jsonl' would replace a document of the file 'docs/one\.jsonl'"):
        index.sync(Files(docs / "two.jsonl", id_field="id"))
    assert index.get("x").text == "Of one."


def test_what_a_dry_run_returns_can_be_compared(index: Index, docs: Path):
    planned = index.sync(docs, dry_run=True)
    assert planned == index.sync(docs)
    assert replace(planned, added=(), unchanged=planned.added) == index.sync(docs)


def test_documents_that_are_new_since_their_folder_was_renamed_are_reported(tmp_path: Path):
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "bees.md").write_text("# Bees\n\nBees dance.")
    (notes / "deep" / "tea.txt").write_text("Tea is hot.")
    (notes / "empty.txt").write_text(" ")
    with opened(tmp_path) as index:
        index.sync(notes)
        index.add(Document("of no file/bees.md", "# Bees\n\nBees dance.", "Bees"))
        renamed = notes.rename(tmp_path / "letters")
        (renamed / "new.txt").write_text("Not there before.")
        pairs = (("letters/bees.md", "notes/bees.md"), ("letters/deep/tea.txt", "notes/deep/tea.txt"))
        message = r"2 new documents have the same texts as .* such as 'letters/bees.md' and 'notes/bees.md'; .*allow_empty"
        for dry_run in (True, False):
            with pytest.warns(RuntimeWarning, match=message):
                done = index.sync(renamed, dry_run=dry_run)
            assert (len(done.added), done.moved) == (4, pairs)
        assert index.sync(renamed).moved == ()  # once is enough: they are there
        assert index.sync(notes, allow_empty=True).deleted == ("notes/bees.md", "notes/deep/tea.txt", "notes/empty.txt")


def test_a_new_document_counts_once_however_often_its_text_is_there(tmp_path: Path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "bees.md").write_text("# Bees\n\nBees dance.")
    with opened(tmp_path) as index:
        index.sync(tmp_path / "one")
        (tmp_path / "one").rename(tmp_path / "two")
        with pytest.warns(RuntimeWarning, match="^1 new document "):
            index.sync(tmp_path / "two")
        (tmp_path / "two").rename(tmp_path / "three")
        with pytest.warns(RuntimeWarning, match="^1 new document "):
            done = index.sync(tmp_path / "three")
        assert sorted(done.moved) == [("three/bees.md", "one/bees.md"), ("three/bees.md", "two/bees.md")]


def test_equal_files_that_both_exist_and_files_that_moved_within_a_source_are_not_reported(tmp_path: Path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "licence.txt").write_text("All rights reserved.")
    with opened(tmp_path) as index:
        assert index.sync(tmp_path / "one").moved == index.sync(tmp_path / "two").moved == ()
        (tmp_path / "one" / "deep").mkdir()
        (tmp_path / "one" / "licence.txt").rename(tmp_path / "one" / "deep" / "licence.txt")
        done = index.sync(tmp_path / "one")
        assert (done.added, done.deleted, done.moved) == (("one/deep/licence.txt",), ("one/licence.txt",), ())


def test_a_view_tells_of_moved_documents_of_its_own_only(tmp_path: Path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "bees.md").write_text("# Bees\n\nBees dance.")
    with opened(tmp_path) as index:
        ann, ben = (index.scoped(F("tenant") == name) for name in ("ann", "ben"))
        ann.sync(notes)
        renamed = notes.rename(tmp_path / "letters")
        assert ben.sync(renamed).moved == ()
        with pytest.warns(RuntimeWarning, match="1 new document has the same text as a document whose file is"):
            assert ann.sync(renamed).moved == (("letters/bees.md", "notes/bees.md"),)


def test_a_pattern_whose_files_were_all_read_before_matches_some(index: Index, tmp_path: Path):
    """Two sources with the same files are no reason to warn, and each file is read once."""
    (tmp_path / "twice.md").write_text("Read once.")
    twice = Files(tmp_path, glob="twice.*")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(index.add([twice, twice]).added) == 1


def test_a_file_of_another_tenant_is_skipped_and_stops_nothing(index: Index, tmp_path: Path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "good.md").write_text("Tea.")
    (folder / "odd.md").write_text("---\ntenant: b\n---\nBees.")
    a, b = (index.scoped(F("tenant") == name) for name in "ab")
    synced = a.sync(folder)
    assert [each.rpartition("/")[2] for each in synced.added] == ["good.md"]
    (skipped,) = synced.skipped
    assert skipped.path.endswith("odd.md")
    assert "must match the filter of this view" in skipped.reason
    assert b.documents() == []
    added = a.add(folder)  # a path, so files are skipped there, too
    assert (added.unchanged, len(added.skipped)) == (1, 1)
    (folder / "good.md").write_text("---\ntenant: b\n---\nTea.")  # the file no longer fits: what is stored stays
    assert len(a.sync(folder).skipped) == 2
    assert [each.id for each in a.documents()] == list(synced.added)
