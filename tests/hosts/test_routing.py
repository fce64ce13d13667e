"""Routers and references in both hosts: over retrievers of the host's own, over other indexes, and without an index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableBranch
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import IndexNode, NodeWithScore, TextNode
from llama_index.core.selectors import LLMSingleSelector

from leafspan import BM25, Document, F, Index, InvalidArgument, Vector
from leafspan.language_model import CHOOSING_PROMPT
from tests.corpus import QUESTIONS
from tests.hosts.contract import HOSTS, Host, LangChain, LlamaIndex, by_first_letter

every_host = pytest.mark.parametrize("host", HOSTS, ids=repr)
WORDS_OR_MEANING = {"words": BM25(), "meaning": Vector()}
ABOUT = {"words": "names and numbers", "meaning": "what something is about"}


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Another index, with a document that the corpus has, too, in other words."""
    with Index.open(tmp_path_factory.mktemp("handbook") / "kb") as opened:
        opened.add(
            [
                Document("tea", "The house serves tea at four.", None, {"topic": "food"}),
                Document("see", "Bees.", None, {"reference": "all"}),
            ]
        )
        yield opened


def own(host: Host, name: str, *texts: str):
    """A retriever of the host's own, which finds these texts, and remembers how it was asked."""
    asked = []

    def ask(question):
        asked.append(("ask", question))
        return [host.result(f"{name} {number}", text, 1 / number) for number, text in enumerate(texts, start=1)]

    async def aask(question):
        found = ask(question)
        asked[-1] = ("aask", question)
        return found

    return host.retriever(name, ask, aask), asked


@every_host
async def test_a_router_asks_retrievers_of_the_host_and_only_those_that_were_chosen(host: Host, shared_index: Index):
    (law, law_asked), (web, web_asked) = own(host, "Law", "a contract"), own(host, "Web", "a page", "another")
    for index in (None, shared_index):
        router = host.make("RouterRetriever", index, retrievers={"law": law, "web": web}, choose=lambda _: "web")
        found = await host.both(router, "Where?")
        assert [(each.id, each.text, each.score) for each in found] == [("Web 1", "a page", 1.0), ("Web 2", "another", 0.5)]
    assert law_asked == []
    assert web_asked == [("ask", "Where?"), ("aask", "Where?")] * 2


@every_host
async def test_several_that_were_chosen_are_fused(host: Host, shared_index: Index):
    web, _ = own(host, "Web", "a page")
    retrievers = {"web": web, "words": host.make("BM25Retriever", shared_index)}
    router = host.make("RouterRetriever", shared_index, retrievers=retrievers, choose=lambda _: None, k=2, explain=True)
    found = await host.both(router, QUESTIONS[0])
    [best] = shared_index.retrieve(QUESTIONS[0], BM25(), k=1)
    assert [each.id for each in found] == ["Web 1", best.id]
    assert [each.score for each in found] == [1 / 2 / 61] * 2
    assert found[0].trace[-1] == "Router chose web and words: all, since choose returned None"


@every_host
async def test_a_model_of_the_host_chooses(host: Host, shared_index: Index):
    prompts = []

    def write(prompt):
        prompts.append(prompt)
        return "Best: meaning"

    router = host.make(
        "RouterRetriever", shared_index, retrievers=WORDS_OR_MEANING, descriptions=ABOUT, llm=host.model(write), k=2
    )
    found = await host.both(router, QUESTIONS[0])
    assert [each.id for each in found] == [each.id for each in shared_index.retrieve(QUESTIONS[0], Vector(), k=2)]
    assert prompts[0].count("- words: names and numbers") == 1
    assert QUESTIONS[0] in prompts[0]


@every_host
async def test_a_model_that_fails_leaves_the_default_and_a_note(host: Host, shared_index: Index):
    def fail(prompt):
        raise ConnectionError("no route")

    router = host.make(
        "RouterRetriever",
        shared_index,
        retrievers=WORDS_OR_MEANING,
        descriptions=ABOUT,
        llm=host.model(fail),
        default="words",
        explain=True,
    )
    with pytest.warns(RuntimeWarning, match="the model failed: ConnectionError: no route"):
        found = await host.both(router, QUESTIONS[0])
    assert found[0].trace[-1] == "Router chose words: the default, since the model failed: ConnectionError: no route"


@every_host
def test_a_model_that_is_none_of_the_hosts_is_refused(host: Host, shared_index: Index):
    error = host.refusal(
        lambda: host.make("RouterRetriever", shared_index, retrievers=WORDS_OR_MEANING, descriptions=ABOUT, llm="gpt")
    )
    assert str(error).startswith("llm must be a ")


