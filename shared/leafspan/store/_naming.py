"""The names of an index's tables, and the settings that are stored as a table's notes."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from leafspan.checks import shown
from leafspan.embedding import EmbedderIdentity
from leafspan.engines import Notes
from leafspan.errors import DamagedIndex


def leaves_name(name: str) -> str:
    """The name of the table with an index's leaves."""
    return f"{name}.leaves"


def manifest_name(name: str) -> str:
    """The name of the table with an index's manifest."""
    return f"{name}.manifest"


def texts_name(name: str) -> str:
    """The name of the table with the texts that are kept beside an index."""
    return f"{name}.texts"


def segments_name(name: str) -> str:
    """The name of the table with the segments of an index behind a client."""
    return f"{name}.segments"


LEAVES_NOTES = {"made_by": "leafspan"}
"""The notes on the table with an index's leaves."""


def settings_with(settings: Mapping[str, Any], identity: EmbedderIdentity | None) -> dict[str, str]:
    """The notes on the manifest: the index's settings, and its embedder if it is known."""
    stored = {"leafspan": json.dumps(dict(settings))}
    if identity is not None:
        stored["embedder"] = json.dumps({"name": identity.name, "dimension": identity.dimension, "probe": identity.probe})
    return stored


def is_manifest(notes: Notes) -> bool:
    """Whether a table with these notes is the manifest of an index."""
    return "leafspan" in notes


def is_leaves(notes: Notes) -> bool:
    """Whether a table with these notes was made for the leaves of an index."""
    return notes.get("made_by") == LEAVES_NOTES["made_by"]


_BYTES = 4  # bytes per number of a vector
_RESTORE = "restore the index from a backup, or add the documents to a new one"


def read_settings(notes: Notes) -> dict[str, Any]:
    """Read an index's settings from the notes on its manifest. ``IndexSettings`` checks the values."""
    settings = _from_json(notes.get("leafspan"))
    if not isinstance(settings, dict) or "format" not in settings:
        raise DamagedIndex(f"the settings of the index are damaged, got {shown(notes.get('leafspan'))}: {_RESTORE}")
    return settings


def read_embedder(notes: Notes) -> EmbedderIdentity | None:
    """Read an index's embedder from the notes on its manifest. Return None before the first embedding."""
    if "embedder" not in notes:
        return None
    stored = _from_json(notes["embedder"])
    if not isinstance(stored, dict) or set(stored) != {"name", "dimension", "probe"} or not _is_embedder(**stored):
        raise DamagedIndex(f"the record of the index's embedder is damaged, got {shown(notes['embedder'])}: {_RESTORE}")
    return EmbedderIdentity(**stored)


def _from_json(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _is_embedder(name: object, dimension: object, probe: object) -> bool:
    if not isinstance(name, str) or type(dimension) is not int or not isinstance(probe, str):
        return False
    try:
        return len(base64.b64decode(probe, validate=True)) == _BYTES * dimension > 0
    except ValueError:
        return False
