"""How metadata are converted before they are stored, and which metadata cannot be stored."""

from __future__ import annotations

import enum
from datetime import date, datetime, time
from math import inf, nan
from pathlib import PurePosixPath
from uuid import UUID

import numpy as np
import pytest

from leafspan import Chunk, Document, InvalidArgument, chunks_of
from leafspan.documents import clean_metadata, read_documents, to_document
from leafspan.documents._metadata import flatten, title_in
from leafspan.errors import InvalidDocument


class Colour(str, enum.Enum):  # noqa: UP042 (a member must be a str of another type)
    RED = "red"


class Size(enum.Enum):
    LARGE = 3


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("sea", "sea"),
        (Colour.RED, "red"),
        (7, 7),
        (-(2**63), -(2**63)),
        (2**63 - 1, 2**63 - 1),
        (0.5, 0.5),
        (True, True),
        (Size.LARGE, 3),
        (date(2024, 5, 1), "2024-05-01"),
        (time(12, 30), "12:30:00"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (PurePosixPath("notes/tea.md"), "notes/tea.md"),
        (datetime(2024, 5, 1, 12, 30), "2024-05-01T12:30:00"),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [1, 2]),
    ],
)
def test_values_are_stored_as_plain_ones(value, stored):
    cleaned = clean_metadata("d", {"key": value})["key"]
    assert (cleaned, type(cleaned)) == (stored, type(stored))


NOT_A_TIME = type("NaT", (date,), {"__ne__": lambda self, other: True})(2024, 5, 1)  # as pandas.NaT


@pytest.mark.parametrize("value", [None, [], nan, np.float64(nan), NOT_A_TIME], ids=str)
def test_what_says_nothing_is_left_out(value):
    assert clean_metadata("d", {"key": value, "other": 1}) == {"other": 1}


def test_what_pandas_has_for_no_value_is_left_out():
    pandas = pytest.importorskip("pandas")
    assert clean_metadata("d", {"key": pandas.NA, "time": pandas.NaT, "other": 1}) == {"other": 1}


TOO_LARGE = "which is not between -2**63 and 2**63 - 1; store it as a text, str(...)"


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (2**63, f"{2**63}, {TOO_LARGE}"),
        (-(2**63) - 1, f"{-(2**63) - 1}, {TOO_LARGE}"),
        ([1.0, nan], "nan"),
        (inf, "inf"),
        (b"x", "b'x' of type bytes; convert it, or leave it out"),
        ([1, None], "None of type NoneType; convert it, or leave it out"),
        ([[1]], "[1] of type list; flatten_metadata=True stores its items under keys of their own"),
        ({"a": 1}, "{'a': 1} of type dict; flatten_metadata=True stores its items under keys of their own"),
        ([1, "a"], "a list that mixes int and str"),
        ([2**63], f"{2**63}, {TOO_LARGE}"),
    ],
)
def test_what_cannot_be_stored_is_named_with_its_key_and_document(value, got):
    with pytest.raises(InvalidDocument) as raised:
        clean_metadata("my plan", {"my key": value})
    rule = "must be a str, a finite int or float, a bool, a date, or a list of one of these types"
    assert str(raised.value) == f"metadata 'my key' of document 'my plan' {rule}, got {got}"


def test_nested_metadata_are_flattened_under_the_path_of_their_keys():
    assert flatten({"a": {"b": 1, "c": {"d": 2}}, "e": 3}) == {"a.b": 1, "a.c.d": 2, "e": 3}
    assert flatten({"a": [{"b": 1}, {"b": 2}], "c": ((1, 2), (3,)), "d": [4, 5]}) == {
        "a.0.b": 1,
        "a.1.b": 2,
        "c.0": (1, 2),
        "c.1": (3,),
        "d": [4, 5],
    }
    with pytest.raises(InvalidDocument, match=r"metadata have two values for 'a.b' when they are flattened"):
        flatten({"a": {"b": 1}, "a.b": 2})


def test_nested_metadata_are_flattened_only_when_asked():
    nested = {"id": "d", "text": "Tea.", "metadata": {"a": {"b": 1}}}
    with pytest.raises(InvalidDocument, match="metadata 'a' of document 'd' must be"):
        list(read_documents(nested))
    [document] = read_documents(nested, flatten_metadata=True)
    assert document.metadata == {"a.b": 1}


def test_metadata_of_chunks_are_flattened_like_metadata_of_documents():
    nested = Document("d", "Tea.", chunks=[Chunk(4, {"a": {"b": 1}})])
    with pytest.raises(InvalidDocument, match="metadata 'a' of document 'd' must be"):
        to_document(nested)
    assert to_document(nested, flatten_metadata=True).chunks == (Chunk(4, {"a.b": 1}),)


def mappings(levels: int) -> dict[str, object]:
    return {"a": mappings(levels - 1)} if levels > 1 else {"a": 1}


def test_up_to_100_levels_of_mappings_are_flattened():
    assert flatten(mappings(100)) == {".".join("a" * 100): 1}
    with pytest.raises(InvalidDocument, match="metadata must have at most 100 levels of values inside each other"):
        flatten(mappings(101))


@pytest.mark.parametrize("wrong", [-1, 0.5, None])
def test_what_chunks_share_is_a_whole_number(wrong):
    with pytest.raises(InvalidArgument, match=f"^overlap must be a whole number >= 0, got {wrong!r}$"):
        chunks_of(["one"], id="d", overlap=wrong)


def test_the_id_of_the_document_that_chunks_belong_to_is_a_text():
    with pytest.raises(InvalidArgument, match=r"^id must be .*, got 5$"):
        chunks_of(["one"], id=5)


def test_a_title_in_metadata_is_a_text_that_is_not_empty():
    assert [title_in({"title": each}) for each in ("Tea", "", 5, None)] == ["Tea", None, None, None]
    assert title_in({}) is None


def test_one_thing_is_read_as_it_is_stored_and_nested_metadata_are_no_value():
    assert to_document({"id": "d", "text": "Tea.", "title": "Drinks"}) == Document("d", "Tea.", "Drinks")
    with pytest.raises(InvalidDocument, match="metadata 'a' of document 'd' must be"):
        to_document({"id": "d", "text": "Tea.", "metadata": {"a": {"b": 1}}})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"id": None, "text": "Minutes of the tea club, May 2024."},
            "a document's id must be a non-empty string, got None",
        ),
        (Document(None, "Minutes of the tea club."), "a document's id must be a non-empty string, got None"),  # type: ignore[arg-type]
        ({"id": "d", "text": 5}, "the text of document 'd' must be a string, got int"),
        ({"id": "d\ud800", "text": "Tea."}, r"the id of document 'd\\ud800' must be valid Unicode"),
        ({"id": "d", "text": "Tea.", "metadata": 5}, "metadata of document 'd' must be a mapping, got int"),
        (
            {"id": "d", "text": "Tea.", "metadata": {"k\ud800": 5}},
            r"metadata 'k\\ud800' of document 'd' must be valid Unicode",
        ),
        (
            {"id": "d", "text": "Tea.", "body": "Tea."},
            r"a mapping must have id and text, .* got keys \['body', 'id', 'text'\]",
        ),
        ({"text": "Tea.", "body": "Tea."}, r"a mapping must have id and text, .* got keys \['body', 'text'\]"),
    ],
)
def test_what_is_wrong_with_a_document_is_named(wrong, message):
    with pytest.raises(InvalidDocument, match=f"^{message}"):
        to_document(wrong)
