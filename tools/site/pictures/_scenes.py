"""The retrievals in the pictures: one for each strategy, most of them for the same question."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Decay,
    Document,
    Ensemble,
    F,
    FollowReferences,
    Hybrid,
    Index,
    MultiQuery,
    ParentDocument,
    RelevantSegments,
    Rerank,
    RewriteQuery,
    Router,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
    retrieve,
)
from leafspan.examples import example_documents
from leafspan.private import Key, PIIAware, Vault, private_view
from leafspan.sources import SQL
from leafspan.strategies import filtered
from tools.site.pictures import _graphs
from tools.site.pictures._boxes import draw_boxes, draw_table
from tools.site.pictures._drawing import EMPTY, FOUND, MARGIN, SUMMARY, Drawing, shortened
from tools.site.pictures._order import draw_order
from tools.site.pictures._strips import FOUND_ONLY, LEGEND, draw_strip, draw_strips
from tools.site.pictures._trees import draw_tree

QUESTION = "How do phagocytes destroy pathogens?"
TOPICS = {"Steam_engine": "technology", "Packet_switching": "technology"}
EDITED = {"Black_Death": "2024-03-01", "Immune_system": "2026-05-01", "Oxygen": "2025-11-01"}


def documents() -> list[Document]:
    """The example texts, with a topic and a date in their metadata."""
    return [
        replace(each, metadata={"topic": TOPICS.get(each.id, "nature"), "date": EDITED.get(each.id, "2023-01-01")})
        for each in example_documents()
    ]


def of_leaves(
    strategy: Strategy, question: str = QUESTION, *, legend: dict[str, str] = LEGEND, **limits: int
) -> Callable[[Index], Drawing]:
    """Draw a strategy that returns leaves and longer spans, usually for the question of all pictures."""

    def draw(index: Index) -> Drawing:
        drawing = Drawing(f"{type(strategy).__name__}: {question}")
        drawing.heading(question)
        draw_strips(drawing, index, index.retrieve(question, strategy, **limits))
        drawing.legend(legend)
        return drawing

    return draw


def several(title: str, lists: Sequence[tuple[str, str, Strategy]]) -> Callable[[Index], Drawing]:
    """Draw lists of results one below the other, each with a name and a question."""

    def draw(index: Index) -> Drawing:
        drawing = Drawing(title)
        for name, question, strategy in lists:
            drawing.heading(name)
            draw_strips(drawing, index, index.retrieve(question, strategy, k=4), most=1)
        drawing.legend(FOUND_ONLY)
        return drawing

    return draw


def router(index: Index) -> Drawing:
    questions = ["Which disease was it in 1348?", "What does CD4 do?", "Why do machines waste heat?"]
    names = {"words": "names, numbers, codes and abbreviations", "meaning": "how something works, and why it happens"}
    strategy = Router(
        retrievers={"words": BM25(), "meaning": Vector()},
        descriptions=names,
        choose=lambda question: "words" if any(each.isdigit() for each in question) else "meaning",
    )
    drawing = Drawing("Router: each question goes to the retriever that is chosen for it")
    drawing.heading("Each question goes to the retriever that is chosen for it")
    boxes = {"words": "words: BM25()", "meaning": "meaning: Vector()"}
    lines, found = {}, []
    for question in questions:
        [passage] = index.retrieve(question, strategy, k=1)
        [choice] = [name for name in names if f"Router chose {name}" in passage.trace.notes[-1]]
        lines |= {(question, box): name == choice for name, box in boxes.items()}
        found.append((boxes[choice], shortened(passage.text, 34)))
        lines[found[-1]] = True
    draw_boxes(drawing, [questions, list(boxes.values()), [text for _, text in found]], lines, chosen=list(boxes.values()))
    return drawing


def recursive(index: Index) -> Drawing:
    question = "What do steam engines do with heat?"
    overviews = filtered(Vector(), F("reference").exists())
    drawing = Drawing(f"FollowReferences: {question}")
    drawing.heading(question)
    [overview] = index.retrieve(question, overviews, k=1)
    target = str(overview.metadata["reference"])
    draw_boxes(
        drawing,
        [[f"found: {overview.text}"], [f"refers to: {target}"]],
        {(f"found: {overview.text}", f"refers to: {target}"): True},
    )
    drawing.y += 6
    draw_strips(drawing, index, index.retrieve(question, FollowReferences(base=overviews), k=3))
    drawing.legend({FOUND: "the leaves of the document that are nearest to the question", EMPTY: "not returned"})
    return drawing


def rerank(index: Index) -> Drawing:
    question = "How was oxygen discovered?"
    before = index.retrieve(question, Vector(), k=7, candidates=7)
    after = index.retrieve(question, Rerank(base=Vector(), diversity=0.5), k=7, candidates=7)
    drawing = Drawing(f"Rerank: {question}")
    drawing.heading(question)
    columns = [[(each, "") for each in passages] for passages in (before, after)]
    draw_order(drawing, ("Vector()", "Rerank(base=Vector(), diversity=0.5)"), columns[0], columns[1])
    return drawing


def decay(index: Index) -> Drawing:
    question = "Which gas do plants release?"
    base, strategy = Vector(), Decay(base=Vector(), scale=365, now="2026-06-15")
    before, after = (index.retrieve(question, each, k=7, candidates=7) for each in (base, strategy))
    drawing = Drawing(f"Decay: {question}")
    drawing.heading(question)
    columns = [[(each, f"{each.metadata['date']}  {each.score:.2f}") for each in passages] for passages in (before, after)]
    draw_order(drawing, ("Vector()", "Decay(base=Vector(), scale=365)"), columns[0], columns[1])
    return drawing


def only_matching(index: Index) -> Drawing:
    drawing = Drawing('Browse: where=F("topic") == "technology"')
    drawing.heading('where=F("topic") == "technology"')
    matching = index.retrieve(None, Browse(), where=F("topic") == "technology", k=1_000)
    ids = {passage.document_id for passage in matching}
    rows = [[each.title or each.id, str(each.metadata["topic"]), str(each.leaves)] for each in index.documents()]
    returned = [number for number, each in enumerate(index.documents()) if each.id in ids]
    draw_table(drawing, ["document", "topic", "leaves"], rows, returned)
    drawing.note(f"{len(matching)} leaves are returned, by document and position, each with the score 1")
    return drawing


def tree(index: Index) -> Drawing:
    question = "How does the immune system work as a whole?"
    index.build_tree()
    drawing = Drawing(f"Tree: {question}")
    drawing.heading(question)
    passages = index.retrieve(question, Tree(base=Vector()), k=6, where=F("doc_id") == "Immune_system")
    draw_tree(drawing, index, "Immune_system", passages)
    drawing.legend({SUMMARY: "a summary that was found", FOUND: "a leaf that was found", EMPTY: "not returned"})
    return drawing


def sql(index: Index) -> Drawing:
    query = "SELECT title, words FROM articles WHERE words > 2500 ORDER BY words DESC"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "articles.db")
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE articles (title TEXT PRIMARY KEY, words INTEGER)")
            rows = [(each.title or each.id, each.words) for each in index.documents()]
            connection.executemany("INSERT INTO articles VALUES (?, ?)", rows)
        connection.close()
        passages = retrieve(query, SQL(f"sqlite:///{path}"))
    ranks = {str(passage.metadata["title"]): rank for rank, passage in enumerate(passages, 1)}
    drawing = Drawing("SQL: rows of a database")
    drawing.heading("Which articles have more than 2,500 words?")
    drawing.note(f"a language model writes: {query}")
    drawing.y += 4
    table = [[title, str(words), f"passage {ranks[title]}" if title in ranks else ""] for title, words in rows]
    draw_table(drawing, ["title", "words", ""], table, [number for number, row in enumerate(rows) if row[0] in ranks])
    return drawing


def pii_aware(index: Index) -> Drawing:
    question = "What did Davies and Kleinrock disagree about?"
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder, "kb")) as hidden:
        vault = Vault.open(Path(folder, "vault"), Key("for-these-pictures-only-0123456789-abcdefghij"))
        private = private_view(hidden, vault, known={"PERSON": PEOPLE}, finder=[])
        private.add([each for each in documents() if each.id == "Packet_switching"])
        # Pseudonyms, and so all ranks, differ between vaults. The leaves that mention them do not.
        everything = private.retrieve(question, PIIAware(), k=1_000)
        mentions = [
            (None, passage)
            for passage in everything
            if any(part.source == "entities" for fused in passage.trace.fused for part in fused.contributions)
        ]
        drawing = Drawing(f"PIIAware: {question}")
        drawing.heading(question)
        drawing.note("The index is asked: What did PERSON… and PERSON… disagree about?")
        drawing.y += 4
        drawing.text(MARGIN, drawing.y + 10, "Packet switching", size=11)
        drawing.y += 16
        draw_strip(drawing, private, "Packet_switching", mentions)
    drawing.legend({FOUND: "mentions one of both names, so it rises", EMPTY: "does not"})
    return drawing


PEOPLE = [
    ["Donald Davies", "Davies"],
    ["Leonard Kleinrock", "Kleinrock"],
    ["Paul Baran", "Baran"],
    ["Joseph Priestley", "Priestley"],
    ["Carl Wilhelm Scheele", "Scheele"],
    ["Antoine Lavoisier", "Lavoisier"],
    ["James Watt", "Watt"],
]
DISCOVERY = "Who discovered oxygen first, Scheele or Priestley?"
WATT = "What did Watt change about the steam engine?"
ASKED_ALSO = "How do white blood cells swallow microbes?"
SHORT = "What eats germs?"
BETTER = "How do phagocytes engulf and destroy bacteria?"

SCENES: dict[str, Callable[[Index], Drawing]] = {
    "vector": of_leaves(Vector(), legend=FOUND_ONLY, k=5),
    "bm25": of_leaves(BM25(), legend=FOUND_ONLY, k=5),
    "hybrid": of_leaves(Hybrid(), legend=FOUND_ONLY, k=5),
    "parent-document": of_leaves(ParentDocument(), k=3),
    "sentence-window": of_leaves(SentenceWindow(before=1, after=2), k=4),
    "auto-merging": of_leaves(AutoMerging(), DISCOVERY, k=3, candidates=14),
    "relevant-segments": of_leaves(RelevantSegments(), budget=300),
    "ensemble": several(
        f"Ensemble: {WATT}",
        [
            (f"{WATT}  Vector()", WATT, Vector()),
            ("BM25()", WATT, BM25()),
            ("Ensemble of both", WATT, Ensemble(retrievers=[Vector(), BM25()])),
        ],
    ),
    "multi-query": several(
        f"MultiQuery: {QUESTION}",
        [
            (QUESTION, QUESTION, Vector()),
            (ASKED_ALSO, ASKED_ALSO, Vector()),
            ("MultiQuery: both phrasings, fused", QUESTION, MultiQuery(base=Vector(), phrasings=[ASKED_ALSO])),
        ],
    ),
    "router": router,
    "follow-references": recursive,
    "rewrite-query": several(
        f"RewriteQuery: {SHORT}",
        [
            (SHORT, SHORT, Vector()),
            (
                f"RewriteQuery searches in its place: {BETTER}",
                SHORT,
                RewriteQuery(base=Vector(), how=lambda question: BETTER),
            ),
        ],
    ),
    "rerank": rerank,
    "decay": decay,
    "browse": only_matching,
    "tree": tree,
    "sql": sql,
    "light-rag": _graphs.light_rag,
    "property-graph": _graphs.property_graph,
    "pii-aware": pii_aware,
}
"""The functions that draw each page's picture, by the page's name."""


def drawn() -> Iterator[tuple[str, str]]:
    """The names of the pictures, and the pictures."""
    overview = Document("machines", "An overview of machines that steam drives.", metadata={"reference": "Steam_engine"})
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder, "kb")) as index:
        index.add(documents())
        for name, draw in SCENES.items():
            if name == "follow-references":
                index.add(overview)
            yield name, draw(index).svg()
            if name == "follow-references":
                index.delete([overview.id])
