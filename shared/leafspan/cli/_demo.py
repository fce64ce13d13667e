"""``leafspan demo``: the same questions through both frameworks, by several strategies."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding

from leafspan.cli._console import console, plain, shortened
from leafspan.cli._frameworks import FRAMEWORKS, Framework, ask_core
from leafspan.cli._show_tree import tree_lines
from leafspan.cli._strategies import STRATEGIES
from leafspan.cli._theme import THEME, THEME_BUDGET, THEME_DOCUMENT, theme_coverage
from leafspan.errors import MissingExtra
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents
from leafspan.index import Index

COMPARED = ("vector", "hybrid", "sentence-window", "auto-merging", "tree")
"""The strategies that are compared, by name."""

_ASKED, _SHOWN = 5, 2  # passages
_CHARACTERS = 160  # of a passage's text
_REASONS = 4  # lines of an explanation
_NODES = 7  # of a tree


def demo(
    kb: Annotated[
        Path | None, typer.Option("--kb", help="Keep the index in this folder.", show_default="a temporary one")
    ] = None,
) -> None:
    """Index a few texts, and ask the same questions through LangChain and LlamaIndex, by several strategies.

    Trees are built over the texts, too, and shown by what they tell of a theme. The exit code is 1 where the frameworks do
    not agree.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary, Index.open(kb or temporary) as index:
        agreed = _demonstrate(index, console(wrap=True))
    if not agreed:
        raise typer.Exit(1)


def _demonstrate(index: Index, out: Console) -> bool:
    documents = example_documents()
    index.add(documents)
    out.print(plain(f"Indexed {len(documents)} texts: {', '.join(document.title or '' for document in documents)}."))
    _grow(index, out)
    asked = {name: ask for name, ask in FRAMEWORKS.items() if _installed(index, ask, out)} or {"leafspan": ask_core}
    agreed = True
    for question in EXAMPLE_QUESTIONS:
        out.print()
        out.rule(plain(question, "bold"), align="left")
        for strategy in COMPARED:
            agreed &= _compare(index, strategy, question, asked, out)
    out.print()
    out.rule(plain(THEME, "bold"), align="left")
    agreed &= _compare(index, "tree", THEME, asked, out)
    _tell(index, out)
    out.print()
    names = " and ".join(asked)
    if agreed:
        out.print(
            plain(f"Every time {names} returned the same passages, with the same scores, as the index.", "bold green")
        )
    else:
        out.print(plain(f"What {names} returned is not the same, see above.", "bold red"))
    return agreed


def _grow(index: Index, out: Console) -> None:
    """Build the trees, and print the top of one."""
    index.build_tree()
    stats = index.stats()
    out.print(plain(f"Built a tree over each: {stats.summaries} summaries in {stats.layers} layers, such as these:"))
    lines = list(tree_lines(index, THEME_DOCUMENT))
    for line in lines[:_NODES]:
        _print(out, 2, line.within(out.width - 2), "dim")
    if len(lines) > _NODES:
        _print(out, 2, f"... {len(lines) - _NODES} more ...", "dim")


def _tell(index: Index, out: Console) -> None:
    """Print how much of a theme each strategy returns at the same number of words."""
    out.print()
    title = f"{THEME_BUDGET} words of leaves, for which the tree puts those below its summaries in their places"
    out.print(plain("the theme", "bold cyan"), plain(title, "cyan"), sep=": ")
    for each in theme_coverage(index):
        also = f", and pieces of {', '.join(each.others)}" if each.others else ""
        _print(out, 2, f"{each.strategy:<18} {each.share:4.0%} of what {THEME_DOCUMENT} tells of it{also}")
    _print(out, 2, "chosen to show what a tree can do: of many other themes leaves alone tell as much or more", "dim")


def _installed(index: Index, ask: Framework, out: Console) -> bool:
    try:
        ask(index, "vector", EXAMPLE_QUESTIONS[0], 1)
    except MissingExtra as error:
        out.print(plain(f"Left out: {error}", "yellow"))
        return False
    return True


def _compare(index: Index, strategy: str, question: str, asked: Mapping[str, Framework], out: Console) -> bool:
    """Print what each framework returns; whether it is the same, and the same as without any framework."""
    out.print()
    out.print(plain(strategy, "bold cyan"), plain(STRATEGIES[strategy].idea, "cyan"), sep=": ")
    expected = ask_core(index, strategy, question, _ASKED)
    answers = {name: list(ask(index, strategy, question, _ASKED)) for name, ask in asked.items()}
    for name, answer in answers.items():
        _print(out, 2, name, "bold")
        for number, passage in enumerate(answer[:_SHOWN], start=1):
            summary = f"  summary in layer {passage.layer}" if passage.layer else ""
            place = f"{passage.document_id} [{passage.start}:{passage.end}]{summary}"
            _print(out, 4, f"{number}. {place}  score {passage.score:.3f}")
            _print(out, 7, shortened(passage.text, _CHARACTERS), "italic")
    explained = index.retrieve(question, STRATEGIES[strategy].strategy, k=_ASKED)[:_SHOWN]
    for number, found in enumerate(explained, start=1):
        _print(out, 2, f"why passage {number}", "dim")
        for line in _abridged(found.trace.explain()):
            _print(out, 4, line, "dim")
    agreed = all(answer == expected for answer in answers.values())
    verdict = "agree" if agreed else "do NOT agree"
    _print(
        out, 2, f"{', '.join(answers)} and the index {verdict} on {len(expected)} passages", "green" if agreed else "red"
    )
    return agreed


def _abridged(lines: list[str]) -> list[str]:
    """The first and the last lines of a long explanation: the best hits, and what was made of all."""
    if len(lines) <= _REASONS:
        return lines
    half = _REASONS // 2
    return [*lines[:half], f"... {len(lines) - 2 * half} more ...", *lines[-half:]]


def _print(out: Console, indent: int, text: str, style: str = "") -> None:
    out.print(Padding(plain(text, style), (0, 0, 0, indent), expand=False))
