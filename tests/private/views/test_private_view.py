"""A private view: what each reader sees, and that every restored text equals the original."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import get_ident

import pytest
from langchain_core.documents import Document as LangChainDocument

from langchain_ext import HybridRetriever, SentenceWindowRetriever, leaf_documents
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Chunk,
    Document,
    DocumentNotFound,
    Ensemble,
    F,
    Hybrid,
    Index,
    InvalidArgument,
    ParentDocument,
    SentenceWindow,
    Tree,
    Vector,
    chunks_of,
)
from leafspan.errors import InvalidDocument
from leafspan.private import PIIAware, PrivateView, Vault, private_view
from leafspan.private.pseudonyms import pseudonyms_in
from leafspan.private.views import _showing
from leafspan.strategies import Embed, HostResult, HostRetriever, Passage, Strategy, Trace, outside_candidate
from tests.corpus import SPLITTER
from tests.everything import everything
from tests.private.views.people import (
    ALICE,
    DOCUMENTS,
    KEY,
    KNOWN,
    LETTER,
    PHONE,
    fixed_vault,
    is_in_the_clear,
    opened,
    write_files,
)


@pytest.fixture(scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index and a vault with the documents, closed."""
    folder = tmp_path_factory.mktemp("people")
    index, view = opened(folder)
    with index:
        view.add(DOCUMENTS)
    return folder


@pytest.fixture(scope="module")
def only_read(tmp_path_factory: pytest.TempPathFactory, _folder: Path) -> Iterator[PrivateView]:
    """A view that reveals nothing, for tests that only read."""
    index, view = opened(shutil.copytree(_folder, tmp_path_factory.mktemp("read") / "people"))
    with index:
        yield view


@pytest.fixture
def view(tmp_path: Path, _folder: Path) -> Iterator[PrivateView]:
    """A view that reveals nothing, of an index with the documents."""
    index, view = opened(shutil.copytree(_folder, tmp_path, dirs_exist_ok=True))
    with index:
        yield view


@pytest.fixture
def revealing(view: PrivateView) -> PrivateView:
    return view.revealing()


def word(view: PrivateView, kind: str, value: str) -> str:
    return view.vault.pseudonym(kind, value)


# who sees what


def test_a_document_comes_back_as_it_was_added(revealing: PrivateView):
    for document in DOCUMENTS:
        assert revealing.get(document.id) == document


def test_without_reveal_it_is_masked(view: PrivateView):
    letter = view.get("letter")
    alice, mail = word(view, "PERSON", "Alice Smith"), word(view, "EMAIL_ADDRESS", ALICE)
    assert letter.title == f"On {alice}"
    assert letter.text.startswith(f"# Letter of {alice}\n\n{alice} wrote to the council about the harbour.")
    assert letter.metadata["from"] == mail
    assert letter.metadata["to"] == ["council", word(view, "PERSON", "Zoë Łuczak")]
    assert {alice, mail} < set(letter.metadata["entities"])
    assert "vault_record" not in letter.metadata
    assert is_in_the_clear(everything([view.documents(), view.leaves()])) == []


def test_a_passage_lists_the_pseudonyms_in_it_and_no_leaf_stores_all_of_the_document(tmp_path: Path):
    mails = [f"person{number}@example.com" for number in range(60)]
    text = " ".join(f"Number {number} writes to {mail} today." for number, mail in enumerate(mails))
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        view = private_view(index, Vault.open(tmp_path / "vault.db", KEY))
        view.add(Document("mails", text))
        assert len(view.get("mails").metadata["entities"]) == 60
        for passage in [*view.leaves(), *view.retrieve("Who writes?", ParentDocument(), k=3)]:
            listed = passage.metadata["entities"]
            assert listed == sorted(word for word in re.findall(r"EMAILADDRESS\w+", passage.text))
            assert 0 < len(listed) < 60
        stored = index.client.get_collection("kb.leaves").get(include=["metadatas"])
        assert all("entities" not in metadata for metadata in stored["metadatas"])
        assert len(view.retrieve("Who writes?", where=F("entities").contains(mails[7]))) > 0
        assert view.add(Document("mails", text)).unchanged == 1


