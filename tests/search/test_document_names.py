"""Names that are kept between questions equal the documents' present names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leafspan import F
from leafspan.search._name_table import DocumentNames
from leafspan.store import Catalogue, Row, Scope

TITLES = st.sampled_from(["Ada", "Bo (town)", "Bo", None])
IDS = [f"d{number}" for number in range(40)] + ["x.md", "docs/x.md", "y.md"]
# None for a document that is deleted. Few changes bring a table up to date, and many rebuild it.
CHANGES = st.dictionaries(st.sampled_from(IDS), st.one_of(st.none(), st.tuples(TITLES)), max_size=3)


def catalogue_of(titles) -> Catalogue:
    rows = {id_: Row(id_, "", f"{len(title or ''):08x}", 1, title=title) for id_, title in titles.items()}
    return Catalogue(
        {**rows, "deleted": Row("deleted", "", None, 0, title="Ada"), "empty": Row("empty", "", "0", 0, title="Ada")}
    )


def said_of(names) -> dict[str, list[str]]:
    keys = {key: sorted(names.called(key)) for key in ("ada", "bo", "bo town")}
    return keys | {place: sorted(names.at(place)) for place in ("/x", "x", "/y")}


@given(st.fixed_dictionaries(dict.fromkeys(IDS, TITLES)), st.lists(CHANGES, max_size=4))
def test_after_any_changes_names_equal_a_new_tables(titles, changes):
    kept = DocumentNames()
    for change in ({}, *changes):
        after = {**titles, **{id_: new[0] for id_, new in change.items() if new is not None}}
        titles = {id_: title for id_, title in after.items() if change.get(id_, ()) is not None}
        catalogue = catalogue_of(titles)
        assert said_of(kept.of(catalogue, None, None)) == said_of(DocumentNames().of(catalogue, None, None))


def test_few_changes_keep_the_table():
    titles = {f"d{number}": "Ada" for number in range(40)}
    kept = DocumentNames()
    before = kept.of(catalogue_of(titles), None, None)
    after = kept.of(catalogue_of({**titles, "new": "Bo"}), None, None)
    assert after._tables[0] is before._tables[0]
    assert after.called("bo") == ["new"]
    assert before.called("bo") == []


def test_names_are_kept_for_each_view_and_each_key_of_aliases():
    rows = {"a": Row("a", "", "0", 1, title="Ada", metadata={"also": "Lovelace"})}
    catalogue, kept = Catalogue(rows), DocumentNames()
    assert kept.of(catalogue, None, None).called("lovelace") == []
    assert kept.of(catalogue, None, "also").called("lovelace") == ["a"]
    assert kept.of(catalogue, None, None) is kept.of(catalogue, None, None)
    other = Catalogue({"b": Row("b", "", "0", 1, title="Ada")})
    assert kept.of(other, Scope(F("tenant") == "b"), None).called("ada") == ["b"]
    assert kept.of(catalogue, None, None).called("ada") == ["a"]
