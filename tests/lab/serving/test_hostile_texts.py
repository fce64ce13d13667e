"""Pages show hostile documents, questions, filters and names, and these have no effect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from leafspan import Config, Document, Hybrid, Index
from tests.cli.test_terminal import HOSTILE, dangerous
from tests.lab.pictures.hostile import ALL, ANSI, HANDLER, OVERRIDE, SCRIPT
from tests.lab.pictures.test_hostile_texts import DRAWN, Parts
from tests.lab.serving.browsing import STRATEGIES, Browser, Page
from tests.profiles import examples, quick

ALL = [*ALL, HOSTILE]
TEXTS = [text for text in ALL if "\ud83d" not in text]  # half a character is no Unicode, and cannot be added
JOINERS = {"\xad", "\u200c", "\u200d"}  # which are part of words
FORM = {"form", "label", "input", "select", "option", "button", "aside", "pre"}
ADDRESSES = ["", "documents", "document", "trees", "index", "nowhere"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """An index in which every id, title, text, heading and metadata is hostile, and a strategy with such a name."""
    with Index.open(tmp_path_factory.mktemp("hostile") / "kb") as index:
        index.add(
            [Document(text, f"# {text}\n\nHoney {text}\n\n## {text}\n\nWax {text}", text, {"key": text}) for text in TEXTS]
        )
        index.build_tree(across_documents=True)
        with Browser(
            index, {**STRATEGIES, SCRIPT: Config(strategy=Hybrid()), HOSTILE: Config(strategy=Hybrid())}
        ) as browser:
            yield browser


def assert_harmless(page: Page) -> None:
    """That a page has only elements and attributes of ours, leads only to pages of ours, and nothing in it is obeyed."""
    parts = Parts(page.html)
    assert parts.tags <= DRAWN | FORM
    assert not {name for name in parts.attributes if name.startswith("on")}
    assert all(link.startswith("./") for link in parts.links)
    assert dangerous(page.html) <= JOINERS
    assert dangerous("".join(value for _, value in page.fields)) <= JOINERS
    page.html.encode()


@pytest.mark.parametrize("text", quick(4, TEXTS), ids=range(len(TEXTS)))
def test_documents(hostile: Browser, text: str):
    why = hostile.open("why", {"id": text, "q": f"honey {text}", "s": "hybrid", "k": "1"})
    assert why.status == 200
    assert_harmless(why)
    for fields in ({"id": text}, {"id": text, "q": "honey", "s": "hybrid"}):
        page = hostile.open("document", fields)
        assert page.status == 200
        assert_harmless(page)
    tree = hostile.open("trees", {"id": text})
    assert tree.status == 200
    assert_harmless(tree)
    found = hostile.open("documents", {"find": text})
    assert "1 of" in found.text
    assert_harmless(found)


@pytest.mark.parametrize("text", quick(2, ALL), ids=range(len(ALL)))
def test_questions_filters_and_all_other_fields(hostile: Browser, text: str):
    typed = text.replace("\ud83d", "")
    for address in ADDRESSES:
        for field in ("q", "s", "k", "budget", "where", "id", "at", "find", "page", "other"):
            page = hostile.open(address, {"q": "honey", "s": "hybrid", field: typed})
            assert page.status in (200, 400, 404)
            assert_harmless(page)


def test_results_of_all_hostile_documents(hostile: Browser):
    page = hostile.ask("honey", "hybrid", "windows", SCRIPT, k="50")
    assert page.html.count('class="ls-card"') >= 3 * len(TEXTS)
    assert_harmless(page)
    for address in ("documents", "trees", "index"):
        assert_harmless(hostile.open(address))


def test_links_lead_to_documents_with_any_ids(hostile: Browser):
    page = hostile.open("documents")
    links = [link for link in page.links.values() if link.startswith("./document?")]
    assert len(links) == len(TEXTS)
    for link in links:
        assert hostile.open(link).status == 200


def test_what_could_not_be_seen_is_shown(hostile: Browser):
    assert "evil\\u202egnp.exe" in hostile.open("document", {"id": OVERRIDE}).text


def test_a_hostile_text_is_text(hostile: Browser):
    page = hostile.open("document", {"id": HANDLER, "q": "honey", "s": "hybrid", "k": "50"})
    assert HANDLER in page.text
    assert any(HANDLER in each for each in page.marked)


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["q", "s", "k", "budget", "where", "id", "at", "find", "page"]),
        st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("<>&\"'\x00\x1b\u202e{}()F"), max_size=50),
    ),
    st.sampled_from(ADDRESSES),
)
def test_no_field_breaks_a_page(hostile: Browser, fields: dict[str, str], address: str):
    page = hostile.open(address, fields)
    assert page.status in (200, 400, 404)
    assert_harmless(page)


@pytest.mark.parametrize("path", ["%00", "%1b[31m", "a" * 5000, "%c3%28", "<script>", "..%5c..%5c", "document%3fid=x"])
def test_odd_paths_are_no_pages(hostile: Browser, path: str):
    page = hostile.open(path)
    assert page.status == 404
    assert_harmless(page)


@pytest.mark.parametrize(
    "query", ["id=%ff%fe", "id=%", "&&&==", "id=a;id=b", "%71=x&s=hybrid", "q=" + "%F0%9F%8D%AF" * 2000]
)
def test_odd_queries_are_answered(hostile: Browser, query: str):
    for address in ADDRESSES:
        page = hostile.open(f"{address}?{query}" if address else f"./?{query}")
        assert page.status in (200, 400, 404)
        assert_harmless(page)


def test_a_document_id_as_long_as_can_be_has_a_page(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index, Browser(index) as browser:
        id_ = "long/" * 60
        index.add(Document(id_, "Honey."))
        link = browser.ask("honey", "hybrid").links["in its document"]
        assert browser.open(link).status == 200


def test_a_filter_that_is_sent_again_means_the_same(hostile: Browser):
    for where in (f'F("key") == {ANSI!r}', json.dumps({"key": OVERRIDE}, ensure_ascii=False)):
        once = hostile.open("", {"q": "honey", "s": "hybrid", "where": where})
        again = hostile.open("", dict(once.fields) | {"s": "hybrid"})
        one, other = (each.links["in its document"].partition("where=")[0] for each in (once, again))
        assert one == other != ""
        assert dict(again.fields)["where"] == dict(once.fields)["where"]