def test_kinds_can_be_revealed_alone(view: PrivateView):
    people = view.revealing(["PERSON"])
    letter = people.get("letter")
    assert letter.title == "On Alice Smith"
    assert "ALICE SMITH paid" in letter.text
    assert ALICE not in letter.text
    assert word(view, "EMAIL_ADDRESS", ALICE) in letter.text
    for leaf in people.leaves("letter"):
        assert letter.text[leaf.start : leaf.end] == leaf.text
    assert "".join(leaf.text for leaf in people.leaves("letter")) == letter.text


@pytest.mark.parametrize(
    "strategy",
    [
        None,
        Vector(),
        BM25(),
        Hybrid(),
        PIIAware(),
        PIIAware(base=AutoMerging()),
        SentenceWindow(),
        AutoMerging(),
        Browse(),
        PIIAware(base=Hybrid(), weights=(1, 1)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("reveal", [True, False, ["PERSON", "CREDIT_CARD"]], ids=str)
def test_each_passage_is_the_text_at_its_characters(only_read: PrivateView, strategy: object, reveal: object):
    shown = only_read.revealing(reveal)  # type: ignore[arg-type]
    passages = shown.retrieve("What did Alice Smith write to the council, and who called?", strategy, k=20)  # type: ignore[arg-type]
    assert passages
    for passage in passages:
        document = shown.get(passage.document_id)
        assert document.text[passage.start : passage.end] == passage.text
        assert passage.id.startswith(document.id)
        assert passage.title == document.title
        around = shown.surroundings(passage, before=1, after=1)
        assert document.text[around.start : around.end] == around.text


def test_the_original_has_the_passages_text(revealing: PrivateView):
    passages = revealing.retrieve("What did Alice Smith write?", Browse())
    for passage in passages:
        (document,) = [each for each in DOCUMENTS if each.id == passage.document_id]
        assert document.text[passage.start : passage.end] == passage.text


def test_lines_match_the_original_where_a_name_goes_over_a_line_end(view: PrivateView, revealing: PrivateView):
    lines = LETTER.split("\n")
    for leaf in revealing.leaves("letter"):
        assert leaf.lines is not None
        first, last = leaf.lines
        assert leaf.text.strip().split("\n")[0] in lines[first - 1]
        assert leaf.text.strip().split("\n")[-1] in lines[last - 1]
    assert "Smith is in the archive" in lines[revealing.leaves("letter")[-1].lines[1] - 1]  # type: ignore[index]
    masked = view.get("letter").text.split("\n")
    for leaf in view.leaves("letter"):
        assert leaf.text.strip().split("\n")[0] in masked[leaf.lines[0] - 1]  # type: ignore[index]


def test_headings_are_restored(view: PrivateView, revealing: PrivateView):
    (found,) = revealing.retrieve("the council", BM25(), k=1)
    assert found.headings == ("Letter of Alice Smith",)
    (masked,) = view.retrieve("the council", BM25(), k=1)
    assert masked.headings == (f"Letter of {word(view, 'PERSON', 'Alice Smith')}",)


def test_metadata_of_a_chunk_are_restored(revealing: PrivateView):
    found = revealing.retrieve("Who took the minutes?", BM25(), where=F("doc_id") == "minutes")
    assert {passage.metadata["speaker"] for passage in found} <= {"Alice Smith", "Bob Quillfeather"}
    assert [leaf.metadata["speaker"] for leaf in revealing.leaves("minutes")] == ["Alice Smith", "Bob Quillfeather"]


def test_documents_are_listed_with_their_own_sizes(revealing: PrivateView):
    (letter,) = [info for info in revealing.documents() if info.id == "letter"]
    assert letter.characters == len(LETTER)
    assert letter.words == len(LETTER.split())
    assert letter.title == "On Alice Smith"


def test_a_name_that_a_splitter_cuts_is_whole_in_one_piece(tmp_path: Path):
    text = "Here is Alice Smith. And there is Bob Quillfeather, who knows Alice Smith."
    with Index.open(tmp_path / "kb", splitter=_every_ten) as index:
        view = private_view(index, Vault.open(tmp_path / "vault.db", KEY), known=KNOWN, finder=(), reveal=True)
        view.add(Document("a", text))
        leaves = view.leaves("a")
        assert len(leaves) > 8
        assert [leaf.text for leaf in leaves] == [text[leaf.start : leaf.end] for leaf in leaves]
        assert "".join(leaf.text for leaf in leaves) == text


def _every_ten(text: str) -> list:
    from leafspan.splitting import Cut

    return [Cut(end) for end in [*range(10, len(text), 10), len(text)]]


# what goes in


def test_adding_again_changes_nothing(view: PrivateView):
    again = view.add(DOCUMENTS)
    assert (again.added, again.replaced, again.unchanged) == ((), (), len(DOCUMENTS))


def test_another_way_to_write_a_name_replaces_the_document(view: PrivateView, revealing: PrivateView):
    other = Document("note", "Alice  Smith was here.")
    view.add(other)
    assert revealing.get("note").text == "Alice  Smith was here."
    assert view.add(replace(other, text="ALICE SMITH was here.")).replaced == ("note",)
    assert revealing.get("note").text == "ALICE SMITH was here."
    assert view.get("note").text == f"{word(view, 'PERSON', 'Alice Smith')} was here."


def test_ids_with_entities_are_masked_and_found_by_either_id(view: PrivateView, revealing: PrivateView):
    added = view.add(Document(ALICE, "A page about planks."))
    masked = word(view, "EMAIL_ADDRESS", ALICE)
    assert added.added == (masked,)
    for id_ in (ALICE, masked):
        assert view.get(id_).id == masked
        assert revealing.get(id_).id == ALICE
        assert [leaf.document_id for leaf in revealing.leaves(id_)] == [ALICE]
    assert [passage.document_id for passage in revealing.retrieve("planks", where=F("doc_id") == ALICE)] == [ALICE]
    assert revealing.delete([ALICE, "unknown"]) == [ALICE]
    with pytest.raises(DocumentNotFound, match=masked):
        view.get(ALICE)


def test_ids_are_found_also_after_the_terms_have_changed(tmp_path: Path):
    vault = Vault.open(tmp_path / "vault.db", KEY)
    with Index.open(tmp_path / "kb") as index:
        private_view(index, vault, known={"PERSON": ["Ann"]}, finder=()).add(Document("Ann", "A page."))
        later = private_view(index, vault, known={"PERSON": ["Zoe"]}, finder=(), reveal=True)
        assert later.get("Ann").text == "A page."
        assert later.delete(["Ann"]) == ["Ann"]


def test_made_ids_are_not_made_of_clear_text(view: PrivateView, revealing: PrivateView):
    """Of a hash of the clear text, somebody could guess the name in it."""
    document = LangChainDocument(f"Call {PHONE}.", metadata={"source": f"mails/{ALICE}/1.eml"})
    (masked,) = view.add(document).added
    assert masked.startswith(f"mails/{word(view, 'EMAIL_ADDRESS', ALICE)}/1.eml:")
    in_the_clear = tuple(Index.open(view.vault.path.parent / "other").add(document).added)
    assert in_the_clear[0].rpartition(":")[2] != masked.rpartition(":")[2]
    restored = revealing.get(masked)
    assert restored.id.startswith(f"mails/{ALICE}/1.eml:")
    assert revealing.get(restored.id) == restored
    assert restored.metadata == {"source": f"mails/{ALICE}/1.eml"}


def test_a_sync_of_files_with_names_in_their_names(view: PrivateView, revealing: PrivateView, tmp_path: Path):
    folder = write_files(tmp_path / "files")
    first = revealing.sync(folder)
    assert set(first.added) == {
        "files/Alice Smith.md",
        "files/harbour.md",
        *(f"files/people.jsonl#line={line}" for line in (1, 2)),
    }
    assert revealing.get("files/Alice Smith.md").text == "# Alice Smith\n\nShe was born near the harbour.\n"
    assert len(revealing.sync(folder).unchanged) == 4
    (folder / "Alice Smith.md").unlink()
    assert revealing.sync(folder, dry_run=True).deleted == ("files/Alice Smith.md",)
    assert revealing.sync(folder).deleted == ("files/Alice Smith.md",)
    assert len(view.documents()) == len(DOCUMENTS) + 3


def test_a_file_that_cannot_be_read_keeps_its_document(view: PrivateView, revealing: PrivateView, tmp_path: Path):
    folder = write_files(tmp_path / "files")
    view.sync(folder)
    (folder / "Alice Smith.md").write_bytes(b"no text: \x81\x00\xff")
    synced = view.sync(folder)
    assert synced.deleted == ()
    assert [is_in_the_clear(each.path) for each in synced.skipped] == [[]]
    assert revealing.get("files/Alice Smith.md").text.startswith("# Alice Smith")


def test_a_sync_within_a_filter_on_a_masked_value(view: PrivateView):
    mails = [Document(f"mail {number}", "A text.", metadata={"from": ALICE}) for number in range(3)]
    view.add(mails)
    synced = view.sync(mails[:2], within=F("from") == ALICE)
    assert set(synced.deleted) == {"letter", "mail 2"}


def test_metadata_can_be_left_in_the_clear(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        view = private_view(index, Vault.open(tmp_path / "vault.db", KEY), known=KNOWN, clear=["created"])
        view.add(Document("a", "A text.", metadata={"created": 1700000000, "phone": 2125550187, "who": "Alice Smith"}))
        metadata = view.get("a").metadata
        assert metadata["created"] == 1700000000
        assert metadata["phone"] == view.vault.pseudonym("PHONE_NUMBER", "2125550187")
        assert view.revealing().get("a").metadata == {"created": 1700000000, "phone": 2125550187, "who": "Alice Smith"}
        assert view.retrieve("A text", where=F("phone") == 2125550187)
        assert view.retrieve("A text", where=F("created") > 1600000000)


def test_an_entities_field_of_the_users_own_is_refused_and_another_can_be_named(tmp_path: Path):
    document = Document("a", "Alice Smith", metadata={"entities": ["mine"]})
    with Index.open(tmp_path / "kb") as index:
        vault = Vault.open(tmp_path / "vault.db", KEY)
        with pytest.raises(
            InvalidDocument, match="metadata key 'entities', which a private view sets; give the view another"
        ):
            private_view(index, vault, known=KNOWN).add(document)
        view = private_view(index, vault, known=KNOWN, entities_field="people")
        view.add(document)
        assert view.get("a").metadata == {"entities": ["mine"], "people": [vault.pseudonym("PERSON", "Alice Smith")]}
        assert view.revealing().get("a") == document
        assert view.retrieve("Alice Smith", PIIAware(entities_field="people"))[0].document_id == "a"


def test_a_masked_document_can_be_added_again(view: PrivateView):
    masked = view.get("letter")
    view.add(replace(masked, id="copy"))
    assert view.get("copy").text == masked.text


# what is asked


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (F("from") == ALICE, ["letter"]),
        (F("from") == ALICE.upper(), ["letter"]),
        (F("from") != ALICE, ["minutes", "report"]),
        (F("from").in_([ALICE, "x"]), ["letter"]),
        (F("to").contains("Zoë Łuczak"), ["letter"]),
        (F("to").contains_any(["nobody", "zoë łuczak"]), ["letter"]),
        (F("Robert Quillfeather").exists(), ["report"]),
        (F("Robert Quillfeather") == True, ["report"]),  # noqa: E712
        (F("entities").contains("Alice Smith"), ["letter", "minutes"]),
        (F("doc_id") == "report:Zoë Łuczak", ["report"]),
        ((F("year") > 1900) & ~(F("from") == "x@example.com"), ["letter"]),
        ({"from": {"$eq": ALICE}}, ["letter"]),
        ({"field": "meta.from", "operator": "==", "value": ALICE}, ["letter"]),
        (F("from").text_match(ALICE), ["letter"]),
    ],
    ids=repr,
)
def test_filters_are_asked_in_the_clear(only_read: PrivateView, where: object, expected: list[str]):
    found = only_read.revealing().retrieve(None, Browse(), where=where)
    assert sorted({passage.document_id.partition(":")[0] for passage in found}) == expected


def test_pseudonyms_have_no_order(view: PrivateView):
    with pytest.raises(InvalidArgument, match=r"F\('from'\) >: pseudonyms have no order"):
        view.retrieve("planks", where=F("from") > ALICE)


def test_a_pseudonym_can_be_asked_for(view: PrivateView):
    alice = word(view, "PERSON", "Alice Smith")
    by_name = view.retrieve("What did Alice Smith write?", PIIAware())
    assert view.retrieve(f"What did {alice} write?", PIIAware()) == by_name


def test_the_results_are_the_same_whether_they_are_revealed_or_not(view: PrivateView, revealing: PrivateView):
    question = "Who called Alice Smith?"
    for strategy in (Hybrid(), PIIAware(), SentenceWindow()):
        masked, restored = view.retrieve(question, strategy), revealing.retrieve(question, strategy)
        assert [passage.score for passage in masked] == [passage.score for passage in restored]


def test_lists_of_questions_have_lists_of_results(revealing: PrivateView):
    one, two = revealing.retrieve_many(["Alice Smith", "planks"], Hybrid(), k=2)
    assert one == revealing.retrieve("Alice Smith", Hybrid(), k=2)
    assert two == revealing.retrieve("planks", Hybrid(), k=2)
    assert revealing.retrieve_many([], Hybrid()) == []


def test_summaries_are_made_of_masked_text_and_restored(view: PrivateView, revealing: PrivateView):
    seen: list[str] = []

    def summarize(texts: list[str]) -> str:
        seen.extend(texts)
        return max((part for text in texts for part in text.split() if part.startswith("PERSON0")), default="Nobody.")

    built = revealing.build_tree(summarizer=summarize, across_documents=True)
    assert set(built.built) == {document.id for document in DOCUMENTS}
    assert is_in_the_clear(" ".join(seen)) == []
    assert is_in_the_clear(everything(view.summaries())) == []
    restored = revealing.summaries("letter")
    assert {passage.text.rstrip("'.,s") for passage in restored} <= {"Alice Smith", "Robert Quillfeather", "Nobody"}
    for passage in restored:
        assert passage.summary is not None
        for run in passage.summary.covers:
            leaves = revealing.leaves(run.document_id)[run.first : run.last + 1]
            assert (run.start, run.end) == (leaves[0].start, leaves[-1].end)
        assert (passage.start, passage.end) == (passage.summary.covers[0].start, passage.summary.covers[-1].end)
    assert revealing.retrieve("Alice Smith", Tree(), k=3)


def test_a_scoped_view_of_a_private_view_is_private(view: PrivateView):
    tenant = view.scoped(F("from") == ALICE)
    assert isinstance(tenant, PrivateView)
    assert [info.id for info in tenant.documents()] == ["letter"]
    tenant.add(Document("note", "Bob Quillfeather was here."))
    assert is_in_the_clear(everything([tenant.documents(), tenant.get("note")])) == []
    assert tenant.revealing().get("note").text == "Bob Quillfeather was here."
    assert tenant.revealing().get("note").metadata["from"] == ALICE  # which the filter has added
    view.add(Document("note", "Another note of Alice Smith."))
    assert tenant.revealing().get("note").text == "Bob Quillfeather was here."
    assert tenant.revealing().scoped(F("year") > 1900).retrieve("council")[0].text.startswith("# Letter of Alice Smith")


def test_views_are_equal_if_they_show_the_same(view: PrivateView, tmp_path: Path):
    assert view == view.revealing(False)
    assert view != view.revealing()
    assert view.scoped(F("year") > 1900) == view.scoped(F("year") > 1900)
    assert hash(view) == hash(view.revealing(False))
    with Index.open(tmp_path / "other") as index:
        assert index != private_view(index, view.vault, known=KNOWN)
        assert private_view(index, view.vault, finder=(), known=KNOWN) != index


def test_a_hosts_retriever_over_revealed_leaves_serves_as_a_base(view: PrivateView, revealing: PrivateView):
    asked: list[str] = []
    leaves = {document.id: document for document in leaf_documents(revealing)}

    def ask(question: str) -> list[HostResult]:
        asked.append(question)
        return [
            HostResult(id_, document.page_content, None)
            for id_, document in leaves.items()
            if "called" in document.page_content
        ]

    async def aask(question: str) -> list[HostResult]:
        return ask(question)

    base = SentenceWindow(base=HostRetriever("mine", ask, aask))
    (found,) = revealing.retrieve("Who called Alice Smith?", base)
    assert "Then Robert Quillfeather called her." in found.text
    assert is_in_the_clear(" ".join(asked)) == []
    assert asyncio.run(view.aretrieve("Who called Alice Smith?", base))[0].score == found.score


def test_what_another_source_has_is_masked_too(view: PrivateView, revealing: PrivateView):
    async def aask(question: str) -> list[HostResult]:
        return ask(question)

    def ask(question: str) -> list[HostResult]:
        return [HostResult("web 1", "Alice Smith and Nobody Else", 1.0, {"who": "Alice Smith"}, origin="Alice Smith")]

    source = HostRetriever("web", ask, aask)
    (masked,) = view.retrieve("Who is Alice Smith?", source)
    assert is_in_the_clear(everything(masked)) == []
    assert masked.origin is None
    (restored,) = revealing.retrieve("Who is Alice Smith?", source)
    assert (restored.text, restored.metadata) == ("Alice Smith and Nobody Else", {"who": "Alice Smith"})


def test_the_retrievers_of_a_host_work_over_it(view: PrivateView, revealing: PrivateView):
    (masked,) = HybridRetriever(index=view, k=1).invoke("What did Alice Smith write to the council?")
    assert is_in_the_clear(everything(masked)) == []
    (restored,) = HybridRetriever(index=revealing, k=1).invoke("What did Alice Smith write to the council?")
    assert restored.page_content == LETTER[restored.metadata["start"] : restored.metadata["end"]]
    cited = LangChainDocument("a copy", metadata={key: restored.metadata[key] for key in ("doc_id", "start", "end")})
    assert revealing.surroundings(cited, before=0, after=0).text == restored.page_content


def test_the_asynchronous_methods_do_the_same(view: PrivateView, revealing: PrivateView):
    async def everything() -> None:
        assert (await revealing.aget("letter")).text == LETTER
        assert await view.adocuments() == view.documents()
        assert await view.avalues("from") == view.values("from")
        where = F("from").exists()
        assert await view.adocuments(where) == [each for each in view.documents() if "from" in each.metadata] != []
        assert await view.aretrieve("planks", Hybrid()) == view.retrieve("planks", Hybrid())
        added = await view.aadd(Document("late", "Alice Smith came late."))
        assert added.added == ("late",)
        assert await view.adelete(["late"]) == ["late"]
        assert (await view.a_sync(DOCUMENTS, within="everything")).deleted == ()
        assert await view.aclean() == 0

    asyncio.run(everything())


def test_a_document_that_was_added_without_the_view_is_shown_as_it_is(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        plain = Document("plain", "Alice Smith in the clear.", metadata={"entities": ["mine"]})
        index.add(plain)
        view = private_view(index, Vault.open(tmp_path / "vault.db", KEY), known=KNOWN, reveal=True)
        assert view.get("plain") == plain
        assert view.retrieve("in the clear", Vector())[0].text == plain.text


def test_chunks_become_the_leaves_of_a_private_document(tmp_path: Path):
    texts = ["Alice Smith wrote.", "Bob Quillfeather read.", "Nobody answered."]
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        view = private_view(index, Vault.open(tmp_path / "vault.db", KEY), known=KNOWN, finder=(), reveal=True)
        view.add(chunks_of(texts, id="a"))
        assert [leaf.text.strip() for leaf in view.leaves("a")] == texts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"finder": 3}, "a finder must be a function"),
        ({"finder": ()}, "needs entities to look for"),
        ({"finder": [len, 3]}, "a finder must be a function"),
        ({"known": ["Alice"]}, "known terms must be lists of texts by kind, got list"),
        ({"known": {"PERSON": "Alice"}}, "must be a list of texts, got str"),
        ({"known": {"PERSON": [" "]}}, "not blank"),
        ({"reveal": "PERSON"}, "reveal must be True, False or a list of kinds"),
        ({"reveal": 1}, "reveal must be True, False or a list of kinds"),
        ({"clear": 3}, "clear must be a list of metadata keys"),
        ({"clear": "year"}, "clear must be a list of metadata keys"),
        ({"entities_field": "doc_id"}, "entities_field must be a metadata key that is not reserved"),
        ({"entities_field": ""}, "entities_field must be a metadata key that is not reserved"),
    ],
)
def test_options_are_checked(shared_index: Index, tmp_path: Path, options: dict, message: str):
    vault = Vault.open(tmp_path / "vault.db", KEY)
    with pytest.raises(InvalidArgument, match=message):
        private_view(shared_index, vault, **options)
    with pytest.raises(InvalidArgument, match="vault must be a Vault, opened with"):
        private_view(shared_index, "vault.db")  # type: ignore[arg-type]


