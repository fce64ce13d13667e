"""Records that were changed without leafspan never give a wrong passage, and the error names the document."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, DamagedIndex, F, Hybrid, Vector
from tests.corpus import DOCUMENTS
from tests.profiles import examples
from tests.reading import reading_from_chroma
from tests.store.tampering import QUESTION, Tampered, check_reading, heard

IDS = [document.id for document in DOCUMENTS]
JUNK = st.none() | st.booleans() | st.integers(-3, 60) | st.text(max_size=8) | st.lists(st.integers(-2, 9), max_size=3)


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tampered]:
    made = Tampered(tmp_path_factory.mktemp("tampered") / "kb")
    with reading_from_chroma():
        yield made
    made.close()


@st.composite
def places(draw: st.DrawFn) -> Any:
    """A function from the packed places of two leaves to one instead of the first."""
    field, value = draw(st.integers(0, 40)), draw(st.integers(-3, 400) | st.sampled_from(["", "x", "1.5", "٣", " 2"]))
    kind = draw(st.sampled_from(["field", "field", "field", "other", "cut", "none", "number"]))

    def alter(place: str, other: str) -> Any:
        if kind == "field":
            parts = [level.split(",") for level in place.split("|")]
            flat = [(i, j) for i, level in enumerate(parts) for j in range(len(level))]
            i, j = flat[field % len(flat)]
            parts[i][j] = str(value)
            return "|".join(",".join(level) for level in parts)
        return {"other": other, "cut": place[: field % len(place)], "none": None, "number": field}[kind]

    return alter


def check_place(tampered: Tampered, number: int, alter: Any, *, trees: bool = False) -> bool:
    collection = "tree.leaves" if trees else "leaves"
    ids = tampered.ids(collection)
    id_, other = ids[number % len(ids)], ids[(number + 7) % len(ids)]
    metadata = tampered.metadata(collection, id_)
    new = alter(metadata["leafspan"], tampered.metadata(collection, other)["leafspan"])
    if new == metadata["leafspan"]:
        return True
    try:
        tampered.alter(collection, id_, metadata={"leafspan": new})
        return check_reading(tampered, id_.rsplit("#", 2)[0], trees=trees)
    finally:
        tampered.put_back()


@given(number=st.integers(0, 100), alter=places())
@examples(80, fast=8)
def test_a_place_that_is_not_as_it_was_written_is_noticed_where_the_leaf_is_met(
    tampered: Tampered, number: int, alter: Any
) -> None:
    assert check_place(tampered, number, alter)


@given(number=st.integers(0, 100), key=st.sampled_from(list(range(12))), value=JUNK)
@examples(80, fast=8)
def test_a_row_that_is_not_as_it_was_written_gives_no_wrong_passage(
    tampered: Tampered, number: int, key: int, value: Any
) -> None:
    id_ = IDS[number % len(IDS)]
    packed = tampered.metadata("manifest", id_)["row"]
    stored = json.loads(packed)
    name = list(stored)[key % len(stored)]
    if stored[name] == value and type(stored[name]) is type(value):
        return
    stored[name] = value
    try:
        tampered.alter("manifest", id_, metadata={"row": json.dumps(stored, ensure_ascii=False, separators=(",", ":"))})
        assert check_reading(tampered, id_)
    finally:
        tampered.put_back()


@pytest.mark.parametrize("packed", ["{", "null", "{}", "[" * 5000, None])
def test_a_row_that_is_none_is_noticed_and_named(tampered: Tampered, packed: Any) -> None:
    try:
        tampered.alter("manifest", "tea", metadata={"row": packed} if packed is not None else {"row": None, "else": 1})
        assert check_reading(tampered, "tea")
        with pytest.raises(
            DamagedIndex, match=r"^document 'tea' is damaged: its row in the manifest is damaged: "
        ) as raised:
            tampered.strict.documents()
        assert raised.value.document_id == "tea"
        with heard():
            assert [each.id for each in tampered.lenient.documents()] == ["bees", "harbour"]
            assert tampered.lenient.count() == tampered.lenient.stats().documents == 2
    finally:
        tampered.put_back()


@given(number=st.integers(0, 100), place=st.integers(0, 30), keeps_length=st.booleans())
@examples(60, fast=6)
def test_a_text_that_is_not_as_it_was_written_is_noticed(
    tampered: Tampered, number: int, place: int, keeps_length: bool
) -> None:
    ids = tampered.ids("leaves")
    id_ = ids[number % len(ids)]
    text = tampered.text("leaves", id_)
    place %= len(text)
    try:
        tampered.alter("leaves", id_, text=text[:place] + ("§" if keeps_length else "§§") + text[place + 1 :])
        assert check_reading(tampered, id_.rsplit("#", 2)[0])
    finally:
        tampered.put_back()


@given(number=st.integers(0, 100), alter=places())
@examples(60, fast=5)
def test_a_record_of_a_summary_that_is_not_as_it_was_written_is_noticed(
    tampered: Tampered, number: int, alter: Any
) -> None:
    check_place(tampered, number, alter, trees=True)


def test_what_is_left_out_is_in_the_trace_and_warned_of_once(tampered: Tampered) -> None:
    try:
        (leaf,) = (each for each in tampered.strict.leaves("bees") if "decoded" in each.text)
        tampered.alter("leaves", leaf.id, text=leaf.text.upper())
        tampered.lenient._store.damage.warned.clear()
        with heard() as said:
            found = tampered.lenient.retrieve("Who decoded the dance?", Hybrid(), k=3)
            tampered.lenient.retrieve("Who decoded the dance?", Vector(), k=3, where=F("topic") == "animals")
        problem = f"the text of its leaf {leaf.id.rsplit('#')[-1]} is not as it was written"
        assert said == [f"document 'bees' is damaged, and left out: {problem}; call repair(), then add the document again"]
        assert [each.trace.left_out for each in found] == [("bees",)] * 3
        assert found[0].trace.explain()[-1] == "left out, since what is stored of them is damaged: 'bees'"
        with pytest.raises(DamagedIndex, match=problem):
            tampered.lenient.get("bees")  # asked for by its id, it cannot be left out
    finally:
        tampered.put_back()


def test_a_query_that_does_not_meet_the_damaged_leaf_goes_on(tampered: Tampered) -> None:
    try:
        (leaf,) = (each for each in tampered.strict.leaves("tea") if "bitter" in each.text)
        tampered.alter("leaves", leaf.id, text="?" * len(leaf.text))
        for strategy in (BM25(), Vector(), Hybrid()):
            others = tampered.strict.retrieve("lighthouse keeper", strategy, k=3, where=F("topic") == "places")
            assert [each.document_id for each in others] == ["harbour"] * 3
        with pytest.raises(DamagedIndex, match="'tea'"):
            tampered.strict.retrieve("bitter", BM25())
        # Now it is known, and still does not concern what is asked for elsewhere.
        assert len(tampered.strict.retrieve("lighthouse keeper", Hybrid(), k=3, where=F("topic") == "places")) == 3
        with pytest.raises(DamagedIndex, match="'tea'"):
            tampered.strict.retrieve("bitter", Hybrid(), where=F("doc_id") == "tea")
    finally:
        tampered.put_back()


@pytest.mark.slow
@given(
    number=st.integers(0, 100),
    kind=st.sampled_from(["place", "text", "missing", "row", "field", "no row", "summary", "tree"]),
    quick=st.booleans(),
)
@examples(60, fast=8)
def test_doctor_and_then_adding_again_heals_everything(tampered: Tampered, number: int, kind: str, quick: bool) -> None:
    ids = tampered.ids("tree.leaves" if kind == "summary" else "leaves")
    id_ = ids[number % len(ids)]
    document_id = id_.rsplit("#", 2)[0]
    trees = kind in ("summary", "tree")
    try:
        match kind:
            case "place":
                tampered.alter("leaves", id_, metadata={"leafspan": "1|0,0,1,1"})
            case "text":
                tampered.alter("leaves", id_, text="!" + tampered.text("leaves", id_)[1:])
            case "missing":
                tampered.drop("leaves", id_)
            case "row":
                tampered.alter("manifest", document_id, metadata={"row": "{"})
            case "field":
                row = json.loads(tampered.metadata("manifest", document_id)["row"])
                tampered.alter("manifest", document_id, metadata={"row": json.dumps({**row, "leaves": row["leaves"] - 1})})
            case "no row":
                tampered.drop("manifest", document_id)
            case "summary":
                tampered.alter("tree.leaves", id_, text="?")
            case "tree":
                tampered.alter("tree.manifest", document_id, metadata={"row": "[]"})
        noticed = kind in ("missing", "row", "field", "no row", "tree") or not quick
        findings = tampered.strict.repair(quick=quick)
        assert {each.document_id for each in findings} == ({document_id} if noticed else set())
        if not noticed:
            findings = tampered.strict.repair()
        assert [each.document_id for each in findings] == [document_id]
        done = tampered.strict.add(DOCUMENTS)
        rewritten = (*done.added, *done.replaced)
        assert rewritten == (() if trees or all(each.repaired for each in findings) else (document_id,))
        tampered.strict.build_tree()
        assert tampered.strict.repair() == []
        assert [tampered.strict.get(each.id) for each in DOCUMENTS] == DOCUMENTS
        now = [(each.document_id, each.start, each.end) for each in tampered.strict.retrieve(QUESTION, Hybrid(), k=8)]
        tampered.restore()
        then = [(each.document_id, each.start, each.end) for each in tampered.strict.retrieve(QUESTION, Hybrid(), k=8)]
        assert now == then
    finally:
        tampered.restore()


def test_where_damage_is_an_error_nothing_is_said_to_be_left_out(tampered: Tampered) -> None:
    document_id = IDS[0]
    (first, *_) = (id_ for id_ in tampered.ids("leaves") if id_.rsplit("#", 2)[0] == document_id)
    others = next(document for document in DOCUMENTS if document.id != document_id)
    try:
        tampered.alter("leaves", first, text="?")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = tampered.strict.retrieve(others.text[:60], Vector(), k=1, where=F("doc_id") == others.id)
        assert [passage.trace.left_out for passage in found] == [()]
    finally:
        tampered.put_back()
