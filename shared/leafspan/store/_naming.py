"""The names of an index's collections, and the settings that are stored as metadata of a collection."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from leafspan.checks import shown
from leafspan.embedding import EmbedderIdentity
from leafspan.errors import DamagedIndex


def leaves_name(name: str) -> str:
    """The name of the Chroma collection of an index's leaves."""
    return f"{name}.leaves"


def manifest_name(name: str) -> str:
    """The name of the Chroma collection of an index's manifest."""
    return f"{name}.manifest"


def texts_name(name: str) -> str:
    """The name of the Chroma collection of the texts that are kept beside an index."""
    return f"{name}.texts"


def settings_with(settings: Mapping[str, Any], identity: EmbedderIdentity | None) -> dict[str, str]:
    """The metadata of the manifest's collection: the settings of the index, and its embedder if that is known."""
    stored = {"leafspan": json.dumps(dict(settings))}
    if identity is not None:
        stored["embedder"] = json.dumps({"name": identity.name, "dimension": identity.dimension, "probe": identity.probe})
    return stored


def is_manifest(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a collection with this metadata is the manifest of an index."""
    return "leafspan" in (metadata or {})


_BYTES = 4  # of a number of a vector
_RESTORE = "restore the index from a backup, or add the documents to a new one"


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an index, from the metadata of its manifest's collection.

    Raises:
        DamagedIndex: if they cannot be read. Which of them can, only ``IndexSettings`` knows.
    """
    settings = _from_json(metadata["leafspan"])
    if not isinstance(settings, dict) or "format" not in settings:
        raise DamagedIndex(f"the settings of the index are damaged, got {shown(metadata['leafspan'])}: {_RESTORE}")
    return settings


def read_embedder(metadata: Mapping[str, Any]) -> EmbedderIdentity | None:
    """The embedder of an index, from the metadata of its manifest's collection; None before the first embedding.

    Raises:
        DamagedIndex: if it cannot be read.
    """
    if "embedder" not in metadata:
        return None
    stored = _from_json(metadata["embedder"])
    if not isinstance(stored, dict) or set(stored) != {"name", "dimension", "probe"} or not _is_embedder(**stored):
        raise DamagedIndex(f"the record of the index's embedder is damaged, got {shown(metadata['embedder'])}: {_RESTORE}")
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