def test_a_retriever_over_what_is_revealed_may_be_a_base_over_what_is_not(view: PrivateView, revealing: PrivateView):
    """Each masks and shows by its own rules; the index is the same."""
    base = HybridRetriever(index=revealing, k=4)
    mixed = SentenceWindowRetriever(index=view, base=base, k=2)
    documents = mixed.invoke("Who called Alice Smith?")
    assert documents
    assert is_in_the_clear(everything(documents)) == []
    (again,) = SentenceWindowRetriever(index=revealing, base=HybridRetriever(index=view, k=1), k=1).invoke(
        "Who called her?"
    )
    text = revealing.get(again.metadata["doc_id"]).text
    assert again.page_content == text[again.metadata["start"] : again.metadata["end"]]


def test_a_strategy_that_brings_passages_of_its_own_is_masked(view: PrivateView, revealing: PrivateView):
    class Web(Strategy):
        def retrieve(self, queries, context):
            text = f"Alice Smith was asked: {queries[0].text}"
            passage = Passage(
                "web", "", None, None, text, 1.0, {"by": "Zoë Łuczak"}, Trace(), kind="row", origin="Alice Smith"
            )
            yield Embed(("Alice Smith",))
            return [[outside_candidate(passage)] for _ in queries]

    (masked,) = view.retrieve("Where is Alice Smith?", Web())
    assert is_in_the_clear(everything(masked)) == []
    (restored,) = revealing.retrieve("Where is Alice Smith?", Web())
    assert restored.text == "Alice Smith was asked: Where is Alice Smith?"


