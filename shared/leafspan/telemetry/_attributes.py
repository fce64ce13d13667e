"""The attributes of a span, by the semantic conventions of OpenInference for retrievers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from leafspan.checks import shown
from leafspan.spans import citation
from leafspan.telemetry._hiding import REDACTED, Hiding
from leafspan.values import Passage, Query

KIND = "openinference.span.kind"
Attributes = dict[str, str | float]


def input_attributes(asked: object, hiding: Hiding) -> Attributes:
    """The question. None of a query that has no text."""
    text = asked.text if isinstance(asked, Query) else asked
    if not isinstance(text, str):
        return {}
    return {"input.value": REDACTED if hiding.inputs else text, "input.mime_type": "text/plain"}


def document_attributes(passages: Sequence[Passage], hiding: Hiding) -> Attributes:
    """The passages. Their ids and scores are there even if their contents are left out."""
    found: Attributes = {}
    for number, passage in enumerate(passages):
        name = f"retrieval.documents.{number}.document"
        found[f"{name}.id"] = str(passage.id)
        found[f"{name}.score"] = float(passage.score)
        if not hiding.outputs:
            found[f"{name}.content"] = passage.text
            why = {} if hiding.inputs else {"trace": passage.trace.explain()}  # which may quote phrasings of the question
            found[f"{name}.metadata"] = to_json({**passage.metadata, **citation(passage), **why})
    return found


def to_json(value: Mapping[str, object]) -> str:
    """A value as JSON; what JSON does not have as its repr."""
    try:
        return json.dumps(value, ensure_ascii=False, default=shown)
    except (TypeError, ValueError, RecursionError):  # such as a key that is no text, in the metadata of another source
        return json.dumps(shown(dict(value)))
