"""Documents with their found passages, lists of documents, trees, and the index."""

from __future__ import annotations

import asyncio
import html
import re
from pathlib import Path

import pytest

from leafspan import Config, Document, Hybrid, Index, Rerank, SentenceWindow, Vector
from leafspan.lab.explaining import explain
from leafspan.lab.serving._pages import MOST_DOCUMENTS, MOST_TEXT
from leafspan.private import Key, Vault, private_view
from tests.corpus import HARBOUR
from tests.lab.serving.browsing import HOME, TOKEN, Browser

QUESTION = "When did the old pier burn down?"


def test_a_result_leads_to_its_place_in_the_document(browser: Browser, shared_index: Index):
    found = shared_index.retrieve(QUESTION, Hybrid(), k=1)
    page = browser.ask(QUESTION, "hybrid", k="1")
    link = page.links["in its document"]
    document = browser.open(link)
    assert document.marked == [found[0].text]
    assert f'id="{link.partition("#")[2]}"' in document.html
    assert "back to the question" in document.links
    assert browser.open(document.links["back to the question"]).fields == page.fields


def test_all_of_the_text_is_there(browser: Browser):
    page = browser.open("document", {"id": "harbour", "q": QUESTION, "s": "hybrid"})
    shown = re.sub(r"<span class=\"ls-badge\".*?</span>", "", page.html.partition('<div class="serve-text">')[2])
    words = re.sub("<.*?>", "", shown.partition("<aside")[0]).split()
    assert words == HARBOUR.split()


@pytest.mark.parametrize(
    ("id_", "text", "code"),
    [
        ("hive.py", "def dance(bee):\n    return bee.waggle()\n", "def dance(bee):\n    return bee.waggle()\n"),
        ("HIVE.RS", "fn dance() {}\n", "fn dance() {}\n"),
        ("hive.md", "The bees dance.\n\n```py\ndance(bee)\n```\n\nThen they sleep.\n", "```py\ndance(bee)\n```"),
        ("cut.md", "~~~\ndance(bee)\n~~~\n\n```py\ndance(bee)\n", "~~~\ndance(bee)\n~~~```py\ndance(bee)\n"),
        ("hive.txt", "The bees dance.\n```\nand sleep.\n", ""),
    ],
)
@pytest.mark.parametrize("path", ["", "document"])
def test_code_has_letters_of_one_width_on_each_page(tmp_path: Path, id_: str, text: str, code: str, path: str):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document(id_, text))
        with Browser(index) as browser:
            page = browser.open(path, [("id", id_), ("q", "dance"), ("s", "hybrid"), ("k", "9")])
    text_of = page.html.rpartition('<div class="ls-text" dir="auto">')[2].partition("</div>")[0]
    found = re.findall(r'<code class="ls-code">(.*?)</code>', text_of, re.DOTALL)
    assert html.unescape(re.sub("<.*?>", "", "".join(found))).strip() == code.strip()


def test_what_two_strategies_found_in_a_document_is_distinguished(browser: Browser, shared_index: Index):
    page = browser.open("document", [("id", "harbour"), ("q", QUESTION), ("s", "hybrid"), ("s", "windows"), ("k", "1")])
    (hit,) = shared_index.retrieve(QUESTION, Hybrid(), k=1)
    (window,) = shared_index.retrieve(QUESTION, SentenceWindow(), k=1)
    assert window.start <= hit.start < hit.end < window.end
    labels = [label for _, label in sorted([(hit.start, "A1"), (window.start, "B1")])]
    assert re.findall(r'class="ls-badge" id="(\w+)"', page.html) == labels
    assert re.findall(r'class="serve-span serve-both" title="([^"]*)"', page.html) == ["A1 hybrid, B1 windows"]
    assert "".join(page.marked) == window.text
    assert hit.text in page.marked


def test_the_outline_leads_to_headings(browser: Browser):
    page = browser.open("document", {"id": "harbour"})
    assert page.marked == []
    target = page.links["The lighthouse"]
    assert f'id="{target.partition("#")[2]}"' in browser.open(target).html
    assert "year" in page.text
    assert "1887" in page.text