async def test_texts_of_a_strategy_are_masked_off_the_event_loop(tmp_path: Path):
    class Asks(Strategy):
        def retrieve(self, queries, context):
            yield Embed(("a phrasing of its own",))
            return [[] for _ in queries]

    searched_in: list[int] = []
    with Index.open(tmp_path / "kb") as index:
        view = private_view(
            index, fixed_vault(tmp_path / "vault.db"), finder=lambda _: searched_in.append(get_ident()) or ()
        )
        view.add(Document("note", "The harbour is old."))
        searched_in.clear()
        assert await view.aretrieve("a question", Asks()) == []
    assert len(searched_in) == 2
    assert get_ident() not in searched_in


def test_the_list_of_pseudonyms_is_not_restored_word_by_word_for_each_leaf(view: PrivateView, monkeypatch):
    view.add(Document("list", " ".join(f"Mail {number} went to m{number}@example.com today." for number in range(100))))
    read: list[str] = []
    monkeypatch.setattr(_showing, "pseudonyms_in", lambda text: read.append(text) or pseudonyms_in(text))
    leaves = view.revealing().leaves("list")
    assert "".join(leaf.text for leaf in leaves) == view.revealing().get("list").text
    assert len(leaves) > 10
    assert len(read) < 3 * len(leaves)


