"""Damaged documents, which are left out."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from leafspan import BM25, DamagedIndex
from leafspan.lab import explain
from tests.durability.versions import document
from tests.store.test_damage import NAMES, break_row, lose_leaf, open_index

QUESTION = "Document first says its sentence number 3"


@pytest.mark.usefixtures("leaves_from_chroma")
@pytest.mark.parametrize("damage", ["row", "leaf"])
def test_a_document_that_is_left_out_says_so_and_without_that_rule_it_is_an_error(tmp_path: Path, damage: str):
    place = {"path": tmp_path / "kb"}
    with open_index(place) as strict:
        strict.add([document(name, 1) for name in NAMES])
        if damage == "row":
            break_row(strict, place, "first")
        else:
            lose_leaf(strict, place, 3)
        with pytest.raises(DamagedIndex, match="document 'first' is damaged"):
            explain(strict, QUESTION, BM25(), document_id="first")
    with open_index(place, on_damage="skip") as lenient, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explained = explain(lenient, QUESTION, BM25(), document_id="first")
        assert [each.kind for each in explained.obstacles] == ["damage"]
        assert "damaged, and so it is left out of everything: " in explained.obstacles[0].sentence
        assert explained.obstacles[0].sentence.endswith("; call repair(), then add the document again")
        assert all(each.trace.left_out == ("first",) for each in explained.passages)
        lenient.repair()
        lenient.add(document("first", 1))
        assert explain(lenient, QUESTION, BM25(), document_id="first").returned