def test_what_keeps_a_document_out_is_said_for_each_strategy(browser: Browser, shared_index: Index):
    asked = [("q", QUESTION), ("s", "hybrid"), ("s", "vector"), ("k", "1")]
    document = browser.open("document", [("id", "tea"), *asked])
    page = browser.open(document.links["why, and why not"])
    assert page.alerts == []
    for strategy in (Hybrid(), Vector()):
        said = str(explain(shared_index, QUESTION, strategy, document_id="tea", k=1))
        assert "is not returned" in said
        assert said in page.text
    assert browser.open(page.links["the document"]).html == document.html
    assert "why, and why not" not in browser.open("document", {"id": "tea"}).links


def test_a_long_document_comes_in_parts(tmp_path: Path):
    sentence = "This is sentence number {} of a long text that is not shown at once. "
    text = "".join(sentence.format(number) for number in range(1000))
    with Index.open(tmp_path / "kb") as index, Browser(index) as browser:
        index.add(Document("long", text))
        seen, page = "", browser.open("document", {"id": "long"})
        while True:
            part = re.sub("<.*?>", "", page.html.partition('<div class="ls-text" dir="auto">')[2].partition("</div>")[0])
            assert len(part) <= MOST_TEXT
            seen += part
            if "next" not in page.links:
                break
            page = browser.open(page.links["next"])
        assert seen == text
        found = browser.ask("sentence number 997", "hybrid", k="1")
        assert "number 997 " in browser.open(found.links["in its document"]).marked[0]


