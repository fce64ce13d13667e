"""The summaries that a view shows, and its roots of trees, over rows of the manifest alone."""

from __future__ import annotations

import pytest

from leafspan import F
from leafspan.store import Catalogue, Row
from leafspan.trees._records import TreeRecord
from leafspan.trees._visible_trees import TreeVisibility, VisibleTrees
from leafspan.values import LeafId

V, W, T = "00000000", "11111111", "t0000000"


def documents(**topics: str) -> Catalogue:
    """Documents of four leaves each, by topic."""
    return Catalogue({id_: Row(id_, "", V, 4, metadata={"topic": topic}) for id_, topic in topics.items()})


def tree(document_id: str, version: str = V) -> Row:
    """A tree with summaries of the leaves 0 and 1 and of 2 and 3, and one above both."""
    record = TreeRecord([1, 1, 2], [2], [], ["k1", "k2", "k3"], "s", document_version=version)
    return Row(document_id, "", T, 3, extra=record.pack())


def half_a_tree(document_id: str) -> Row:
    """A tree with a summary of the leaves 0 and 1. The others are below none."""
    return Row(document_id, "", T, 1, extra=TreeRecord([1], [0], [2, 3], ["k"], "s", document_version=V).pack())


def above(id_: str, *children: str, layer: int = 3, view: str = "") -> Row:
    """A summary of several documents."""
    record = TreeRecord([layer], [0], [], ["k"], "s", view=view, children=list(children))
    return Row(id_, "", T, 1, extra=record.pack())


def summary(document_id: str, number: int = 0) -> str:
    return str(LeafId(document_id, T, number))


def leaf(document_id: str, ordinal: int) -> str:
    return str(LeafId(document_id, V, ordinal))


def trees(shown: Catalogue, *rows: Row) -> VisibleTrees:
    return VisibleTrees({row.document_id: row for row in rows}, shown)


def roots(found: VisibleTrees, where=None) -> list[tuple[str, int]]:
    return [(str(root.id), root.layer) for root in found.roots(where)]


BOTH = documents(a="food", b="animals")


def test_a_tree_is_visible_while_the_version_it_was_built_from_is_current():
    found = trees(BOTH, tree("a"), tree("b", version=W))
    assert sorted(found.rows) == ["a"]
    assert roots(found) == [(summary("a", 2), 2), *((leaf("b", n), 0) for n in range(4))]


def test_leaves_below_no_summary_are_roots_beside_the_summaries():
    assert roots(trees(BOTH, half_a_tree("a"), tree("b"))) == [
        *((leaf("a", n), 0) for n in (2, 3)),
        (summary("a", 0), 1),
        (summary("b", 2), 2),
    ]


def test_a_summary_of_several_documents_is_the_root_in_the_place_of_what_it_was_made_from():
    both = above("x", summary("a", 2), summary("b", 2))
    assert roots(trees(BOTH, tree("a"), tree("b"), both)) == [(summary("x"), 3)]
    single_leaves = above("x", summary("a", 2), leaf("b", 0), leaf("b", 1))
    assert roots(trees(BOTH, tree("a"), single_leaves)) == [(leaf("b", 2), 0), (leaf("b", 3), 0), (summary("x"), 3)]


@pytest.mark.parametrize(
    "missing",
    [
        [tree("a"), tree("b", version=W)],  # one is of an earlier version
        [tree("a")],  # one is gone
    ],
)
def test_a_summary_is_not_visible_unless_all_summaries_below_it_are(missing):
    found = trees(BOTH, *missing, above("x", summary("a", 2), summary("b", 2)))
    assert sorted(found.rows) == ["a"]
    assert roots(found)[0] == (summary("a", 2), 2)


@pytest.mark.parametrize("child", [str(LeafId("b", W, 0)), str(LeafId("c", V, 0))], ids=["earlier version", "not shown"])
def test_a_summary_is_not_visible_unless_all_leaves_below_it_are(child):
    found = trees(BOTH, tree("a"), above("x", summary("a", 2), child))
    assert sorted(found.rows) == ["a"]


def test_a_summary_above_one_that_is_not_visible_is_not_either():
    rows = [
        tree("a"),
        tree("b", version=W),
        above("x", summary("a", 2), summary("b", 2)),
        above("y", summary("x"), leaf("a", 0)),
    ]
    assert sorted(trees(BOTH, *rows).rows) == ["a"]
    assert sorted(trees(BOTH, *rows[::-1]).rows) == ["a"]  # in each order


def test_a_filter_takes_the_highest_summaries_that_cover_only_what_matches():
    found = trees(BOTH, tree("a"), tree("b"), above("x", summary("a", 2), summary("b", 2)))
    assert roots(found, F("topic") == "food") == [(summary("a", 2), 2)]
    assert roots(found, F("topic") == "animals") == [(summary("b", 2), 2)]
    assert roots(found, F("topic").exists()) == [(summary("x"), 3)]
    assert roots(found, F("topic") == "none") == []
    assert list(map(str, found.nodes(F("topic") == "food", 2))) == [summary("a", 2)]
    assert list(map(str, found.nodes(None, 1))) == [summary("a", 0), summary("a", 1), summary("b", 0), summary("b", 1)]
    assert list(map(str, found.nodes(None, 3))) == [summary("x")]


def test_a_filter_leaves_out_the_leaves_of_what_does_not_match():
    found = trees(BOTH, tree("a"))
    assert roots(found, F("topic") == "food") == [(summary("a", 2), 2)]
    assert roots(found, F("topic") == "animals") == [(leaf("b", n), 0) for n in range(4)]


def test_a_view_shows_trees_under_its_own_ids_for_documents():
    shown = BOTH.renamed({"mine": "a"})
    found = trees(shown, tree("a"), tree("b"), above("x", summary("a", 2), summary("b", 2)))
    assert sorted(found.rows) == ["mine"]
    assert roots(found) == [(summary("mine", 2), 2)]
    assert list(map(str, found.summaries("mine"))) == [summary("mine", 2), summary("mine", 0), summary("mine", 1)]
    assert found.layer(LeafId("mine", T, 2)) == 2
    assert found.select(None).leaves == 3


def test_a_view_sees_its_own_layers_and_no_others():
    rows = {
        row.document_id: row
        for row in (
            *(tree("a"), tree("b")),
            above("mine", summary("a", 2), view="me"),
            above("another's", summary("a", 2), view="you"),
            above("of all", summary("a", 2), view=""),
        )
    }

    def seen(**options) -> set[str]:
        return set(TreeVisibility(BOTH, False, **options).visible(Catalogue(rows)).rows) - {"a", "b"}

    assert seen(name="me") == {"mine"}
    assert seen(name="") == {"of all"}
    assert seen() == rows.keys() - {"a", "b"}
