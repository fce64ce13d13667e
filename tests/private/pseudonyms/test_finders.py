"""What the finders find, and what they ignore."""

from __future__ import annotations

import builtins
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from leafspan import InvalidArgument, MissingExtra
from leafspan.errors import FinderFailed
from leafspan.private import Analyzed, Found, Patterns
from leafspan.private.pseudonyms import DEFAULT_KINDS, KnownTerms, find_all, to_finders
from leafspan.private.pseudonyms._entities import normal_value
from leafspan.private.pseudonyms._patterns import _classes


def found_by(finder: Any, text: str) -> list[tuple[str, str]]:
    return [(each.kind, text[each.start : each.end]) for each in find_all([finder], text)]


@pytest.fixture(scope="module")
def patterns() -> Patterns:
    return Patterns()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mail alice.smith+x@example.co.uk, please.", [("EMAIL_ADDRESS", "alice.smith+x@example.co.uk")]),
        ("Mail root@corp.internal", [("EMAIL_ADDRESS", "root@corp.internal")]),
        ("mails/ann@example.com/1.eml", [("EMAIL_ADDRESS", "ann@example.com")]),
        ("https://x.org/?to=ann@example.com&b=1", [("EMAIL_ADDRESS", "ann@example.com")]),
        ("a@b.cd,c@d.ef", [("EMAIL_ADDRESS", "a@b.cd"), ("EMAIL_ADDRESS", "c@d.ef")]),
        ("Call +49 30 901820.", [("PHONE_NUMBER", "+49 30 901820")]),
        ("Call (212) 555-0187 now", [("PHONE_NUMBER", "(212) 555-0187")]),
        ("Card 4111 1111 1111 1111", [("CREDIT_CARD", "4111 1111 1111 1111")]),
        ("IBAN DE89 3704 0044 0532 0130 00 it is", [("IBAN_CODE", "DE89 3704 0044 0532 0130 00")]),
        ("from 192.168.17.4", [("IP_ADDRESS", "192.168.17.4")]),
        ("from 2001:db8:85a3::8a2e:370:7334", [("IP_ADDRESS", "2001:db8:85a3::8a2e:370:7334")]),
        ("SSN 536-90-4399", [("US_SSN", "536-90-4399")]),
        ("NI AB123456C", [("UK_NINO", "AB123456C")]),
        ("NIF 12345678Z", [("ES_NIF", "12345678Z")]),
        ("Card 4111\u00a01111\u00a01111\u00a01111", [("CREDIT_CARD", "4111\u00a01111\u00a01111\u00a01111")]),
        ("Card 4111\u20111111\u20111111\u20111111", [("CREDIT_CARD", "4111\u20111111\u20111111\u20111111")]),
        ("\uff14111 1111 1111 111\uff11", [("CREDIT_CARD", "\uff14111 1111 1111 111\uff11")]),
        ("ann\uff20example.com", [("EMAIL_ADDRESS", "ann\uff20example.com")]),
        ("ann@\u200bexample\u00ad.com", [("EMAIL_ADDRESS", "ann@\u200bexample\u00ad.com")]),
        ("\u202a+49 30\u2060 90\u00ad1820\u202c", [("PHONE_NUMBER", "+49 30\u2060 90\u00ad1820")]),
        ("iban de89 3704 0044 0532 0130 00 it is", [("IBAN_CODE", "de89 3704 0044 0532 0130 00")]),
        ("De89370400440532013000", [("IBAN_CODE", "De89370400440532013000")]),
        ("nothing in 2024-05-31 at 10:00, page 12 of 1,234, costs 19.99", []),
        ("an @ sign, a@b, @ann and v1.2.3", []),
        ("", []),
    ],
)
def test_patterns_are_found(patterns: Patterns, text: str, expected: list[tuple[str, str]]):
    assert found_by(patterns, text) == expected


def test_an_address_with_what_is_not_seen_in_it_is_the_same_address(patterns: Patterns):
    plain, hidden = "ann@example.com", "ann@\u200bex\u00adample.com"
    [one], [other] = find_all([patterns], plain), find_all([patterns], hidden)
    assert normal_value(one.kind, one.value or plain) == normal_value(other.kind, other.value or hidden)


def test_numbers_with_a_wrong_check_digit_are_no_numbers(patterns: Patterns):
    assert not {"CREDIT_CARD", "IBAN_CODE"} & {
        kind for kind, _ in found_by(patterns, "4111 1111 1111 1112, DE89 3704 0044 0532 0130 01")
    }


def test_kinds_can_be_chosen_from_all_of_presidio():
    assert found_by(Patterns(kinds=["URL"]), "see https://example.com/x") == [("URL", "https://example.com/x")]
    assert set(DEFAULT_KINDS) <= set(_classes())
    with pytest.raises(InvalidArgument, match="got 'EMAIL_ADRESS'; did you mean 'EMAIL_ADDRESS'"):
        Patterns(kinds=["EMAIL_ADRESS"])
    with pytest.raises(InvalidArgument, match="kinds must be a list of texts, got 'URL'"):
        Patterns(kinds="URL")
    with pytest.raises(InvalidArgument, match=r"min_score must be a number in \[0, 1\], got 2"):
        Patterns(min_score=2)


def test_long_texts_are_searched_in_a_moment(patterns: Patterns):
    """Presidio's own patterns need minutes for a run of letters before an @."""
    assert found_by(patterns, "a" * 300_000 + " ann@example.com " + "b" * 300_000) == [("EMAIL_ADDRESS", "ann@example.com")]
    (found,) = find_all([patterns], "c" * 300_000 + "@example.com")
    assert (found.kind, found.end) == ("EMAIL_ADDRESS", 300_012)


