"""The stored ids that a view searches, takes and shows, without an index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import F
from leafspan.errors import InvalidDocument
from leafspan.store import Catalogue, Row, Scope
from tests.profiles import examples

ACME = Scope(F("tenant") == "acme")
FIRST, SECOND, THIRD, FOURTH = ACME.suffixes


def row(stored_id: str, tenant: str = "acme", version: str | None = "00000000") -> Row:
    return Row(stored_id, "hash", version, 1, metadata={"tenant": tenant})


def rows(*given: Row) -> dict[str, Row]:
    return {each.document_id: each for each in given}


def test_the_suffixes_are_one_and_three_to_take_when_it_is_taken():
    assert len(FIRST) == 1 + 16
    assert FIRST.startswith("@")
    assert (f"{FIRST}~2", f"{FIRST}~3", f"{FIRST}~4") == (SECOND, THIRD, FOURTH)


def test_the_suffix_depends_on_the_conditions_and_not_on_their_order():
    one, other = F("tenant") == "acme", F("year") > 2000
    assert (
        Scope(one & other).suffix == Scope(other & one).suffix == Scope(one).narrowed(other, share_statistics=False).suffix
    )
    assert len({Scope(where).suffix for where in (one, other, one & other, one | other)}) == 4


def test_the_views_own_ids_are_looked_up_first_and_in_order():
    assert ACME.stored_ids("plan") == [f"plan{FIRST}", f"plan{SECOND}", f"plan{THIRD}", f"plan{FOURTH}", "plan"]


def test_an_id_that_ends_like_the_views_own_is_not_looked_up_as_it_is():
    """Or else the shown ids ``plan`` and ``plan@...`` would be the same document."""
    assert f"plan{FIRST}" not in ACME.stored_ids(f"plan{FIRST}")
    assert f"plan{THIRD}" not in ACME.stored_ids(f"plan{THIRD}")
    assert ACME.place(f"plan{FIRST}", {}) == f"plan{FIRST}{FIRST}"


def test_of_several_stored_ids_of_one_document_the_first_is_found_and_shown():
    stored = rows(row(f"plan{SECOND}"), row(f"plan{FIRST}"), row("plan"))
    assert ACME.find("plan", stored) == stored[f"plan{FIRST}"]
    assert ACME.visible(Catalogue(stored)).stored_id("plan") == f"plan{FIRST}"
    del stored[f"plan{FIRST}"]
    assert ACME.find("plan", stored) == stored[f"plan{SECOND}"]
    assert ACME.visible(Catalogue(stored)).stored_id("plan") == f"plan{SECOND}"
    del stored[f"plan{SECOND}"]
    assert ACME.find("plan", stored) == stored["plan"]
    assert ACME.visible(Catalogue(stored)).stored_id("plan") == "plan"


def test_a_document_takes_the_place_of_the_one_it_replaces():
    assert ACME.place("plan", rows(row("plan"))) == "plan"  # which was added without the view
    assert ACME.place("plan", rows(row(f"plan{FIRST}", tenant="other"), row(f"plan{SECOND}"))) == f"plan{SECOND}"


def test_a_new_document_takes_the_first_id_that_no_other_document_has():
    assert ACME.place("plan", {}) == f"plan{FIRST}"
    assert ACME.place("plan", rows(row("plan", tenant="other"))) == f"plan{FIRST}"
    moved = [row(f"plan{suffix}", tenant="other") for suffix in ACME.suffixes]
    assert ACME.place("plan", rows(*moved[:1])) == f"plan{SECOND}"
    assert ACME.place("plan", rows(*moved[:3])) == f"plan{FOURTH}"
    with pytest.raises(InvalidDocument, match="document 'plan' cannot be stored under this id any more; use another one"):
        ACME.place("plan", rows(*moved))


def test_the_place_of_a_document_that_was_deleted_is_free():
    assert ACME.place("plan", rows(row(f"plan{FIRST}", version=None))) == f"plan{FIRST}"
    assert ACME.place("plan", rows(row(f"plan{FIRST}", tenant="other", version=None))) == f"plan{FIRST}"


def test_a_view_within_a_view_shares_statistics_only_if_both_do():
    shared, own = Scope(F("a") == 1, shares_statistics=True), Scope(F("a") == 1)
    assert shared.narrowed(F("b") == 2, share_statistics=True).shares_statistics
    assert not shared.narrowed(F("b") == 2, share_statistics=False).shares_statistics
    assert not own.narrowed(F("b") == 2, share_statistics=True).shares_statistics


stored_rows = st.dictionaries(
    st.sampled_from([f"{name}{suffix}" for name in ("plan", "memo") for suffix in ("", *ACME.suffixes, FIRST + FIRST)]),
    st.tuples(st.sampled_from(["acme", "other"]), st.sampled_from(["00000000", None])),
).map(lambda drawn: rows(*(row(id_, tenant, version) for id_, (tenant, version) in drawn.items())))
shown_ids = st.sampled_from(["plan", "memo", f"plan{FIRST}", f"plan{FIRST}{FIRST}", "new"])


@examples(300)
@given(stored_rows, shown_ids)
def test_what_is_found_by_an_id_is_what_the_view_shows_under_it(stored, shown):
    visible = ACME.visible(Catalogue(stored))
    found = ACME.find(shown, stored)
    assert visible.stored_id(shown) == (found and found.document_id)
    assert all(ACME.sees(stored[visible.stored_id(id_)]) for id_ in visible.rows)


@examples(300)
@given(stored_rows, shown_ids)
def test_what_is_placed_overwrites_nothing_that_the_view_does_not_show_and_is_found_again(stored, shown):
    try:
        place = ACME.place(shown, stored)
    except InvalidDocument:
        return
    assert place not in stored or ACME.sees(stored[place]) or stored[place].version is None
    after = {**stored, place: row(place)}
    assert ACME.find(shown, after) == after[place]
    assert ACME.visible(Catalogue(after)).stored_id(shown) == place


def test_what_a_filter_selects_is_computed_once():
    catalogue = Catalogue(rows(row("a"), row("b", tenant="other")))
    selected = catalogue.select(F("tenant") == "acme")
    assert selected.ids == {"a"}
    assert catalogue.select(F("tenant") == "acme") is selected
    assert catalogue.select(F("tenant") == "other") is not selected
