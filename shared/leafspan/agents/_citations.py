"""Citations: a text's place as a short text that a model can repeat, and the numbers of sources that an answer cites."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from leafspan.agents._limits import LONGEST_ID
from leafspan.checks import shown
from leafspan.errors import InvalidArgument

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_MOST_DIGITS = 12  # of a character's number
LONGEST_CITATION = LONGEST_ID + 2 * _MOST_DIGITS + len(":-")
"""Characters of the longest citation."""

_CITATION = re.compile(rf"(?s)(.*):(\d{{1,{_MOST_DIGITS}}})-(\d{{1,{_MOST_DIGITS}}})", re.ASCII)

_LABEL = r"(?:(?:sources?|src|docs?|documents?|quellen?|fuentes?|fontes?|fonti|bron(?:nen)?|来源|來源|出典)\s*+)?[#№]?\s*+"
_NUMBERS = rf"{_LABEL}\d{{1,6}}(?:\s*+[-\u2010-\u2015~〜]\s*+{_LABEL}\d{{1,6}})?"
_CITED = re.compile(rf"[\[【]\s*+({_NUMBERS}(?:\s*+(?:[,;，、&]|and|und|et|y|e)\s*+{_NUMBERS})*)\s*+[\]】]", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)(?:\s*[-\u2010-\u2015~〜]\D*(\d+))?")


class Citation(NamedTuple):
    """A range of characters of a document. As text it is ``{document_id}:{start}-{end}``.

    Attributes:
        document_id: Id of the document, which may contain ``:`` itself.
        start: The first character.
        end: The character after the last one.
    """

    document_id: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.document_id}:{self.start}-{self.end}"

    @classmethod
    def parse(cls, text: str) -> Citation:
        """Read a citation from its text.

        Raises:
            InvalidArgument: if the text is not a citation, or its range is empty.
        """
        match = _CITATION.fullmatch(text)
        if match is None or int(match[2]) >= int(match[3]):
            raise InvalidArgument(
                f"citation must be like handbook.md:120-480, as search returns it, got {shown(text)}; to read from a "
                "document's start, give document_id"
            )
        return cls(match[1], int(match[2]), int(match[3]))


def cited_numbers(answer: str, count: int) -> list[int]:
    """The numbers in [1, count] that the answer cites, each once, in the order of the answer.

    It reads [1], [2, 3], [1-3] and [Source 1], outside code.
    """
    cited: dict[int, None] = {}
    for found in _CITED.findall(_without_code(answer)) if "[" in answer or "【" in answer else ():
        for first, last in _RANGE.findall(found):
            if 1 <= int(first) <= count:
                cited.update(dict.fromkeys(range(int(first), min(int(last or first), count) + 1)))
    return list(cited)


def _without_code(answer: str) -> str:
    """The lines of an answer in Markdown, without code in them and between them."""
    lines = (token.children or () for token in _markdown().parse(answer) if token.type == "inline")
    return "\n\n".join(
        "".join(" " if each.type == "code_inline" else each.content or "\n" for each in line) for line in lines
    )


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable(["reference", "link", "image", "html_block", "html_inline", "autolink"])
