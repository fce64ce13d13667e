"""``leafspan query``: retrieve passages from an index by a strategy that has a name on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

import typer

from leafspan.checks import check_choice, check_number, shown
from leafspan.cli._console import STDIN, console, plain, print_json, with_standard_input, without_blank_lines
from leafspan.cli._options import (
    DEFAULT_FOLDER,
    AsJson,
    ConfigFile,
    EmbedderName,
    KnowledgeBase,
    Where,
    open_index,
    parse_filter,
)
from leafspan.config import config_name
from leafspan.errors import InvalidArgument
from leafspan.retrieval import DEFAULT_K, INDEX_IS_EMPTY, NO_ANSWER, Passages
from leafspan.strategies import (
    BM25,
    AutoMerging,
    Browse,
    Decay,
    FollowReferences,
    Hybrid,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.values import Passage, Summary
from leafspan.view import View


@dataclass(frozen=True, slots=True)
class NamedStrategy:
    strategy: Strategy
    idea: str
    retriever: str
    options: Mapping[str, Any] = field(default_factory=dict)


STRATEGIES: dict[str, NamedStrategy] = {
    "vector": NamedStrategy(Vector(), "the leaves that are nearest in meaning", "VectorRetriever"),
    "bm25": NamedStrategy(BM25(), "leaves that have the question's words", "BM25Retriever"),
    "hybrid": NamedStrategy(Hybrid(), "words and vectors at once, and a bonus for neighbours", "HybridRetriever"),
    "parent-document": NamedStrategy(ParentDocument(), "the parent of each leaf that is found", "ParentDocumentRetriever"),
    "sentence-window": NamedStrategy(SentenceWindow(), "each hit with the leaves around it", "SentenceWindowRetriever"),
    "auto-merging": NamedStrategy(
        AutoMerging(), "hits that are close together, merged into their parent", "AutoMergingRetriever"
    ),
    "relevant-segments": NamedStrategy(
        RelevantSegments(), "runs of leaves that are worth their words", "RelevantSegmentsRetriever"
    ),
    "tree": NamedStrategy(Tree(), "leaves and summaries of all layers, ranked together", "TreeRetriever"),
    "tree-traversal": NamedStrategy(
        Tree(mode="traversal"),
        "the best summaries, then the best of their children, down to the leaves",
        "TreeRetriever",
        {"mode": "traversal"},
    ),
    "follow-references": NamedStrategy(
        FollowReferences(), "what is found, and what it refers to by links, names and metadata", "FollowReferencesRetriever"
    ),
    "decay": NamedStrategy(Decay(), "what is found, newer documents first", "DecayRetriever"),
    "browse": NamedStrategy(
        Browse(), "the leaves of documents that match the filter, in order; no question is needed", "BrowseRetriever"
    ),
}


def strategy_named(name: str) -> Strategy:
    check_choice("strategy", name, STRATEGIES)
    return STRATEGIES[name].strategy


def query(
    question: Annotated[str, typer.Argument(help="The question, or -. The strategy browse needs none.")] = "",
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            "-s",
            help=f"One of {', '.join(STRATEGIES)}. By default the configuration's strategy, or relevant-segments.",
            autocompletion=lambda: [*STRATEGIES],
        ),
    ] = None,
    config: ConfigFile = None,
    k: Annotated[
        int | None, typer.Option("-k", help="Most passages. By default 5; no limit with --budget or for browse.")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Most words in all passages together.")] = None,
    candidates: Annotated[
        int | None,
        typer.Option(help="Leaves (smallest pieces) to find before merging. By default enough for the budget, or 4 * k."),
    ] = None,
    where: Where = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="Moment, such as 2024-05-01 or now: only documents that are valid then. By default all."),
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(
            help="Lowest score of a passage. By default probabilities below 0.0005 are left out, unless all are so low."
        ),
    ] = None,
    min_answer_probability: Annotated[
        float | None,
        typer.Option(
            help="Print no passage if an answer in the index is less probable, in [0, 1]. For strategies over hybrid."
        ),
    ] = None,
    per_document: Annotated[int | None, typer.Option(help="Most passages of one document. By default no limit.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Most seconds for each question. By default no limit.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print why each passage was returned.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the passages that a strategy finds, best first, each with its document and its place in the text.

    If the question is -, each line of standard input is a question. With --json, one question prints an array of passages.
    With - and --json, each question prints a line: an object with `question` and `passages`.
    """
    named = None if strategy is None else strategy_named(strategy)
    if min_score is not None:
        check_number("min_score", min_score)
    condition = parse_filter(where)
    questions = map(str.strip, with_standard_input([STDIN])) if question == STDIN else [question]
    with open_index(kb, embedder, create=False, config=config) as opened:
        chosen = opened.default_strategy if named is None else named
        if min_answer_probability is not None:
            chosen = with_answer_probability(chosen, min_answer_probability, strategy or config_name(type(chosen)))
        for each in questions:
            passages = opened.retrieve(
                each,
                chosen,
                k=k_of_query(k, budget, min_score, chosen, opened),
                candidates=candidates,
                budget=budget,
                where=condition,
                min_score=min_score,
                per_document=per_document,
                as_of=as_of,
                timeout=timeout,
            )
            printed = worth_printing(passages, min_score)
            if as_json and question == STDIN:
                print_json({"question": each, "passages": _as_json(printed, explain=explain)}, one_line=True)
            elif as_json:
                print_json(_as_json(printed, explain=explain))
            else:
                if question == STDIN:
                    console().print(plain(f"> {each}", "bold"))
                _print(printed, explain=explain, why_no_answer=_why_no_answer(kb, passages))