def test_a_chunk_and_its_document_may_have_the_same_key(tmp_path: Path):
    document = Document(
        "a", "One. Two.", None, {"by": "nobody"}, (Chunk(5, {"by": "Alice Smith"}), Chunk(9, {"to": "Zoë Łuczak"}))
    )
    with Index.open(tmp_path / "kb") as index:
        view = private_view(index, Vault.open(tmp_path / "vault.db", KEY), known=KNOWN, finder=(), reveal=True)
        view.add(document)
        assert [leaf.metadata for leaf in view.leaves("a")] == [{"by": "nobody"}, {"by": "nobody", "to": "Zoë Łuczak"}]


def test_what_another_index_has_is_masked_and_restored(view: PrivateView, revealing: PrivateView, tmp_path: Path):
    with Index.open(tmp_path / "other") as other:
        other.add(Document(ALICE, "Alice Smith asked for planks.", metadata={"by": "Zoë Łuczak"}))
        strategy = Ensemble(retrievers=[Hybrid(), other.as_strategy(Vector())])
        found = view.retrieve("Who asked for planks?", strategy, k=9)
        assert is_in_the_clear(everything(found)) == []
        assert any("asked for planks" in passage.text for passage in found)
        texts = [passage.text for passage in revealing.retrieve("Who asked for planks?", strategy, k=9)]
        assert "Alice Smith asked for planks." in texts


def test_what_a_sync_says_of_a_renamed_folder_and_of_other_files_is_masked_too(
    view: PrivateView, revealing: PrivateView, tmp_path: Path
):
    folder = write_files(tmp_path / "files")
    view.sync(folder)
    renamed = folder.rename(tmp_path / "renamed")
    (renamed / "x.Alice Smith").touch()
    with pytest.warns(RuntimeWarning, match="4 new documents have the same texts") as warned:
        planned = view.sync(renamed, dry_run=True)
    assert [is_in_the_clear(text) for text in (str(warned[0].message), repr(planned.moved), *planned.left_out)] == [[]] * 3
    with pytest.warns(RuntimeWarning, match="4 new documents have the same texts"):
        shown = revealing.sync(renamed, dry_run=True)
    assert ("renamed/Alice Smith.md", "files/Alice Smith.md") in shown.moved
    assert sum(shown.left_out.values()) == 1
