"""A compound and its joined and separated writings find each other, in every language and over every number of segments."""

from __future__ import annotations

import re
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Analyzer, Document, Hybrid, Index, Passages
from leafspan.lexical import other_writings

OTHERS = [
    Document(f"other-{number}", text)
    for number, text in enumerate(
        ["A ship left the harbour.", "Bread is made of flour and water.", "The weather was fine.", "Nobody knew why."]
    )
]
LETTERS = [
    "e-mail",
    "add-on",
    "non-linear",
    "T-shirt",
    "A-level",
    "on-line",
    "log-in",
    "x-ray",
    "Wi-Fi",
    "co-operate",
    "up-to-date",
]
CODES = ["AB-123", "IL-6", "F-16", "M8-X-40", "COVID-19", "XJ-900-B", "B-52"]


def ids(found: Passages, writings: set[str]) -> list[str]:
    return [each.document_id for each in found if each.document_id in writings]


def index_of(texts: dict[str, str], **options: object) -> Index:
    index = Index.open(tempfile.mkdtemp(), **options)  # type: ignore[arg-type]
    index.add([*OTHERS, *(Document(id_, text) for id_, text in texts.items())])
    return index


def writings(compound: str) -> dict[str, str]:
    return {"compound": compound, "joined": compound.replace("-", ""), "apart": compound.replace("-", " ")}


def asked_and_found(compound: str, template: str = "Where is the {} now?") -> dict[str, set[str]]:
    """What a search by words finds for each writing of a compound."""
    every = writings(compound)
    with index_of({id_: f"Please see the {each} in the box." for id_, each in every.items()}) as index:
        return {
            asked: set(ids(index.retrieve(template.format(text), BM25(), k=20), set(every)))
            for asked, text in every.items()
        }


@pytest.mark.parametrize("compound", LETTERS)
def test_a_compound_of_letters_finds_its_joined_writing_and_both_find_it(compound: str):
    found = asked_and_found(compound)
    assert found["compound"] == {"compound", "joined", "apart"}
    assert found["joined"] >= {"compound", "joined"}
    assert found["apart"] >= {"compound", "apart"}
    if compound[0] not in "AaOoUu":  # letters after a stop word are not joined
        assert found["apart"] == {"compound", "joined", "apart"}


@pytest.mark.parametrize("compound", CODES)
def test_a_compound_with_a_digit_and_its_writings_find_each_other(compound: str):
    found = asked_and_found(compound)
    assert found["compound"] == found["apart"] == {"compound", "joined", "apart"}
    assert found["joined"] >= {"compound", "joined"}


@pytest.mark.parametrize("code", ["AB-123", "IL-6", "F-16", "COVID-19", "B-52", "AB_123", "XJ900"])
def test_parts_of_a_code_find_the_code_before_texts_with_the_parts_elsewhere(code: str):
    parts = re.findall(r"[A-Z]+|[0-9]+", code)
    apart = " and ".join(reversed(parts))
    texts = {
        "code": f"The valve {code} is in the box with all others.",
        "elsewhere": f"The valve {apart} is here.",
        "twice": f"{apart}, {apart}.",
    }
    with index_of(texts) as index:
        found = index.retrieve(" ".join(parts), BM25(), k=3)
    assert found[0].document_id == "code"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Use M8X40 screws.", "M8 X 40"),
        ("Schreiben Sie eine E-Mail-Adresse auf.", "Emailadresse"),
        ("Schreiben Sie eine E-Mail-Adresse auf.", "Email Adresse"),
        ("An exam\n\u00ad\nple of it.", "example"),
        ("An exam\u00ad\nple of it.", "example"),
        ("Their colours co\u2010exist.", "coexist"),
        ("A well\u2011known man.", "wellknown"),
    ],
)
@pytest.mark.parametrize("language", ["english", "german", "auto"])
def test_another_writing_is_found(text: str, question: str, language: str):
    with index_of({"it": text}, analyzer=Analyzer(language)) as index:
        assert [each.document_id for each in index.retrieve(question, BM25(), k=1)] == ["it"]


@pytest.mark.parametrize("question", ["What does she do to day?", "Is a part lost?", "the in put"])
def test_words_after_a_stop_word_are_not_joined(question: str):
    with index_of({"wrong": "today apart input"}) as index:
        assert "wrong" not in [each.document_id for each in index.retrieve(question, BM25(), k=9)]


def test_another_writing_does_not_make_an_answer_less_probable():
    """The compound alone, and beside a document with the other writing."""
    text, other = "The add-on for bees is on the shelf.", "Nobody likes an addon."
    with index_of({"it": text}) as alone, index_of({"it": text, "other": other}) as both:
        for question in ("Where is the add-on for bees?", "Where is the addon for bees?"):
            first, second = (index.retrieve(question, Hybrid(), k=1)[0] for index in (alone, both))
            assert (first.document_id, second.document_id) == ("it", "it")
            assert second.score > 0.8 * first.score


@given(st.text(st.sampled_from("ab1-_ .,\u00ad\n'é中")))
def test_other_writings_are_made_of_neighbouring_words(text: str):
    for other in other_writings(text):
        assert 1 <= len(other.words) <= 3
        assert "".join(other.words) == "".join(each for each in other.chunk if each.isalnum() or each == "_")
