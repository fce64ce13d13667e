"""``leafspan demo``: ask the same questions through both frameworks, with several strategies."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding

from leafspan.cli import STRATEGIES, console, plain, shortened, tree_lines
from leafspan.errors import MissingExtra
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents
from leafspan.index import Index
from leafspan.indexing import summaries_of

COMPARED = ("vector", "hybrid", "sentence-window", "auto-merging", "tree")

_K = 5  # passages retrieved and compared; the first one is printed
_MAX_REASONS = 2  # lines of an explanation
_MAX_NODES = 5  # lines of a tree


def demo(
    kb: Annotated[
        Path | None, typer.Option("--kb", help="Keep the index in this folder.", show_default="a temporary one")
    ] = None,
) -> None:
    """Index a few texts, and ask the same questions through LangChain and LlamaIndex, with several strategies.

    Trees are built over the texts as well, and a question about a whole theme is asked. The exit code is 1 if the
    frameworks do not agree.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary, Index.open(kb or temporary) as index:
        agreed = _demonstrate(index, console(wrap=True))
    if not agreed:
        raise typer.Exit(1)


def _demonstrate(index: Index, out: Console) -> bool:
    """Run the demo. Return whether the frameworks agreed every time."""
    documents = example_documents()
    index.add(documents)
    out.print(plain(f"Indexed {len(documents)} texts: {', '.join(document.title or '' for document in documents)}."))
    _build_trees(index, out)
    installed = {name: ask for name, ask in FRAMEWORKS.items() if _is_installed(index, ask, out)}
    frameworks = installed or {"leafspan": ask_core}
    agreed = True
    for number, question in enumerate(EXAMPLE_QUESTIONS):
        out.print()
        out.rule(plain(question, "bold"), align="left")
        for strategy in COMPARED:
            agreed &= _compare(index, strategy, question, frameworks, out, explained=not number)
    out.print()
    out.rule(plain(THEME, "bold"), align="left")
    agreed &= _compare(index, "tree", THEME, frameworks, out)
    out.print()
    names = " and ".join(frameworks)
    if agreed:
        out.print(
            plain(f"Every time, {names} returned the same {_K} passages as the index, with the same scores.", "bold green")
        )
    else:
        out.print(plain(f"{names} did not return the same passages as the index, see above.", "bold red"))
    return agreed


def _build_trees(index: Index, out: Console) -> None:
    """Build the trees, and print the upper part of one."""
    index.build_tree()
    stats = index.stats()
    out.print(plain(f"Built a tree over each text: {summaries_of(stats)}, such as these:"))
    lines = list(tree_lines(index, THEME_DOCUMENT))
    for line in lines[:_MAX_NODES]:
        _print(out, 2, line.fitted(out.width - 2), "dim")
    if len(lines) > _MAX_NODES:
        _print(out, 2, f"... {len(lines) - _MAX_NODES} more ...", "dim")


def _is_installed(index: Index, ask: Framework, out: Console) -> bool:
    """Whether a framework is installed. If not, print the reason."""
    try:
        ask(index, "vector", EXAMPLE_QUESTIONS[0], 1)
    except MissingExtra as error:
        out.print(plain(f"Left out: {error}", "yellow"))
        return False
    return True


def _compare(
    index: Index,
    strategy: str,
    question: str,
    frameworks: Mapping[str, Framework],
    out: Console,
    *,
    explained: bool = False,
) -> bool:
    """Print what a strategy finds first, and which framework does not return the same passages as the index itself."""
    expected = ask_core(index, strategy, question, _K)
    if explained:
        out.print(plain(strategy, "bold cyan"), plain(STRATEGIES[strategy].idea, "cyan"), sep=": ")
    for passage in expected[:1]:
        summary = f"summary in layer {passage.layer}" if passage.layer else "passage"
        place = f"{passage.document_id} [{passage.start}:{passage.end}]"
        _print(out, 2, f"{'' if explained else f'{strategy}: '}{summary} {place}  score {passage.score:.3f}")
        _print(out, 4, shortened(passage.text, out.width - 4), "italic")
    if explained:
        for best in index.retrieve(question, STRATEGIES[strategy].strategy, k=_K)[:1]:
            reasons = best.trace.explain()  # of a long one, the best hit and the last step
            for line in reasons if len(reasons) <= _MAX_REASONS else [reasons[0], reasons[-1]]:
                _print(out, 4, shortened(line, out.width - 4), "dim")
    different = [name for name, ask in frameworks.items() if list(ask(index, strategy, question, _K)) != expected]
    for name in different:
        _print(out, 2, f"{name} and the index do NOT agree on {len(expected)} passages", "red")
    return not different


def _print(out: Console, indent: int, text: str, style: str = "") -> None:
    out.print(Padding(plain(text, style), (0, 0, 0, indent), expand=False))


THEME = "How did ideas about combustion develop?"
"""A question that several places of one example text answer together, but none of them alone."""

THEME_DOCUMENT = "Oxygen"


@dataclass(frozen=True, slots=True)
class FrameworkPassage:
    """A passage as a framework's user gets it."""

    id: str
    document_id: str
    start: int | None  # None for a summary of several documents, as ``end``
    end: int | None
    layer: int  # 0 for a piece of a document
    score: float
    text: str


Framework = Callable[[Index, str, str, int], Sequence[FrameworkPassage]]
"""Returns the best passages of a strategy, by its name, for a question; at most a number of them."""


def ask_core(index: Index, strategy: str, question: str, k: int) -> list[FrameworkPassage]:
    passages = index.retrieve(question, STRATEGIES[strategy].strategy, k=k)
    return [FrameworkPassage(p.id, p.document_id, p.start, p.end, p.layer, p.score, p.text) for p in passages]


def ask_langchain(index: Index, strategy: str, question: str, k: int) -> list[FrameworkPassage]:
    import langchain_ext

    named = STRATEGIES[strategy]
    retriever = getattr(langchain_ext, named.retriever)(index=index, k=k, **named.options)
    return [
        _passage(each.id, each.metadata, each.metadata["score"], each.page_content) for each in retriever.invoke(question)
    ]


def ask_llamaindex(index: Index, strategy: str, question: str, k: int) -> list[FrameworkPassage]:
    import llamaindex_ext

    named = STRATEGIES[strategy]
    retriever = getattr(llamaindex_ext, named.retriever)(index, similarity_top_k=k, **named.options)
    return [
        _passage(scored.node.node_id, scored.node.metadata, scored.score, scored.node.get_content())
        for scored in retriever.retrieve(question)
    ]


def _passage(id_: str, metadata: Mapping[str, Any], score: float, text: str) -> FrameworkPassage:
    """Make a passage from a framework's result. A summary of several documents gets the core's values for missing keys."""
    place = metadata.get("doc_id", ""), metadata.get("start", 0), metadata.get("end", 0), metadata.get("layer", 0)
    return FrameworkPassage(id_, *place, score, text)


FRAMEWORKS: dict[str, Framework] = {"LangChain": ask_langchain, "LlamaIndex": ask_llamaindex}