@every_host
async def test_a_retriever_over_another_index_is_asked_there(host: Host, shared_index: Index, handbook: Index):
    # A document of the same id is in both: what is found there is not taken for a leaf of here, nor for an outdated one.
    there = host.make("VectorRetriever", handbook, k=1, where={"doc_id": "tea"})
    for index in (None, shared_index, shared_index.scoped(F("topic") == "food")):
        for name, options in (
            ("RouterRetriever", {"retrievers": {"there": there}, "choose": lambda _: "there"}),
            ("FollowReferencesRetriever", {"base": there}),
            ("MultiQueryRetriever", {"base": there, "fusion": "maximum", "phrasings": ["tea"]}),
        ):
            [found] = await host.both(host.make(name, index, **options), "tea")
            assert found.text == "The house serves tea at four."
            assert (found.metadata["doc_id"], found.metadata["start"], found.metadata["topic"]) == ("tea", 0, "food")


@every_host
async def test_references_lead_to_retrievers_of_the_host_to_other_indexes_and_to_documents(
    host: Host, shared_index: Index, handbook: Index
):
    base, _ = own(host, "Web", "see the others")
    result = host.result("Web 1", "see the others", 0.9)
    (result.metadata if host.name == "LangChain" else result.node.metadata)["reference"] = ["law", "house", "tea"]
    base = host.retriever("Web", lambda question: [result])
    law, _ = own(host, "Law", "a contract")
    targets = {"law": law, "house": host.make("VectorRetriever", handbook, where={"doc_id": "tea"})}
    recursive = host.make(
        "FollowReferencesRetriever", shared_index, base=base, targets=targets, per_reference=1, explain=True
    )
    found = await host.both(recursive, QUESTIONS[2])
    [nearest] = shared_index.retrieve(QUESTIONS[2], Vector(), where=F("doc_id") == "tea", k=1)
    assert [each.text for each in found] == ["a contract", "The house serves tea at four.", nearest.text]
    assert [each.score for each in found] == [0.9, 0.9, 0.9]
    assert found[0].trace[-1] == "FollowReferences followed 'law' from Web 1, whose score 0.900 it has"
    beside = host.make("FollowReferencesRetriever", shared_index, base=base, targets=targets, per_reference=1, keep=True)
    assert [each.text for each in await host.both(beside, QUESTIONS[2])] == [
        "see the others",
        *(each.text for each in found),
    ]


@every_host
async def test_a_router_of_this_package_is_a_route_of_another_and_a_base(host: Host, shared_index: Index):
    inner = host.make("RouterRetriever", shared_index, retrievers=WORDS_OR_MEANING, choose=by_first_letter, k=1)
    outer = host.make("RouterRetriever", shared_index, retrievers={"inner": inner}, choose=lambda _: "inner")
    assert outer._strategy().retrievers == {"inner": inner._strategy()}
    windows = host.make("SentenceWindowRetriever", shared_index, base=outer, k=1)
    [found] = await host.both(windows, QUESTIONS[0])
    assert found.document == "bees"


def test_options_of_a_router_hold_for_one_call_in_langchain(shared_index: Index):
    router = LangChain().make("RouterRetriever", shared_index, retrievers=WORDS_OR_MEANING, choose=by_first_letter)
    found = router.invoke(QUESTIONS[0], choose=lambda _: "meaning", k=2)
    assert [each.id for each in found] == [each.id for each in shared_index.retrieve(QUESTIONS[0], Vector(), k=2)]


def test_the_prompt_of_a_router_can_be_changed_in_llamaindex(shared_index: Index):
    prompts = []

    def write(prompt):
        prompts.append(prompt)
        return "words"

    router = LlamaIndex().make(
        "RouterRetriever",
        shared_index,
        retrievers=WORDS_OR_MEANING,
        descriptions=ABOUT,
        llm=LlamaIndex().model(write),
    )
    assert router.get_prompts()["prompt"].template == CHOOSING_PROMPT
    router.update_prompts({"prompt": PromptTemplate("{retrievers} {question} {count} {tone}").partial_format(tone="now")})
    router.retrieve("Who?")
    assert prompts == ["- words: names and numbers\n- meaning: what something is about Who? 1 now"]
    with pytest.raises(InvalidArgument, match="prompt must be a text with"):
        router.update_prompts({"prompt": PromptTemplate("{question}")})


async def test_a_runnable_of_langchain_chooses(shared_index: Index):
    rule = RunnableBranch((lambda question: "bees" in question, lambda _: "meaning"), lambda _: ["words"])
    router = LangChain().make("RouterRetriever", shared_index, retrievers=WORDS_OR_MEANING, choose=rule, explain=True, k=1)
    [found] = await LangChain().both(router, QUESTIONS[0])
    assert found.trace[-1] == "Router chose meaning: choose returned 'meaning'"
    [found] = await LangChain().both(router, QUESTIONS[1])
    assert found.trace[-1] == "Router chose words: choose returned ['words']"


