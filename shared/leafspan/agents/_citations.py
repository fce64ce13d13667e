"""Citations: a text's place as a short text that a model can repeat, and that ``read`` accepts."""

from __future__ import annotations

import re
from typing import NamedTuple

from leafspan.agents._limits import LONGEST_ID
from leafspan.checks import shown
from leafspan.errors import InvalidArgument

_MOST_DIGITS = 12  # of a character's number
LONGEST_CITATION = LONGEST_ID + 2 * _MOST_DIGITS + len(":-")
"""Characters of the longest citation."""

_CITATION = re.compile(rf"(?s)(.*):(\d{{1,{_MOST_DIGITS}}})-(\d{{1,{_MOST_DIGITS}}})", re.ASCII)


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
