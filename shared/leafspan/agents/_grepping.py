"""The tool ``grep``: lines of documents that match a regular expression, or contain an exact text."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Mapping
from math import inf
from typing import Any, NamedTuple

from leafspan.agents._citations import LONGEST_FILTER, LONGEST_ID, PLACE, as_many_as_fit, non_empty, place_fields
from leafspan.agents._searching import DATA, filter_of_call
from leafspan.agents._tool import AgentTool, Parameter, ToolResult
from leafspan.checks import check_text, shown
from leafspan.errors import DocumentNotFound, InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.view import View

_LONGEST_PATTERN = 1_000  # characters
_MEMORY = 1 << 20  # most bytes of an expression
_STEPS = 50_000_000  # most instructions of an expression times characters of a line: they take less than a second
_SHOWN, _BEFORE = 500, 100  # most characters of a line, and of its part before the match
_CHARACTERS = 20_000  # most characters of a result
_LINE = re.compile(r"(?!\Z)([^\r\n]*)(?:\r\n?|\n|\Z)")


class Line(NamedTuple):
    """A line that matches, or the part of a long line around the match."""

    document_id: str
    number: int  # counted from 1
    start: int  # of the text, in characters of the document
    text: str
    is_whole: bool


def grep_tool(view: View, name: str, *, about: str, read: str, timeout: float | None) -> AgentTool:
    """The tool that finds lines of a view's documents."""
    parameters = (
        Parameter("pattern", str, "What a line must contain.", required=True, most=_LONGEST_PATTERN),
        Parameter("document_id", str, "Id of the only document to look into.", most=LONGEST_ID),
        Parameter("where", str, "Filter on the metadata of documents, as in search.", most=LONGEST_FILTER, or_object=True),
        Parameter("regex", bool, "Whether pattern is a regular expression, and not an exact text.", True),
        Parameter("ignore_case", bool, "Whether upper and lower case are the same.", False),
        Parameter("limit", int, "Most lines.", 50, least=1, most=200),
    )

    def grep(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        end = inf if timeout is None else time.monotonic() + timeout / 2  # so that there is time to return what was found
        pattern, only, where, regex, ignore_case, limit = (arguments[each.name] for each in parameters)
        expression = line_expression(pattern, regex=regex, ignore_case=ignore_case)
        documents = yield Call(view.documents, (filter_of_call(where),), native=view.adocuments, what=name)
        ids = [each.id for each in documents if only in (None, each.id)]
        if only is not None and not ids:
            yield Call(view.get, (only,), native=view.aget, what=name)  # raises if there is no such document
        lines, complete = yield from find_lines(view, ids, expression, limit, end)
        fields = as_many_as_fit(map(_fields, lines), _CHARACTERS)
        return ToolResult({"lines": fields} | non_empty({"more": not complete or len(fields) < len(lines)}))

    description = (
        f"Find the lines of {about} that match a regular expression, such as E-\\d{{3}} or tea|coffee (RE2: \\w, \\d and "
        "\\b are ASCII, \\pL is any letter), or contain an exact text: for names, numbers, codes, and every place of a "
        f"word. Returns each line with its document, number, text and citation, which {read} takes. If more is true, there "
        f"are more lines, or not all could be searched in time: narrow the search. {DATA}"
    )
    returns = {"lines": [PLACE | {"line": int, "text": str, "cut": bool}], "more": bool}
    return AgentTool(name, description, parameters, grep, timeout, returns=returns)


def _fields(line: Line) -> dict[str, Any]:
    place = place_fields(line.document_id, line.start, line.start + len(line.text))
    return place | {"line": line.number, "text": line.text} | non_empty({"cut": not line.is_whole})


def line_expression(pattern: str, *, regex: bool, ignore_case: bool = False) -> Any:
    """A compiled pattern, whose time is linear in the length of a line."""
    import re2

    check_text("pattern", pattern)
    if not 0 < len(pattern) <= _LONGEST_PATTERN:
        raise InvalidArgument(f"pattern must have 1 to {_LONGEST_PATTERN:,} characters, got {len(pattern):,}")
    if "\n" in pattern or "\r" in pattern:
        raise InvalidArgument(f"pattern must have no line ends, since each line is searched alone, got {shown(pattern)}")
    options = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    options.literal, options.case_sensitive = not regex, not ignore_case
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0].decode() if isinstance(error, re2.error) else error
        rule = f"pattern must be a regular expression of RE2, got {shown(pattern)}"
        raise InvalidArgument(f"{rule}: {why}; write an exact text as \\Q...\\E") from None


def find_lines(
    view: View, ids: Iterable[str], expression: Any, most: int = sys.maxsize, end: float = inf
) -> Flow[tuple[list[Line], bool]]:
    """The first matching lines of documents, searched until a time, and whether these are all that match.

    A document that was deleted meanwhile has no lines.
    """
    lines: list[Line] = []
    complete = True
    for id_ in ids:
        if time.monotonic() > end:
            return lines, False
        try:
            text = (yield Call(view.get, (id_,), native=view.aget, what="read")).text
        except DocumentNotFound:
            continue
        # In a thread, since a document may have a million lines.
        more, all_of_it = yield Call(_lines_of, (id_, text, expression, most - len(lines), end), what="")
        lines += more
        complete = complete and all_of_it
        if not all_of_it and len(lines) == most:
            break
    return lines, complete


def _lines_of(id_: str, text: str, expression: Any, most: int, end: float) -> tuple[list[Line], bool]:
    """The first matching lines of a document, and whether these are all that match."""
    lines: list[Line] = []
    reach, complete = _STEPS // expression.programsize, True
    for number, line in enumerate(_LINE.finditer(text), 1):
        start, stop = line.span(1)
        match, cut = expression.search(line[1][:reach]), stop - start > reach
        if match and not (cut and match.end() == reach):  # where it is cut, $ and \b match
            if len(lines) == most:
                return lines, False
            first = max(start, min(start + match.start() - _BEFORE, stop - _SHOWN))
            last = min(stop, first + _SHOWN)
            lines.append(Line(id_, number, first, text[first:last], (first, last) == (start, stop)))
        elif cut:
            complete = False
        if time.monotonic() > end:
            return lines, False
    return lines, complete
