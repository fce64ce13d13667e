"""Another process: it fills a disk with an index, or looks at one afterwards. It prints what it finds as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from leafspan.errors import LeafspanError
from tests.durability.versions import document, open_index, text_of

_MOST = 400  # documents
_TIMEOUT = 5.0


def fill(path: str) -> dict[str, Any]:
    """Add documents until an error comes, and then once more."""
    stored: list[str] = []
    error = again = None
    try:
        with open_index({"path": path}, timeout=_TIMEOUT) as index:
            try:
                for number in range(_MOST):
                    index.add(document(f"document-{number}", 1, 30))
                    stored.append(f"document-{number}")
            except Exception as raised:
                error = described(raised)
            try:
                index.add(document("one-more", 1, 30))
            except Exception as raised:
                again = described(raised)
    except Exception as raised:
        error = error or described(raised)
    return {"stored": stored, "error": error, "again": again}


def look(path: str, stored: list[str]) -> dict[str, Any]:
    """Whether all that was stored is there, and the index can be written again."""
    wrong = []
    with open_index({"path": path}, timeout=_TIMEOUT) as index:
        for name in stored:
            if text_of(index, name) != document(name, 1, 30).text:
                wrong.append(f"{name} is {text_of(index, name)!r}")
        wrong += [f"not repaired: {finding}" for finding in index.repair(verify=True) if not finding.repaired]
        index.add(document("afterwards", 1, 30))
        wrong += [str(finding) for finding in index.check(verify=True)]
        if text_of(index, "afterwards") is None:
            wrong.append("what was added afterwards is not there")
    return {"wrong": wrong}


def described(error: BaseException) -> dict[str, Any]:
    return {"ours": isinstance(error, LeafspanError), "kind": type(error).__name__, "says": str(error)[:300]}


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    job = told.pop("job")
    print(json.dumps({"fill": fill, "look": look}[job](**told)))
