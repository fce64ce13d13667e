"""What a line's end breaks is masked like text in one line, since a search index joins the halves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leafspan import Document, Index
from leafspan.lexical._tokens import chunks, words_of
from leafspan.private import Patterns, private_view
from leafspan.private.pseudonyms import Disguise, Found, KnownTerms, Restoring, pseudonyms_in
from leafspan.private.pseudonyms._entities import pseudonym
from leafspan.private.views._privacy import hidden_message
from tests.corpus import SPLITTER
from tests.private.views.people import SpyEmbedder, fixed_vault
from tests.profiles import examples

SIGNS = ["-", "\u2010", "\u2011", "\u00ad", "\u00ac"]
LINE_ENDS = st.builds(
    lambda before, end, after: before + end + after,
    st.sampled_from(["", " ", "\t "]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "  ", "\t"]),
)
BREAKS = st.builds(
    lambda before, sign, after: (before if sign in "\u00ac\u00ad" else "") + sign + after,
    st.just("") | LINE_ENDS,  # a soft hyphen may stand on a line of its own
    st.sampled_from(SIGNS),
    LINE_ENDS,
)


def by_pattern(text: str) -> Iterator[Found]:
    """A user's finder, which knows nothing of line ends."""
    for match in re.finditer(r"\b(?:Alice Smith|Ann-Marie Quillfeather|EMP\d{6})\b", text):
        yield Found(*match.span(), "EMPLOYEE")


KNOWN = KnownTerms(
    {"PERSON": ["Alice Smith", "Zoë Łuczak", "Ann-Marie Quillfeather", "Ольга Йоркина"], "ACCOUNT": ["QX123456"]}
)
ENTITIES: list[tuple[Any, str]] = [
    *((KNOWN, name) for name in ("Alice Smith", "Zoë Łuczak", "Ann-Marie Quillfeather", "Ольга Йоркина", "QX123456")),
    *((by_pattern, name) for name in ("Alice Smith", "Ann-Marie Quillfeather", "EMP123456")),
    (Patterns(), "alice.quillfeather@example.com"),
    (Patterns(), "DE89370400440532013000"),
]


def words(text: str) -> set[str]:
    """All words that an index has of a text, in any language."""
    pieces = chunks(text)
    return {word for piece in pieces for language in ("english", "") for word in words_of(piece, language)}


@st.composite
def broken(draw: Any) -> tuple[Any, str, str]:
    """A finder, an entity, and the entity with line ends in up to two of its words' places, or in all of a name's."""
    finder, name = draw(st.sampled_from(ENTITIES))
    places = [place for place in range(1, len(name)) if name[place - 1].isalnum() and name[place].isalnum()]
    most = len(places) if finder is KNOWN else 2
    chosen = draw(st.sets(st.sampled_from(places), min_size=1, max_size=most))
    written = "".join((draw(BREAKS) if place in chosen else "") + letter for place, letter in enumerate(name))
    if finder is KNOWN or len(chosen) == 1:  # the name's own hyphen may be at a line's end, too
        written = re.sub(r"(?<=[^\W_])-(?=[^\W_])", lambda _: draw(st.sampled_from(["-", "-\n", "\u2010\r\n "])), written)
    return finder, name, written


@given(broken(), st.sampled_from(["", "Ask ", "non-", "for\n"]), st.sampled_from(["", ".", " wrote a let-\nter", "\n"]))
@examples(600)
@example((KNOWN, "Alice Smith", "Ali-\nce Smith"), "", "")
@example((KNOWN, "Ann-Marie Quillfeather", "Ann-\nMarie Quill-\nfea-\nther"), "", "")
def test_no_word_of_a_broken_entity_is_in_an_index_and_the_text_comes_back(case: Any, before: str, after: str):
    finder, name, written = case
    text = f"{before}{written}{after}"
    disguise = Disguise((finder,), lambda kind, value: pseudonym(b"k" * 32, kind, value))
    masked = disguise.text(text)
    assert not words(name) & (words(masked.text) - words(before) - words(after))
    assert Restoring(masked.places).text(masked.text) == text
    whole = disguise.text(name)
    assert [each.word for each in pseudonyms_in(masked.text)] == [each.word for each in pseudonyms_in(whole.text)]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_search_for_a_name_finds_where_a_line_breaks_it_and_the_index_has_no_half(sign: str, tmp_path: Path):
    broken = f"The harbour belongs to Ali{sign}\nce Smith and her EMP12{sign}\r\n3456 number."
    vault = fixed_vault(tmp_path / "vault.db")
    with Index.open(tmp_path / "kb", embedder=SpyEmbedder(), splitter=SPLITTER) as index:
        view = private_view(index, vault, finder=by_pattern, known={"PERSON": ["Alice Smith"]}, reveal=True)
        view.add([Document("one", broken), Document("two", "Nobody owns the pier.")])
        assert view.get("one").text == broken
        assert [each.document_id for each in view.retrieve("Alice Smith", k=1)] == ["one"]
        stored = words(index.get("one").text)
        assert not stored & {"alice", "smith", "ali", "ce", "emp123456"}


@pytest.mark.parametrize("text", ["Ali-\nce Smith", "Alice\nSmith", "Alice\tSmith", "Ali\u00adce Smith"])
def test_an_error_that_quotes_a_broken_name_does_not_show_it(text: str):
    disguise = Disguise((KNOWN,), lambda kind, value: pseudonym(b"k" * 32, kind, value))
    assert "Smith" not in hidden_message(f"the key must be a text, got {text!r}", disguise)
