"""reStructuredText: finds headings and paragraphs with docutils. No file that it names is read, and no code is run."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, ClassVar

from leafspan.splitting._headings import DEEPEST, LONGEST_HEADING, Heading, line_places

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*")
_OPTION = re.compile(r":[\w-][^:\r\n]*:(?:\s|\Z)")
_BEFORE_LITERAL = re.compile(r"(?<!\\)(?:\\\\)*::\Z")
_OTHER_LINE_ENDS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")  # line ends for Python, but not for an editor

# Directives whose first line is already text, and directives without text. In all others, text follows the arguments.
_TEXT_AT_ONCE = frozenset(
    """attention caution danger deprecated epigraph error highlights hint important note pull-quote seealso tip versionadded
    versionchanged warning""".split()  # noqa: SIM905
)
_NO_TEXT = frozenset(
    """autoclass autofunction autoexception automethod automodule code code-block codeauthor csv-table currentmodule
    default-domain digraph doctest graph graphviz highlight image include index inheritance-diagram literalinclude math
    mermaid module parsed-literal plantuml productionlist program prompt raw role sourcecode tabularcolumns testcode
    testoutput testsetup toctree unicode""".split()  # noqa: SIM905
)

# Marks within a heading, and the part of each that stays: roles with and without a target, literals, links, substitutions,
# emphasis, references and escapes.
_MARKS = tuple(
    re.compile(pattern)
    for pattern in (
        r":[\w:+.-]+:`([^`<]*[^`<\s])\s*<[^`>]*>`",
        r":[\w:+.-]+:`[!~]?([^`]*)`",
        r"``(.+?)``",
        r"`([^`<]*[^`<\s])\s*(?:<[^`>]*>)?`_{0,2}",
        r"(?<!\w)\|([^|\s][^|]*)\|(?!\w)_{0,2}",
        r"(?<![\w*])\*{1,2}([^*\s](?:[^*]*[^*\s])?)\*{1,2}(?![\w*])",
        r"\b([^\W_](?:\w*[^\W_])?)_{1,2}(?!\w)",
        r"\\(.)",
    )
)


def parse_rst(text: str) -> tuple[list[Heading], list[tuple[int, int]]]:
    """Return a text's headings, and its paragraphs as (start, end), including those in lists, notes and definitions.

    Both are empty if docutils cannot parse the text.
    """
    lines, starts = line_places(text)
    plain = [_OTHER_LINE_ENDS.sub(" ", line.rstrip("\r\n")).expandtabs(8).rstrip() for line in lines]
    plain[0] = plain[0].removeprefix("\ufeff")
    try:
        titles, blocks = _titles_and_blocks(plain)
    except Exception:  # it raises any exception, such as a RecursionError for deeply nested lists
        return [], []
    headings = []
    for number, title, depth in titles:
        first, after = number - 1, min(number + 1, len(lines))
        above = plain[first - 1].rstrip() if first else ""
        if above and above == plain[first + 1].rstrip() and _ADORNMENT.fullmatch(above):
            first -= 1
        if len(title) <= LONGEST_HEADING:
            headings.append(Heading(starts[first], starts[after], min(depth, DEEPEST), without_marks(title)))
    paragraphs = []
    end_before = 0
    for number, height in sorted(blocks):
        first, after = number - 1, min(number - 1 + height, len(lines))
        start = starts[first] + len(lines[first]) - len(lines[first].lstrip())
        if end_before <= start < starts[after]:
            paragraphs.append((start, starts[after]))
            end_before = starts[after]
    return headings, paragraphs


def without_marks(title: str) -> str:
    for mark in _MARKS:
        title = mark.sub(r"\1", title)
    return " ".join(title.split())


def _titles_and_blocks(lines: list[str]) -> tuple[list[tuple[int, str, int]], list[tuple[int, int]]]:
    """Return each title's line number, text and depth, and each paragraph's first line and height."""
    from docutils.parsers.rst.states import Inliner, RSTStateMachine
    from docutils.utils import new_document

    states, settings = _grammar()
    document = new_document("", settings)
    document.titles, document.blocks = [], []
    document.note_implicit_target = document.note_explicit_target = _ignore  # or each duplicate is a message
    inliner = Inliner()
    inliner.parse = _no_marks  # searching for marks within texts would take most of the time
    try:
        RSTStateMachine(state_classes=states, initial_state="Body").run(lines, document, inliner=inliner)
    finally:
        states[0].nested_sm_cache.clear()  # the cache would keep the document in memory
    return document.titles, document.blocks


def _no_marks(text: str, *_: Any) -> tuple[list[Any], list[Any]]:
    """Return a text as a single node."""
    from docutils.nodes import Text

    return [Text(text)], []


def _ignore(*_: Any) -> None:
    """Ignore the names that docutils reports."""


@cache
def _grammar() -> tuple[tuple[Any, ...], Any]:
    """Return docutils' states, changed to record what they find and to run no directive, and its settings."""
    import copy

    from docutils.frontend import get_default_settings
    from docutils.nodes import Element
    from docutils.parsers.rst import Parser, states

    class Noting:
        document: Any
        memo: Any
        state_machine: Any
        nested_parse: Any
        nested_sm_cache: ClassVar[list[Any]] = []

        def __init__(self, state_machine: Any, debug: bool = False) -> None:
            super().__init__(state_machine, debug)  # type: ignore[call-arg]
            self.nested_sm_kwargs = {"state_classes": noting, "initial_state": "Body"}

        def new_subsection(self, title: str, lineno: int, messages: Any) -> Any:
            self.document.titles.append((lineno, title, self.memo.section_level + 1))
            return super().new_subsection(title, lineno, messages)  # type: ignore[misc]

        def paragraph(self, lines: Any, lineno: int) -> Any:
            self.document.blocks.append((lineno, len(lines)))
            # Nodes are not needed, and would take much memory.
            return [], bool(_BEFORE_LITERAL.search(lines[-1].rstrip()))

        def table(self, isolate: Any, parser: Any) -> tuple[list[Any], bool]:
            # Its rows are lines. Finding its cells would take time that grows with the square of its width.
            return [], isolate()[-1]

        def target(self, match: Any) -> tuple[list[Any], bool]:
            block = self.state_machine.get_first_known_indented(match.end(), until_blank=True, strip_indent=False)
            return [], block[-1]

        def directive(self, match: Any, **presets: Any) -> tuple[list[Any], bool]:
            block, _, offset, blank = self.state_machine.get_first_known_indented(match.end(), strip_top=0)
            name = match[1].lower().rpartition(":")[2]
            if name not in _NO_TEXT:
                skipped = _lines_without_text(block, name)
                self.nested_parse(block[skipped:], offset + skipped, node=Element())
            return [], blank or self.state_machine.is_next_line_blank()

    explicit = copy.copy(states.Body.explicit)
    ours = {states.Body.directive: Noting.directive, states.Body.hyperlink_target: Noting.target}
    explicit.constructs = [
        (ours.get(method, method), pattern)
        for method, pattern in states.Body.explicit.constructs
        if method is not states.Body.substitution_def  # it is read like a comment
    ]
    noting = tuple(type(state.__name__, (Noting, state), {"explicit": explicit}) for state in states.state_classes)
    settings = get_default_settings(Parser)
    settings.report_level = settings.halt_level = 5
    settings.warning_stream = False
    settings.file_insertion_enabled = settings.raw_enabled = False
    return noting, settings


def _lines_without_text(lines: Any, name: str) -> int:
    """Return how many lines of a directive come before its text: its arguments and options."""
    if lines and lines[0].strip() and name not in _TEXT_AT_ONCE:
        return next((number for number, line in enumerate(lines) if not line.strip()), len(lines))
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return next((number for number in range(first, len(lines)) if not _OPTION.match(lines[number])), len(lines))