def _why_no_answer(kb: str, passages: Passages) -> str | None:
    """Return the message if nothing in the index at ``kb`` answers the question."""
    if passages.why_empty == INDEX_IS_EMPTY:
        return f"{INDEX_IS_EMPTY}: `leafspan sync FOLDER --kb {kb}` adds the files of a folder"
    return None if passages.why_no_answer is None else f"{NO_ANSWER}: {passages.why_no_answer}"


def _print(passages: Sequence[Passage], *, explain: bool, why_no_answer: str | None) -> None:
    out = console()
    if why_no_answer is not None:
        console(stderr=True).print(plain(why_no_answer, "yellow"))
    for number, passage in enumerate(passages, start=1):
        if number > 1:
            out.print()
        out.print(plain(f"{number}. {_place(passage)}  score {passage.score:.3f}", "bold cyan"))
        out.print(plain(without_blank_lines(passage.text), lines=True))
        for line in passage.trace.explain() if explain else []:
            out.print(plain(f"  - {line}", "dim"))


def _place(passage: Passage) -> str:
    """Return a passage's place: its document with its lines and headings, or what a summary covers."""
    if passage.summary is None:
        path = f"  {' > '.join(passage.headings)}" if passage.headings else ""
        if passage.place is not None:
            return f"{passage.document_id}  {passage.place}{path}"
        if passage.lines is None:
            return f"{passage.document_id}  characters {passage.start} to {passage.end}{path}"
        first, last = passage.lines
        return f"{passage.document_id}:{first}{f'-{last}' if last > first else ''}{path}"
    summary = f"summary in layer {passage.layer}"
    if not passage.document_id:
        return f"{summary}, of {len({run.document_id for run in passage.summary.covers})} documents"
    return f"{passage.document_id}  {summary}, of characters {passage.start} to {passage.end}"


def _as_json(passages: Sequence[Passage], *, explain: bool) -> list[dict[str, Any]]:
    return [
        {
            "id": passage.id,
            "document_id": passage.document_id,
            "start": passage.start,
            "end": passage.end,
            "lines": passage.lines,
            "place": passage.place,
            "title": passage.title,
            "headings": passage.headings,
            "score": passage.score,
            "text": passage.text,
            "metadata": dict(passage.metadata),
            **({"summary": _summary(passage.summary)} if passage.summary else {}),
            **({"trace": passage.trace.explain()} if explain else {}),
        }
        for passage in passages
    ]


def _summary(summary: Summary) -> dict[str, Any]:
    covers = [run._asdict() for run in summary.covers]
    return {"layer": summary.layer, "children": list(summary.children), "covers": covers}


def worth_printing(passages: Passages, min_score: float | None) -> Passages:
    """The passages that reach the lowest score; without a score, the passages that are worth showing."""
    return (
        passages.worth_showing() if min_score is None else passages.of(each for each in passages if each.score >= min_score)
    )


def k_of_query(k: int | None, budget: int | None, min_score: float | None, strategy: Strategy, view: View) -> int | None:
    """Return the ``k`` with which ``query`` retrieves: as many passages with a lowest score as without one.

    ``Index.retrieve`` returns all passages that reach a score. These may be thousands, too many to print.
    """
    if k is not None or budget is not None or min_score is None or strategy.returns_all:
        return k
    configured = view.default_limits
    return DEFAULT_K if configured.k is None and configured.budget is None else None


def with_answer_probability(strategy: Strategy, least: float, name: str) -> Strategy:
    """Return a strategy that finds no passage if an answer is less probable than this."""
    if isinstance(strategy, Hybrid):
        return replace(strategy, min_answer_probability=least)
    based: Any = strategy
    if any(field.name == "base" for field in fields(based)) and isinstance(based.base, Hybrid):
        return replace(based, base=replace(based.base, min_answer_probability=least))  # type: ignore[no-any-return]
    raise InvalidArgument(f"min_answer_probability needs a strategy over hybrid, got {shown(name)}")