def test_nothing_asks_the_network(patterns: Patterns, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert found_by(patterns, "ann@example.com +49 30 901820")


def test_importing_leafspan_loads_neither_presidio_nor_cryptography():
    code = "import leafspan, sys; print([m for m in ('presidio_analyzer', 'spacy', 'cryptography', 'phonenumbers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_presidio_is_an_error_that_says_what_to_type(monkeypatch: pytest.MonkeyPatch):
    original = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "presidio_analyzer":
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    _classes.cache_clear()
    with pytest.raises(
        MissingExtra, match=r'pip install "\.\[pii\]" in the clone of leafspan; or pass a finder of your own'
    ):
        Patterns()
    assert to_finders((), {"PERSON": ["Ann"]})  # which needs no Presidio


TERMS = KnownTerms(
    {
        "PERSON": ["Alice Smith", "O'Brien", "Zoë", ["Robert Jones", "Bob  Jones"], "李小龙", "Ann", "Müller-Lüdenscheidt"],
        "ADDRESS": ["17 Marigold Lane", "#12, High St."],
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice Smith's letter", ["Alice Smith"]),
        ("ALICE\n  SMITH", ["ALICE\n  SMITH"]),
        ("alice_smith.pdf and Alice\u00a0Smith", ["alice_smith", "Alice\u00a0Smith"]),
        ("O’Brien, o'brien and O’BRIEN’s", ["O’Brien", "o'brien", "O’BRIEN"]),
        ("Zoe\u0308 and ZOË", ["Zoe\u0308", "ZOË"]),
        ("Anne, Annabel, xAnn and Ann2", []),
        ("Ann, (Ann) and Ann-Marie", ["Ann", "Ann", "Ann"]),
        ("我看到李小龙了", ["李小龙"]),
        ("at 17  marigold lane, at #12, High St. too", ["17  marigold lane", "#12, High St."]),
        ("Muller and MÜLLER-LÜDENSCHEIDT", ["MÜLLER-LÜDENSCHEIDT"]),
        ("ﬁnd 😀 Ann 😀", ["Ann"]),
        ("Ali\u00adce Smith and Al\u200dice\u2060 Smith", ["Ali\u00adce Smith", "Al\u200dice\u2060 Smith"]),
        ("Alice\u200bSmith, \u202eAnn\u202c", ["Alice\u200bSmith", "Ann\u202c"]),
        ("\ufeffAnn", ["Ann"]),
        ("Alice and Smith", []),
    ],
)
def test_known_terms_are_found_as_whole_words(text: str, expected: list[str]):
    assert [word for _, word in found_by(TERMS, text)] == expected


def test_spellings_of_one_thing_have_one_value():
    assert [each.value for each in TERMS("Bob Jones is Robert jones")] == ["Robert Jones", "Robert Jones"]


def test_many_terms_are_found_in_a_moment():
    names = [f"First{number} Last{number}" for number in range(20_000)]
    text = " ".join(names[:5000]) + " nobody " * 20_000
    assert len(KnownTerms({"PERSON": names})(text)) == 5000


class Analyzer:
    """What Presidio's AnalyzerEngine looks like."""

    def analyze(self, text: str, language: str, entities: Any = None, score_threshold: float | None = None) -> list[Any]:
        self.asked = (language, entities, score_threshold)
        start = text.find("Carol")
        return [] if start < 0 else [type("Result", (), {"start": start, "end": start + 5, "entity_type": "PERSON"})()]


def test_an_analyzer_of_presidio_is_a_finder():
    analyzer = Analyzer()
    (finder,) = to_finders(analyzer, None)
    assert found_by(finder, "It was Carol.") == [("PERSON", "Carol")]
    assert analyzer.asked == ("en", None, 0.4)
    assert found_by(Analyzed(analyzer, language="de", min_score=0.7, kinds=["PERSON"]), "Carol") == [("PERSON", "Carol")]
    assert analyzer.asked == ("de", ["PERSON"], 0.7)


def test_presidios_own_analyzer_is_a_finder():
    from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NlpArtifacts

    class NoModel:
        """An engine without a model, since none can be downloaded here."""

        def process_text(self, text: str, language: str) -> NlpArtifacts:
            return NlpArtifacts([], [], [], [], self, language)  # type: ignore[arg-type]

        def is_loaded(self) -> bool:
            return True

        def get_supported_languages(self) -> list[str]:
            return ["en"]

    registry = RecognizerRegistry(recognizers=[PatternRecognizer("PERSON", deny_list=["Carol"])])
    engine = AnalyzerEngine(registry=registry, nlp_engine=NoModel(), supported_languages=["en"])  # type: ignore[arg-type]
    assert found_by(to_finders(engine, None)[0], "It was Carol.") == [("PERSON", "Carol")]


def _broken(text: str) -> Iterator[Any]:
    yield (0, 1, "A")
    raise RuntimeError(f"cannot read {text!r}")


@pytest.mark.parametrize(
    "finder",
    [
        _broken,
        lambda text: [text],
        lambda text: [(0, len(text) + 1, "A")],
        lambda text: [(-1, 2, "A")],
        lambda text: [(2, 2, "A")],
        lambda text: [(0, 1, 7)],
        lambda text: [(True, 2, "A")],
        lambda text: [(0, 1)],
        lambda text: [(0, 1, "A", 3)],
        lambda text: 7,
        lambda text: None,
    ],
)
def test_a_finder_that_fails_is_an_error_that_quotes_no_text(finder: Any):
    with pytest.raises(FinderFailed, match=r"the finder .* (failed with|must return)") as caught:
        find_all([finder], "a secret text")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_finder_may_return_tuples_or_found():
    assert find_all([lambda _: [(0, 1, "A"), Found(2, 3, "B", "b")]], "xyz") == [Found(0, 1, "A"), Found(2, 3, "B", "b")]