def test_a_passage_that_was_replaced_meanwhile_is_not_marked(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index, Browser(index) as browser:
        index.add(Document("a", "Honey is made by bees."))
        link = browser.ask("honey", "hybrid").links["in its document"]
        index.add(Document("a", "Wax is made by bees, too, and honey is sweet."))
        assert browser.open(link).marked == ["Wax is made by bees, too, and honey is sweet."]  # asked again


def test_a_summary_leads_to_its_tree(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index, Browser(index) as browser:
        index.add(Document("harbour", HARBOUR * 3, "The harbour"))
        index.build_tree()
        page = browser.ask("What is the harbour?", "summaries")
        tree = browser.open(page.links["its tree"])
        assert tree.text.count("layer 1") == sum(each.layer == 1 for each in index.summaries("harbour"))
        assert browser.open(tree.links["the document"]).status == 200
        assert browser.open(tree.links["all trees"]).status == 200


def test_without_trees_the_page_says_so(browser: Browser):
    assert "there are no summaries" in browser.open("trees").text
    assert "there are no summaries" in browser.open("trees", {"id": "tea"}).text


def test_documents_are_listed_page_by_page(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index, Browser(index) as browser:
        index.add([Document(f"{number:03}", "A text.", f"Title {number}") for number in range(MOST_DOCUMENTS + 5)])
        first = browser.open("documents")
        assert [each for each in first.links if each.isdigit()] == [f"{number:03}" for number in range(MOST_DOCUMENTS)]
        second = browser.open(first.links["next"])
        assert [each for each in second.links if each.isdigit()] == ["050", "051", "052", "053", "054"]
        assert "next" not in second.links
        assert browser.open(second.links["previous"]).html == browser.open("documents", {"find": "", "page": "1"}).html
        assert browser.open("documents", {"page": "999"}).html == second.html
        found = browser.send(first, find="TITLE 7")
        assert [each for each in found.links if each.isdigit()] == ["007"]
        assert "1 of 55 documents" in found.text
        assert browser.open(found.links["007"]).status == 200


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("document?id=nowhere", 404, "there is no document 'nowhere'"),
        ("document", 404, "there is no document ''"),
        ("document?id=tea&at=-1", 400, "at must be a whole number >= 0, got '-1'"),
        ("documents?page=0", 400, "page must be a whole number >= 1, got '0'"),
        ("documents?page=x", 400, "page must be a whole number >= 1, got 'x'"),
        ("trees?id=nowhere", 404, "there is no document 'nowhere'"),
        ("document?id=tea&q=x&s=hybird", 400, "hybird"),
        ("why?id=tea", 400, "a question is needed"),
        ("why?id=nowhere&q=tea", 404, "there is no document 'nowhere'"),
        ("why?id=tea&q=%20", 200, "must be a text that is not blank"),
        ("nowhere", 404, "there is no such page"),
        ("static/../../etc/passwd", 404, ""),
        ("..%2f..%2fetc%2fpasswd", 404, "there is no such page"),
    ],
)
def test_errors_are_pages(browser: Browser, address: str, status: int, message: str):
    page = browser.open(address)
    assert page.status == status
    assert message in page.text


def test_a_place_after_the_end_is_the_last_part(browser: Browser):
    assert browser.open("document?id=tea&at=99999999").status == 200


def test_the_index_is_described(browser: Browser, shared_index: Index):
    page = browser.open("index")
    assert f"{shared_index.stats().leaves:,}" in page.text
    assert "WordLlama" in page.text
    assert "sentence-window" in page.text  # the configuration of "windows"


def test_a_strategy_that_no_file_can_have_is_described_as_well(shared_index: Index):
    known = {"mine": Config(strategy=Rerank(rerank=lambda question, texts: [1.0] * len(texts)))}
    with Browser(shared_index, known) as browser:
        assert "Rerank(" in browser.open("index").text


def test_reading_that_takes_too_long_ends(shared_index: Index, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(type(shared_index), "adocuments", lambda _: asyncio.sleep(60))
    with Browser(shared_index, timeout=0.05) as browser:
        page = browser.open("documents")
    assert page.status == 503
    assert "took longer than 0.05 seconds" in page.alerts[0]


def test_the_token_is_on_no_page(browser: Browser):
    for address in ("", "documents", "document?id=tea&q=x&s=hybrid", "trees", "index", "nowhere"):
        page = browser.open(address)
        assert TOKEN not in page.html
        assert all(link.startswith("./") for link in page.links.values())
    assert HOME.endswith(f"{TOKEN}/")


def test_a_private_view_shows_what_its_reader_may_see(tmp_path: Path):
    pytest.importorskip("presidio_analyzer")
    vault = Vault.open(tmp_path / "vault", Key("for-this-test-only-0123456789-abcdefghijkl"))
    with Index.open(tmp_path / "kb") as index:
        masked = private_view(index, vault, known={"PERSON": ["Ada Lovelace"]})
        masked.add(
            Document("a", "# Life\n\nAda Lovelace wrote the first program.\n\n# Death\n\nAda Lovelace died in 1852.")
        )
        for view, is_shown in ((index, False), (masked, False), (masked.revealing(), True)):
            with Browser(view) as browser:
                id_ = view.documents()[0].id
                document = browser.open("document", {"id": id_, "q": "Who wrote the first program?", "s": "hybrid"})
                assert document.alerts == []
                assert ("Lovelace" in document.text) == is_shown
                assert ("Lovelace" in "".join(document.marked)) == is_shown


def test_the_values_of_metadata_are_offered_as_filters(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index, Browser(index) as browser:
        assert "Metadata" not in browser.open("index").text
        index.add(
            Document("tea", "Tea is hot.", metadata={"topic": 'the "red" <b>tea</b>', "tags": ["hot"], "long": "x" * 101})
        )
        index.add(Document("milk", "Milk is cold.", metadata={"topic": "milk", "tags": ["cold", "white"], "fat": 3.5}))
        page = browser.open("index", {"q": "hot or cold?"})
        assert "long" in page.text
        assert "x" * 101 not in page.text
        for value, document in [('the "red" <b>tea</b>', "tea"), ("white", "milk"), ("3.5", "milk")]:
            answers = browser.open(page.links[value])
            assert answers.alerts == []
            assert ("Tea is" in answers.text, "Milk is" in answers.text) == (document == "tea", document == "milk")
        assert browser.open(browser.open("index").links["white"]).fields[-1] == ("where", "F('tags').contains('white')")