async def test_a_selector_of_llamaindex_chooses(shared_index: Index):
    def write(prompt):
        assert "names and numbers" in prompt
        return '[{"choice": 2, "reason": "it is about meaning"}]'

    selector = LLMSingleSelector.from_defaults(llm=LlamaIndex().model(write))
    options = {"retrievers": WORDS_OR_MEANING, "descriptions": ABOUT, "explain": True, "k": 1, "default": "words"}
    router = LlamaIndex().make("RouterRetriever", shared_index, choose=selector, **options)
    [found] = await LlamaIndex().both(router, QUESTIONS[0])
    assert found.trace[-1] == "Router chose meaning: choose returned ['meaning']"
    for choice in (0, 9):
        answer = f'[{{"choice": {choice}, "reason": ""}}]'
        failing = LLMSingleSelector.from_defaults(llm=LlamaIndex().model(lambda prompt, answer=answer: answer))
        router = LlamaIndex().make("RouterRetriever", shared_index, choose=failing, **options)
        with pytest.warns(RuntimeWarning, match="choose failed"):
            [found] = await LlamaIndex().both(router, QUESTIONS[0])
        reason = f"choose failed: IndexError: the selector must choose a number in [1, 2], got {choice}"
        assert found.trace[-1] == f"Router chose words: the default, since {reason}"


# Index nodes of LlamaIndex


def index_nodes(*nodes):
    return LlamaIndex().retriever("Nodes", lambda question: [NodeWithScore(node=node, score=0.5) for node in nodes])


async def test_an_index_node_refers_to_its_index_id(shared_index: Index):
    base = index_nodes(IndexNode(id_="n", text="about tea", index_id="tea"), TextNode(id_="t", text="a text"))
    recursive = LlamaIndex().make("FollowReferencesRetriever", shared_index, base=base, per_reference=1)
    [found, other] = await LlamaIndex().both(recursive, QUESTIONS[2])
    assert (found.document, found.score, other.id) == ("tea", 0.5, "t")
    target, _ = own(LlamaIndex(), "Law", "a contract")
    alone = LlamaIndex().make("FollowReferencesRetriever", None, base=base, targets={"tea": target})
    assert [each.text for each in await LlamaIndex().both(alone, "q")] == ["a contract", "a text"]


async def test_an_index_node_that_leads_to_nothing_comes_back_as_it_is(shared_index: Index):
    node = IndexNode(id_="n", text="about nothing", index_id="nothing")
    [found] = LlamaIndex().make("FollowReferencesRetriever", shared_index, base=index_nodes(node)).retrieve("q")
    assert found.node is node
    assert node.metadata == {}


OBJECTS = {
    "a node": lambda inner: inner,
    "a node with a score": lambda inner: NodeWithScore(node=inner, score=0.25),
    "a retriever": lambda inner: LlamaIndex().retriever("Inner", lambda question: [NodeWithScore(node=inner, score=0.5)]),
}


@pytest.mark.parametrize("made", OBJECTS.values(), ids=OBJECTS)
@pytest.mark.parametrize("given", ["objects", "object_map"])
@pytest.mark.parametrize("name", ["VectorRetriever", "BM25Retriever", "FollowReferencesRetriever", "over a base"])
async def test_an_object_stands_in_the_place_of_the_index_node_that_was_added(tmp_path: Path, made, given, name):
    node = IndexNode(
        id_="overview", text="An overview of hot drinks.", index_id="shelf", obj=made(TextNode(text="the object"))
    )
    other = IndexNode(id_="other", text="An overview of cold drinks.", index_id="fridge")
    options = {"objects": [node]} if given == "objects" else {"object_map": {"shelf": node.obj}}
    with Index.open(tmp_path / "kb") as index:
        index.add([node, other])
        if name == "over a base":  # one with objects is asked as it is, and not as its strategy
            name, options = "FollowReferencesRetriever", {"base": LlamaIndex().make("VectorRetriever", index, **options)}
        retriever = LlamaIndex().make(name, index, **options)
        for scored in (retriever.retrieve("hot drinks"), await retriever.aretrieve("hot drinks")):
            assert [each.text for each in scored] == ["the object", "An overview of cold drinks."]
        [[first, _]] = retriever.retrieve_many(["hot drinks"])
        assert first.text == "the object"
        plain = LlamaIndex().make("VectorRetriever", index).retrieve("hot drinks")
        assert [each.metadata["reference"] for each in plain] == ["shelf", "fridge"]


def test_an_index_node_with_an_object_is_followed_by_llamaindex_itself(shared_index: Index):
    node = IndexNode(id_="n", text="about tea", index_id="tea", obj=TextNode(id_="inner", text="the object"))
    [found] = LlamaIndex().make("FollowReferencesRetriever", shared_index, base=index_nodes(node)).retrieve("q")
    assert found.text == "the object"
