"""The table of names, compared with a scan of all names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leafspan.search._name_table import MOST_NAMESAKES, NamedDocument, Names, NameTable

WORDS = st.sampled_from(["a", "b", "c", "ab"])
KEYS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
CALLED = st.dictionaries(st.sampled_from("uvwxyz"), st.sets(KEYS, max_size=3))
TEXTS = st.lists(st.one_of(WORDS, st.just("")), max_size=12)


def table_of(called) -> NameTable:
    return NameTable(NamedDocument(id_, names, [f"/{id_}"]) for id_, names in called.items())


def scanned(called, words) -> dict[int, list[str]]:
    """The places of names in the words, longest first, by looking for each."""
    keys = {key for names in called.values() for key in names}
    found = {}
    for start in range(len(words)):
        here = {key for key in keys if words[start : start + key.count(" ") + 1] == key.split(" ")}
        if here:
            found[start] = sorted(here, key=len, reverse=True)
    return found


def found_in(names: Names, words) -> dict[int, list[str]]:
    """What is found, without names that no document has: a table knows how names begin, and how long they are."""
    kept = {start: [key for key in keys if names.called(key)] for start, keys in names.find(words)}
    return {start: sorted(keys, key=len, reverse=True) for start, keys in kept.items() if keys}


@given(CALLED, TEXTS)
def test_the_same_names_are_found_as_by_a_scan(called, words):
    assert found_in(Names(table_of(called)), words) == scanned(called, words)


@given(CALLED, CALLED, TEXTS)
def test_a_table_with_changes_is_like_a_new_one(before, after, words):
    changed = {id_: names for id_, names in after.items() if before.get(id_) != names}
    outdated = [id_ for id_, names in before.items() if after.get(id_) != names]
    updated = Names(table_of(before), outdated, table_of(changed))
    fresh = Names(table_of(after))
    assert found_in(updated, words) == found_in(fresh, words) == scanned(after, words)
    for keys in after.values():
        for key in keys:
            assert sorted(updated.called(key)) == sorted(fresh.called(key))
    for id_ in "uvwxyz":
        assert updated.at(f"/{id_}") == fresh.at(f"/{id_}") == ([id_] if id_ in after else [])


def test_names_that_many_share_name_none_of_them():
    few = {str(number): {"untitled"} for number in range(MOST_NAMESAKES)}
    assert len(Names(table_of(few)).called("untitled")) == MOST_NAMESAKES
    one_more = Names(table_of({**few, "more": {"untitled"}}))
    assert one_more.called("untitled") == []
    assert Names(table_of({**few, "more": {"untitled"}}), ["0"]).called("untitled") == [*map(str, range(1, 8)), "more"]
    assert Names(table_of(few), changed=table_of({"more": {"untitled"}})).called("untitled") == []


def test_an_empty_table_has_nothing():
    names = Names(table_of({}))
    assert not names.has_names
    assert not names.has_places
    assert list(names.find(["a", "b"])) == []
    assert names.called("a") == names.at("/a") == []
