"""Keys are secret, and pseudonyms are words."""

from __future__ import annotations

import copy
import pickle
import re
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Analyzer, HierarchicalSplitter, InvalidArgument
from leafspan.lexical._analysis import languages
from leafspan.private import Key
from leafspan.private.pseudonyms import pseudonyms_in
from leafspan.private.pseudonyms._entities import pseudonym
from tests.profiles import examples

SECRET = "correct-horse-battery-staple-0123456789"
ONE, OTHER = b"1" * 32, b"2" * 32


def test_a_key_is_never_shown_pickled_or_copied():
    key = Key(SECRET)
    assert SECRET not in repr(key) + str(key) + f"{key!r:>50}"
    with pytest.raises(TypeError, match="a Key cannot be pickled"):
        pickle.dumps(key)
    with pytest.raises(TypeError, match="a Key cannot be pickled"):
        copy.deepcopy(key)


@pytest.mark.parametrize("secret", ["short", b"short", "a" * 64, "ab" * 32, bytes(32), 7, None, ""])
def test_a_weak_key_is_refused_without_being_shown(secret: object):
    with pytest.raises(InvalidArgument, match="a key must be") as caught:
        Key(secret)  # type: ignore[arg-type]
    assert not isinstance(secret, str) or not secret or secret not in str(caught.value)


def test_random_keys_are_accepted_in_every_usual_form():
    for _ in range(200):
        Key(secrets.token_bytes(32))
        Key(secrets.token_urlsafe(32))
        Key(secrets.token_hex(16))


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VAULT_KEY", f" {SECRET}\n")
    assert Key.from_environment("VAULT_KEY").derived(b"salt", b"x") == Key(SECRET).derived(b"salt", b"x")
    with pytest.raises(
        InvalidArgument, match="the environment variable NO_SUCH_KEY must have the key of a vault, but is not"
    ):
        Key.from_environment("NO_SUCH_KEY")
    monkeypatch.setenv("VAULT_KEY", "hunter2")
    with pytest.raises(InvalidArgument, match="the environment variable VAULT_KEY: a key must be") as caught:
        Key.from_environment("VAULT_KEY")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_keys_for_two_purposes_or_with_two_salts_differ():
    key = Key(SECRET)
    assert (
        len(
            {
                key.derived(b"a", b"x"),
                key.derived(b"b", b"x"),
                key.derived(b"a", b"y"),
                Key(SECRET + "!").derived(b"a", b"x"),
            }
        )
        == 4
    )


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("PERSON", "Alice Smith", "ALICE  smith"),
        ("PERSON", "Zoë", "Zoe\u0308"),
        ("PERSON", "O'Brien", "O’Brien"),
        ("PERSON", "Anna-Lena", "anna lena"),
        ("EMAIL_ADDRESS", "Ann@Example.com", "ann@example.com"),
        ("PHONE_NUMBER", "+49 30 901820", "+49(30)901-820"),
        ("CREDIT_CARD", "4111 1111 1111 1111", "4111111111111111"),
        ("PERSON", "ﬁona", "Fiona"),
    ],
)
def test_the_same_entity_has_the_same_pseudonym(kind: str, one: str, other: str):
    assert pseudonym(ONE, kind, one) == pseudonym(ONE, kind, other)


def test_another_entity_kind_or_key_has_another_pseudonym():
    words = [
        pseudonym(key, kind, value)
        for key in (ONE, OTHER)
        for kind in ("PERSON", "CITY", "EMAIL_ADDRESS", "EMAILADDRESS")
        for value in ("Paris", "London", "1.23.4.5", "12.3.4.5", "Paris-", "\ud800")
    ]
    assert len(set(words)) == len(words) - 2 * 4  # "Paris-" is Paris


@given(st.text(max_size=40), st.text(max_size=30))
@examples(200)
def test_a_pseudonym_has_its_form(kind: str, value: str):
    word = pseudonym(ONE, kind, value)
    assert [each.word for each in pseudonyms_in(f"({word}) and x{word}y")] == [word]
    assert re.fullmatch(r"[A-Z1-9]{1,32}0[A-Z2-7]{16}0", word)


@pytest.mark.parametrize("language", languages())
def test_each_pseudonym_is_one_term_of_its_own_in_every_language(language: str):
    words = [pseudonym(ONE, kind, str(value)) for value in range(40) for kind in ("PERSON", "EMAIL_ADDRESS", "IBAN_CODE")]
    (terms,) = Analyzer(language)([" ".join(words)])
    assert len(terms) == len(set(terms)) == len(words)
    if language == "english":
        assert terms == [word.lower() for word in words]


def test_the_splitter_does_not_cut_a_pseudonym():
    words = [pseudonym(ONE, "PERSON", str(value)) for value in range(300)]
    text = " ".join(words)
    pieces, start = [], 0
    for cut in HierarchicalSplitter(leaf_words=7, parent_words=(20,))(text):
        pieces.append(text[start : cut.end])
        start = cut.end
    assert len(pieces) > 20
    assert [word for piece in pieces for word in piece.split()] == words
