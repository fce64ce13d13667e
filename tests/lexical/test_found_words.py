"""What a question finds, and what must not rank above it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.lexical import Analyzer, BM25Settings, Corpus, best, build_postings

OTHERS = ["A ship left the harbour.", "Bread is made of flour.", "The weather was fine.", "Nobody knew why."] * 5


def ranked(question: str, texts: list[str], language: str = "english") -> list[int]:
    """The texts that BM25 finds, best first."""
    analyzer = Analyzer(language)
    corpus = Corpus([(build_postings(analyzer(texts)), None)])
    scores = corpus.score(analyzer([question], asked=True)[0], settings=BM25Settings())
    return best(scores, len(texts), list).tolist()


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Part AB-123 is sold out.", "AB123"),
        ("Part AB123 is sold out.", "AB-123"),
        ("Part AB_123 is sold out.", "AB-123"),
        ("Part AB\u2011123 is sold out.", "ab-123"),
        ("The pump XJ-900/B leaks.", "XJ-900"),
        ("The pump XJ-900/B leaks.", "xj900/b"),
        ("Get v1.2.3 now.", "1.2.3"),
        ("Get foo-1.2.3.tar.gz now.", "1.2.3"),
        ("Version 1.2.3 is out.", "v1.2.3"),
        ("It needs Python3.11.", "python 3.11"),
        ("It needs Python 3.11.", "Python3.11"),
        ("A sack of 10kg.", "10 kg"),
        ("A sack of 10 kg.", "10kg"),
        ("It costs $1,250.50 net.", "1250.50"),
        ("It costs 1250.50 net.", "1,250.50"),
        ("Run llama3.1:8b here.", "llama 3.1"),
        ("Run llama3.1:8b here.", "llama3.1:8b"),
        ("It starts on 2024-01-15.", "2024-01-15"),
        ("Call HttpClientFactory first.", "http client"),
        ("Call HttpClientFactory first.", "HttpClientFactory"),
        ("Call HttpClientFactory first.", "httpclientfactory"),
        ("Call getUserById first.", "user by id"),
        ("An XMLHttpRequest fails.", "xml request"),
        ("私は黒猫が好きです。", "猫"),
        ("한국의 강물이 흐른다", "물"),
        ("An under\u00adstandable text.", "understandable"),
        ("An understandable text.", "under\u00adstand\u200bable"),
        ("An under-\nstandable text.", "understandable"),
        ("An under\u00ad\nstandable text.", "understandable"),
        ("A well-\nknown text.", "well known"),
        ("Łódź lies there.", "lodz"),
        ("Kopenhagen is København.", "kobenhavn"),
        ("The bridge over the Øresund.", "oresund"),
        ("Lech Wałęsa spoke.", "walesa"),
        ("Kırıkkale is a town.", "KIRIKKALE"),
        ("A rope of 5 metres (Straße).", "strasse"),
    ],
)
def test_the_text_is_found_first(text: str, question: str) -> None:
    assert ranked(question, [*OTHERS, text])[:1] == [len(OTHERS)]


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("french", "L'éducation des élèves aimées.", "education"),
        ("french", "L'éducation des élèves aimées.", "aimees"),
        ("french", "education des eleves", "élèves"),
        ("spanish", "La canción del corazón.", "cancion"),
        ("spanish", "La cancion del corazon.", "corazón"),
        ("german", "Ein schönes Haus.", "schones"),
        ("turkish", "Kırıkkale güzel.", "kirikkale"),
    ],
)
def test_accents_do_not_matter(language: str, text: str, question: str) -> None:
    assert ranked(question, ["un bateau", "ein Schiff", text], language) == [2]


@pytest.mark.parametrize("name", ["AB-123", "AB_123", "XJ-900", "AB123", "AB/123", "2024-01-15", "v1.2.3", "IL-6", "B-52"])
def test_texts_with_the_parts_apart_come_after_the_one_with_the_compound(name: str) -> None:
    apart = " and ".join(re.findall(r"[A-Za-z]+|[\d.]+", name)[::-1])
    decoys = [f"{apart} {apart}, {number} more" for number in range(1000, 1040)]
    text = f"A long text on many things has {name} in the middle, and it goes on like this for some more words."
    assert ranked(name, [*OTHERS, *decoys, text])[0] == len(OTHERS) + len(decoys)


@given(
    st.lists(
        st.tuples(st.from_regex(r"[A-Z]{2,3}", fullmatch=True), st.sampled_from("-_/"), st.integers(100, 9999)),
        min_size=2,
        max_size=8,
        unique_by=lambda part: (part[0], part[2]),
    )
)
def test_each_part_number_finds_itself_first(numbers: list[tuple[str, str, int]]) -> None:
    names = [f"{letters}{sign}{number}" for letters, sign, number in numbers]
    texts = [f"{name} is here, and {other} is not." for name, other in zip(names, names[1:] + names[:1], strict=True)]
    apart = [" ".join(f"{letters}, {number};" for letters, _, number in numbers)] * 3
    for number, name in enumerate(names):
        assert {ranked(name, [*texts, *apart])[0]} <= {number, (number - 1) % len(names)}
