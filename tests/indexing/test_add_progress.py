"""The progress of ``add``: each step is counted, from the first document on."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import ChunkSplitter, Document, HierarchicalSplitter, Index
from leafspan.errors import FunctionFailed
from leafspan.flows import Progress
from tests.corpus import DOCUMENTS
from tests.profiles import examples

LONG = "\n\n".join(f"## Part {n}\n\nSentence number {n} is here. Another one follows it." for n in range(400))


class Shown(list):
    """All that is said, as (what, counts, done, total)."""

    def of(self, what: str) -> list[tuple[str, int, int | None]]:
        return [(counts, done, total) for each, counts, done, total in self if each == what]

    @property
    def steps(self) -> list[str]:
        """The steps in their order, each once."""
        return list(dict.fromkeys(each[0] for each in self))


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown = Shown()
    original = Progress.say

    def say(self, what, counts, *, done=0, total=None):
        shown.append((what, counts, done, total))
        original(self, what, counts, done=done, total=total)

    monkeypatch.setattr(Progress, "say", say)
    return shown


def test_every_step_is_shown_in_its_order(tmp_path: Path, said):
    with Index.open(tmp_path) as index:
        index.add(DOCUMENTS)
    assert said.steps == ["Reading", "Splitting", "Embedding", "Writing", "Added"]


def test_one_long_document_moves_the_bar_while_it_is_split_and_embedded(tmp_path: Path, said):
    with Index.open(tmp_path) as index:
        index.add(Document("long", LONG))
        leaves = index.stats().leaves
    assert leaves == 400
    for step, least in (("Splitting", 400), ("Embedding", leaves // 128)):
        moved = [done for _, done, _ in said.of(step)]
        assert len(set(moved)) >= least
        assert moved == sorted(moved)
    assert {total for _, _, total in said.of("Embedding")} == {3 * len(LONG)}


def test_a_text_without_headings_moves_the_bar_too(tmp_path: Path, said):
    text = "A sentence without a heading above it. " * 2_000  # 78,000 characters, in blocks of up to 5,000
    with Index.open(tmp_path) as index:
        index.add(Document("long", text))
    assert len({done for _, done, _ in said.of("Splitting")}) > 78_000 / 5_000


def test_there_is_one_number_of_leaves_from_beginning_to_end(tmp_path: Path, said):
    with Index.open(tmp_path) as index:
        index.add(DOCUMENTS)  # whose titles and headings are embedded, too
        leaves = index.stats().leaves
    assert {counts.partition("/")[2] for step in ("Embedding", "Writing") for counts, _, _ in said.of(step)} == {
        f"{leaves} leaves"
    }
    assert said.of("Embedding")[-1][0] == said.of("Writing")[-1][0] == f"{leaves}/{leaves} leaves"
    assert said.of("Added")[-1][0] == f"{leaves} leaves, 3 documents"


documents = st.lists(st.text("ab. \n#", max_size=60), max_size=12)


@examples(40, fast=5)
@given(documents, st.booleans())
def test_the_bar_ends_at_its_end_and_never_goes_back(tmp_path_factory, texts, as_list):
    added = [Document(str(number), text, "Title") for number, text in enumerate(texts)]
    characters = sum(map(len, texts))
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Progress, "say", lambda self, *_, done, total: shown.append((done, total)))
        with Index.open(tmp_path_factory.mktemp("kb"), splitter=HierarchicalSplitter(3, (6,))) as index:
            index.add(added[: len(added) // 2])
            shown.clear()
            index.add(added if as_list else iter(added))
    assert shown[-1] == (3 * characters, 3 * characters)
    assert [done for done, _ in shown] == sorted(done for done, _ in shown)


def test_documents_of_a_generator_are_counted_as_they_are_read(tmp_path: Path, said):
    with Index.open(tmp_path) as index:
        index.add(Document(f"d{n}", f"Document {n}.") for n in range(300))
    read = [counts for counts, _, _ in said.of("Reading")]
    assert read[:2] == ["1 document", "2 documents"]
    assert read[-1] == "300 documents"
    first_split = next(place for place, each in enumerate(said) if each[0] == "Splitting")
    assert said[first_split - 1][1] == "256 documents"  # further ones are read when these are split
    assert said[first_split][3] is None  # so the total is not known yet
    assert said[-1][3] == 3 * sum(len(f"Document {n}.") for n in range(300))


def test_groups_are_counted_together(tmp_path: Path, said, monkeypatch):
    with Index.open(tmp_path) as index:
        monkeypatch.setattr(index._store, "batch", 2)
        index.add([Document(f"d{n}", f"Document {n}.") for n in range(5)])
    # A group of two leaves, another one, and the last leaf. The next group is split meanwhile, so there are more and more.
    written = [counts.partition("/")[0] for counts, _, _ in said.of("Writing")]
    assert written == ["0", "2", "2", "4", "4", "5"]
    assert said.of("Writing")[-1][0] == "5/5 leaves"


def test_writing_many_leaves_takes_several_steps(tmp_path: Path, said):
    words = " ".join(map(str, range(2_500)))
    with Index.open(tmp_path, splitter=ChunkSplitter(lambda text: text.split(), "words")) as index:
        index.add(Document("a", words))
    written = ["0/2,500", "1,000/2,500", "2,000/2,500", "2,500/2,500"]
    assert [counts for counts, _, _ in said.of("Writing")] == [f"{each} leaves" for each in written]


def test_unchanged_documents_count_as_done(tmp_path: Path, said):
    with Index.open(tmp_path) as index:
        index.add(DOCUMENTS)
        said.clear()
        index.add(DOCUMENTS)
    assert said.steps == ["Reading", "Splitting", "Added"]
    assert said[-1][1] == "0 leaves, 3 documents"
    assert said[-1][2] == said[-1][3]


def test_a_splitter_that_does_not_say_how_far_it_is_counts_at_its_end(tmp_path: Path, said):
    with Index.open(tmp_path, splitter=ChunkSplitter(lambda text: text.split(), "words")) as index:
        index.add(Document("a", "one two three"))
    assert said.of("Splitting") == [("13/13 characters", 13, 39)]


def test_nothing_is_written_where_nobody_watches(tmp_path: Path, capfd):
    with Index.open(tmp_path) as index:
        index.add(DOCUMENTS)
        index.warm()
    assert capfd.readouterr() == ("", "")


def test_on_request_it_is_written_anywhere(tmp_path: Path, capsys):
    with Index.open(tmp_path) as index:
        index.add(DOCUMENTS, progress=True)
        leaves = index.stats().leaves
    written = re.split(r"[\r\n]+", capsys.readouterr().err.strip())
    assert re.fullmatch(rf"Added: 100%\|█+\| {leaves} leaves, 3 documents \[\d\d:\d\d<00:00\] *", written[-1])


async def test_asyncio_shows_the_same(tmp_path: Path, said):
    async with asyncio.timeout(60):
        index = await Index.aopen(tmp_path)
        await index.aadd(Document("long", LONG))
    assert said.steps == ["Reading", "Splitting", "Embedding", "Writing", "Added"]
    assert len({done for _, done, _ in said.of("Splitting")}) > 400


def test_a_failure_leaves_the_bar_where_it_was(tmp_path: Path, said):
    def failing(texts):
        if len(texts) > 1:
            raise ValueError("no")
        return [[1.0, 0.0]] * len(texts)

    with Index.open(tmp_path, embedder=failing, embedding_cache=False) as index, pytest.raises(FunctionFailed):
        index.add(DOCUMENTS)
    assert said.steps == ["Reading", "Splitting", "Embedding"]
    assert said[-1][1].startswith("0/")
