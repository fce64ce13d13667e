"""When reading starts again, and what is left out instead, over collections in memory."""

from __future__ import annotations

from math import sqrt

import pytest

from leafspan import DamagedIndex
from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import pack_place
from leafspan.engines import StaleRead
from leafspan.errors import ConcurrentUpdate
from leafspan.flows import run
from leafspan.store import Catalogue, DamageFound, Reader, ReadHistory, Row, read_consistently
from leafspan.store._damage import pack_checksums
from leafspan.store._manifest import CHANGES_ID, unpack_rows
from leafspan.values import Ancestor, Leaf, LeafId
from tests.store.columns import columns, token_columns
from tests.store.memory import Records

OLD, NEW = "0ld0ld00", "0new0new"


class Index:
    """Two collections, and a reader of them that has or has not a catalogue in memory."""

    def __init__(self, **versions: str) -> None:
        self.leaves, self.manifest = Records("leaves"), Records("manifest")
        self.history = ReadHistory()
        self.changed = True
        for document_id, version in versions.items():
            self.write(document_id, version)

    def write(self, document_id: str, version: str, leaves: int = 2) -> None:
        """Make this version current, and leave the leaves of others where they are."""
        texts = [f"{document_id} {version} {ordinal}" for ordinal in range(leaves)]
        length = len(texts[0])
        end, words = leaves * length, leaves * 3
        whole = Ancestor(0, leaves - 1, leaves, 0, end, words)
        places = [
            pack_place(Leaf(document_id, version, ordinal, ordinal * length, (ordinal + 1) * length, 3, (whole,)))
            for ordinal in range(leaves)
        ]
        checksums = pack_checksums(zip(texts, places, strict=True))
        row = Row(document_id, "hash", version, leaves, characters=end, words=words, checksums=checksums)
        self.manifest.upsert(ids=[document_id], **columns([row]))
        for ordinal, text in enumerate(texts):
            self.leaves.add(
                ids=[f"{document_id}#{version}#{ordinal}"],
                documents=[text],
                metadatas=[{STRUCTURE_KEY: places[ordinal], "kept": True}],
                embeddings=[[float(ordinal), 1.0]],
            )

    def reader(self, known: Catalogue | None = None) -> Reader:
        return Reader(self.leaves.collection, self.manifest.collection, State(self, known), self.history)

    def catalogue(self) -> Catalogue:
        return run(self.reader().everything())


class State:
    """The state of an index, whose catalogue may be known."""

    def __init__(self, index: Index, catalogue: Catalogue | None) -> None:
        self.index, self.catalogue, self.last_token = index, catalogue, None

    @property
    def has_changed(self) -> bool:
        return self.index.changed

    def load(self):
        return Catalogue(unpack_rows((yield from self.index.manifest.collection.scan(["metadata"]))))

    def is_behind(self, catalogue: Catalogue):
        yield from ()
        return False


IDS = [f"a#{OLD}#0", f"a#{OLD}#1"]
LEAVES = [LeafId.parse(id_) for id_ in IDS]


def test_what_is_there_is_read():
    index = Index(a=OLD)
    assert run(index.reader().fetch(LEAVES)) == {LEAVES[0]: f"a {OLD} 0", LEAVES[1]: f"a {OLD} 1"}
    assert run(index.reader().fetch([LEAVES[0], LEAVES[0]])) == {LEAVES[0]: f"a {OLD} 0"}  # each once
    assert run(index.reader().fetch_vectors(IDS)) == {IDS[0]: [0.0, 1.0], IDS[1]: [1.0, 1.0]}
    assert run(index.reader().fetch_vectors([IDS[0], IDS[0]])) == {IDS[0]: [0.0, 1.0]}
    stored = run(index.reader().fetch_leaves(LEAVES))
    assert [(each.leaf.ordinal, each.text, each.metadata, each.score) for each in stored.values()] == [
        (0, f"a {OLD} 0", {"kept": True}, 0.0),
        (1, f"a {OLD} 1", {"kept": True}, 0.0),
    ]


@pytest.mark.parametrize("ids", [IDS, [IDS[1]]], ids=["one of two", "one of one"])
def test_reading_starts_again_where_a_text_or_a_vector_is_gone(ids):
    index = Index(a=OLD)
    index.leaves.delete(ids=[IDS[1]])
    with pytest.raises(StaleRead):
        run(index.reader().fetch(list(map(LeafId.parse, ids))))
    with pytest.raises(StaleRead):
        run(index.reader().fetch_vectors(ids))


@pytest.mark.parametrize("changed", [True, False])
def test_reading_starts_again_where_a_text_or_a_vector_is_gone_with_its_version(changed):
    index = Index(a=OLD)
    index.write("a", NEW)
    index.leaves.delete(ids=IDS)
    index.changed = changed  # the version is not damaged, since it is not current
    with pytest.raises(StaleRead):
        run(index.reader().fetch(LEAVES))
    with pytest.raises(StaleRead):
        run(index.reader().fetch_vectors(IDS))


def test_reading_starts_again_where_a_leaf_without_a_text_was_deleted():
    index = Index(a=OLD)
    index.leaves.records[IDS[1]]["documents"] = None  # as an embedded Chroma shows what another process has deleted
    with pytest.raises(StaleRead):
        run(index.reader().fetch(LEAVES))


def test_a_current_leaf_without_a_text_is_not_left_out_but_an_error_unless_it_may_just_have_been_deleted():
    index = Index(a=OLD)
    index.leaves.records[IDS[1]]["documents"] = None
    for read, ids in ((Reader.fetch_leaves, LEAVES), (Reader.fetch_records, IDS)):
        index.changed = True
        with pytest.raises(StaleRead):
            run(read(index.reader(), ids))
        index.changed = False
        with pytest.raises(DamagedIndex, match=r"^document 'a' is damaged: the text of its leaf 1 is missing"):
            run(read(index.reader(), ids))


