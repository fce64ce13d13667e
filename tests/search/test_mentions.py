"""The documents that leaves mention, within a view."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from leafspan import Document, F, HierarchicalSplitter, Hybrid, Index, View
from leafspan.strategies import FindMentions, ListLeaves, Load, Mention, Query, RetrievalContext, Strategy

FILLER = [
    Document(f"filler{number}", f"Grey water and plain notes number {number}.", f"Page {number}") for number in range(30)
]


class Looking(Strategy):
    """Looks through all leaves of the view, and finds nothing. ``found`` has what they mention."""

    found: dict[str, list[Mention]]

    def __init__(self, aliases: str | None = None) -> None:
        self.aliases = aliases

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext):
        hits = yield ListLeaves(0, 1_000, None)
        ids = tuple(hit.id for hit in hits)
        yield Load(ids)
        self.found = yield FindMentions(ids, context.where, self.aliases)
        return [[] for _ in queries]


def mentions(view: View, document_id: str, *, where=None, aliases: str | None = None) -> dict[str, Mention]:
    """What the leaves of a document mention, by the id of the document that is mentioned."""
    looking = Looking(aliases)
    view.retrieve("?", looking, where=where)
    return {each.document_id: each for id_, row in looking.found.items() if id_.document_id == document_id for each in row}


@pytest.fixture
def make(tmp_path: Path):
    """Makes an index of documents, among others that mention nothing."""
    opened = []

    def made(*documents: Document) -> Index:
        index = Index.open(tmp_path / "kb", splitter=HierarchicalSplitter(12, (40,)))
        opened.append(index)
        index.add([*FILLER, *documents])
        return index

    yield made
    for index in opened:
        index.close()


def dance(text: str, **options) -> Document:
    return Document("dance", text, "The dance", **options)


FRISCH = Document("frisch", "He was born in Vienna. He won a prize.", "Karl von Frisch")


@pytest.mark.parametrize(
    ("text", "title", "found"),
    [
        ("It was decoded by Karl von Frisch in 1923.", "Karl von Frisch", True),
        ("It was decoded by KARL VON FRISCH'S students.", "Karl von Frisch", True),
        ("It was decoded by Karl von Frischling.", "Karl von Frisch", False),
        ("Mercury is close to the sun.", "Mercury (planet)", True),
        ("Mercury (planet) is close to the sun.", "Mercury (planet)", True),
        ("See the Glossary.", "Glossary", True),
        ("A glossary is at the end.", "Glossary", False),  # a single word counts where it is written as a name
        ("We import numpy first.", "numpy", True),
        ("Plain notes say more.", "Plain", False),  # too common
        ("The Who played.", "The", False),
        ("It was in 1984 already.", "1984", False),
        ("東京都の人口は多い。", "東京", True),
        ("京都の人口は多い。", "東京", False),
    ],
)
def test_titles(make, text, title, found):
    index = make(dance(text), Document("other", "Something else.", title))
    answer = mentions(index, "dance")
    assert list(answer) == (["other"] if found else [])
    if found:
        assert answer["other"].written in (title, title.partition(" (")[0])
        assert 0.3 <= answer["other"].strength <= 1
        assert answer["other"].leaves == 1


def test_rarer_names_say_more(make):
    common = [Document(f"more{number}", "Vienna is a city.") for number in range(6)]
    index = make(dance("Karl von Frisch came from Vienna."), FRISCH, Document("vienna", "A city.", "Vienna"), *common)
    answer = mentions(index, "dance")
    assert answer["frisch"].strength > answer["vienna"].strength


def test_the_longest_name_counts(make):
    index = make(
        dance("New York City never sleeps."),
        Document("state", "A state.", "New York"),
        Document("city", "A city.", "New York City"),
    )
    assert list(mentions(index, "dance")) == ["city"]


def test_a_document_does_not_mention_itself(make):
    index = make(Document("frisch", "Karl von Frisch was born in Vienna.", "Karl von Frisch"))
    assert mentions(index, "frisch") == {}


def test_documents_that_share_a_title_are_all_meant_unless_they_are_very_many(make):
    twins = [Document(f"t{number}", "Text.", "Karl von Frisch") for number in range(9)]
    index = make(dance("Karl von Frisch decoded it."), *twins[:8])
    assert sorted(mentions(index, "dance")) == [f"t{number}" for number in range(8)]
    index.add(twins[8])
    assert mentions(index, "dance") == {}


def test_aliases_stand_under_a_key(make):
    known = Document("frisch", "Born in Vienna.", "Karl Ritter von Frisch", {"also": ["Frisch", "the bee man"]})
    index = make(dance("They called him the bee man."), known)
    assert mentions(index, "dance") == mentions(index, "dance", aliases="aliases") == {}
    assert mentions(index, "dance", aliases="also")["frisch"].written == "the bee man"


def test_what_does_not_match_the_filter_gets_nothing(make):
    index = make(dance("Karl von Frisch decoded it.", metadata={"topic": "bees"}), FRISCH)
    assert list(mentions(index, "dance")) == ["frisch"]
    assert mentions(index, "dance", where=F("topic") == "bees") == {}
    assert list(mentions(index, "dance", where=~(F("topic") == "tea"))) == ["frisch"]


def test_changes_are_seen(make):
    index = make(dance("Karl von Frisch decoded it, says Martin Lindauer."), FRISCH)
    assert list(mentions(index, "dance")) == ["frisch"]
    index.add(Document("lindauer", "A student.", "Martin Lindauer"))
    assert sorted(mentions(index, "dance")) == ["frisch", "lindauer"]
    before = mentions(index, "dance")["frisch"].version
    index.add(Document("frisch", "Another text.", "Karl von Frisch"))
    assert mentions(index, "dance")["frisch"].version != before
    index.add(Document("frisch", "Another text.", "K. v. F."))
    assert list(mentions(index, "dance")) == ["lindauer"]
    index.delete(["lindauer"])
    assert mentions(index, "dance") == {}


def test_no_view_sees_the_names_of_others(make):
    index = make()
    ours, theirs = (index.scoped(F("tenant") == name) for name in "ab")
    for view in (ours, theirs):
        view.add([dance("Karl von Frisch decoded it."), *FILLER])
    theirs.add([FRISCH, *(Document(f"t{number}", "Text.", "Karl von Frisch") for number in range(3))])
    assert mentions(ours, "dance") == {}
    assert sorted(mentions(theirs, "dance")) == ["frisch", "t0", "t1", "t2"]
    ours.add(FRISCH)
    assert list(mentions(ours, "dance")) == ["frisch"]  # under the id that the view shows
    # Nor do others make a name ambiguous, or its words common.
    strength = mentions(ours, "dance")["frisch"].strength
    theirs.add([Document(f"u{number}", "Karl von Frisch.", "Karl von Frisch") for number in range(20)])
    assert mentions(ours, "dance")["frisch"].strength == strength
    assert mentions(theirs, "dance") == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Read [the storage page](../storage.md#writing) next.", ["docs/storage.md"]),
        ("Read [the storage page](../storage) next.", ["docs/storage.md"]),
        ("Read [it](storage.md).", ["docs/guide/storage.md"]),
        ("Read [it](/docs/storage.md).", ["docs/storage.md"]),
        ("It is in docs/storage.md.", ["docs/storage.md"]),
        ("It is in storage.md, says Karl.", ["docs/guide/storage.md"]),
        ("It is in `setup.cfg`.", ["kb/setup.cfg"]),
        ("It is in setup.py.", []),
        ("See [[How it is stored|there]].", ["docs/storage.md"]),
        ("See [[setup]].", ["kb/setup.cfg"]),
        ('<a href="https://example.org/a/">there</a>', ["7"]),
        ("See https://example.org/a.", ["7"]),
        ("See https://example.org/b.", []),
        ("See [here](#below) or [me](start.md).", []),
    ],
)
def test_links_and_paths(make, text, found):
    index = make(
        Document("docs/guide/start.md", text, "Start"),
        Document("docs/storage.md", "Text.", "How it is stored"),
        Document("docs/guide/storage.md", "Text.", "How it is kept"),
        Document("kb/setup.cfg", "Text."),
        Document("7", "Text.", metadata={"source": "https://example.org/a"}),
    )
    answer = mentions(index, "docs/guide/start.md")
    assert list(answer) == found
    assert all(each.strength == 1 for each in answer.values())


def test_no_name_is_rare_where_the_analyzer_is_not_known(tmp_path: Path):
    """A search by vectors alone still works there, and links lead to what they name."""

    def analyzer(text: str) -> list[str]:
        return text.lower().split()

    documents = [
        Document("a.md", "See Vienna Woods, and [this](b.md).", "Bees"),
        Document("b.md", "Hills.", "Vienna Woods"),
    ]
    with Index.open(tmp_path / "kb", analyzer=analyzer) as index:
        index.add([*documents, Document("c.md", "More of Vienna Woods.", "Trees"), *FILLER])
    with Index.open(tmp_path / "kb") as index:
        assert mentions(index, "c.md") == {}
        assert set(mentions(index, "a.md")) == {"b.md"}
        assert index.retrieve([1.0] * 256, Hybrid())