@pytest.mark.parametrize("in_memory", [False, True], ids=["asked", "known"])
def test_a_leaf_that_is_not_current_is_doubted_once_and_left_out_from_then_on(in_memory):
    index = Index(a=OLD, b=OLD)
    index.write("a", NEW)
    ids = [*IDS, f"a#{NEW}#0", f"b#{OLD}#1"]
    known = index.catalogue() if in_memory else None
    with pytest.raises(StaleRead):
        run(index.reader(known).fetch_records(ids))
    assert index.history == {("a", OLD)}
    assert list(run(index.reader(known).fetch_records(ids))) == [f"a#{NEW}#0", f"b#{OLD}#1"]


def test_where_nothing_has_changed_a_leaf_that_is_not_current_was_left_by_a_killed_writer():
    index = Index(a=OLD)
    index.write("a", NEW)
    index.changed = False
    assert list(run(index.reader().fetch_records([*IDS, f"a#{NEW}#0"]))) == [f"a#{NEW}#0"]
    assert index.history == set()


def test_reading_starts_again_where_the_catalogue_is_behind_what_is_met():
    index = Index(a=OLD)
    known = index.catalogue()
    index.write("a", NEW)
    index.history.add(("a", NEW))  # met before, when it was not current yet
    with pytest.raises(StaleRead):
        run(index.reader(known).fetch_records([f"a#{NEW}#0"]))
    # But not where the manifest says no other than the catalogue.
    index.history.add(("a", OLD))
    assert list(run(index.reader(index.catalogue()).fetch_records([*IDS, f"a#{NEW}#0"]))) == [f"a#{NEW}#0"]


def test_a_leaf_that_a_host_has_is_doubted_once():
    index = Index(a=OLD)
    reader = index.reader()
    with pytest.raises(StaleRead):
        reader.suspect(LeafId("a", NEW, 0))
    reader.suspect(LeafId("a", NEW, 1))  # of the same version
    with pytest.raises(StaleRead):
        reader.suspect(LeafId("b", NEW, 0))


def test_where_the_nearest_leaves_are_not_current_more_are_asked_for():
    """Leaf n has the vector (n, 1), so that the last leaf of each version is nearest to (1, 0)."""
    index = Index(a=OLD)
    index.write("a", NEW, leaves=9)
    index.write("a", OLD)  # current again: of ten leaves at its angle or a smaller one, one is current
    index.changed = False
    for search in (Reader.search, Reader.search_hits):
        [found] = run(search(index.reader(), [[1.0, 0.0]], 2)).rows
        assert [str(each.id) for each in found] == IDS[::-1]
        assert [each.score for each in found] == [pytest.approx(sqrt(0.5)), 0.0]


def test_a_version_that_became_current_meanwhile_is_searched_twice():
    """The query may have found some of its leaves before the others were there."""
    index = Index(a=OLD)
    reader = index.reader()
    token(index, "1")
    with pytest.raises(StaleRead):
        run(reader.search_hits([[1.0, 0.0]], 2))
    [found] = run(index.reader().search_hits([[1.0, 0.0]], 2)).rows
    assert [str(hit.leaf) for hit in found] == IDS[::-1]


def token(index: Index, number: str) -> None:
    """Count a change, as a writer behind a server does."""
    index.manifest.upsert(ids=[CHANGES_ID], **token_columns(number))


def test_a_vector_of_another_length_is_named():
    index = Index(a=OLD, b=OLD)
    index.changed = False
    index.leaves.records[f"b#{OLD}#1"]["embeddings"] = [1.0, 1.0, 1.0]
    with pytest.raises(
        DamagedIndex, match=r"^document 'b' is damaged: the vector of its leaf 1 is missing, or has another"
    ):
        run(index.reader().fetch_vectors([*IDS, f"b#{OLD}#0", f"b#{OLD}#1"]))


# Starting again


class Store:
    """A store that notes how it was asked for readers."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        self.stale: list[set[tuple[str, str]]] = []

    def reader(self, stale, *, scope=None, again=False):
        self.asked.append(again)
        self.stale.append(stale)
        return self
        yield


def failing(times: int, error: type[Exception] = StaleRead):
    """A read that fails so often, and says when it does not."""
    tries = []

    def read(reader):
        tries.append(reader)
        if len(tries) <= times:
            raise error
        return len(tries)
        yield

    return read


@pytest.mark.parametrize("failures", [0, 1, 9])
def test_reading_starts_again_until_nothing_changes_meanwhile(failures):
    store = Store()
    assert run(read_consistently(store, failing(failures))) == failures + 1
    assert store.asked == [False] + [True] * failures  # a reader that reads again does not trust a catalogue in memory
    assert all(each is store.stale[0] for each in store.stale)  # what was doubted once is known the next time


def test_reading_gives_up_after_ten_attempts():
    store = Store()
    with pytest.raises(ConcurrentUpdate, match="documents were replaced or deleted during each of 10 attempts"):
        run(read_consistently(store, failing(10)))
    assert len(store.asked) == 10


def test_damaged_documents_that_are_left_out_are_no_attempts_however_many_are_met():
    assert run(read_consistently(Store(), failing(11, DamageFound))) == 12


def test_another_error_ends_reading_at_once():
    store = Store()
    with pytest.raises(KeyError):
        run(read_consistently(store, failing(1, KeyError)))
    assert len(store.asked) == 1
