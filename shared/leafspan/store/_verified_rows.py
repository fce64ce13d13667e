"""Compares the catalogue's file with the stored index: its rows, settings and embedder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from leafspan.store._catalogue_records import KnownIndex
from leafspan.store._manifest import Row
from leafspan.store._row_block import DamagedCatalogue

CATALOGUE = "leafspan.segments/catalogue"
"""The name for a difference that does not concern a document."""


class VerifiedRows(NamedTuple):
    """The rows of an index.

    Attributes:
        rows: The stored rows, by stored document id.
        differences: How the catalogue's file differed, by document.
    """

    rows: Mapping[str, Row]
    differences: Mapping[str, str]


def differences_of(kept: KnownIndex, known: KnownIndex) -> dict[str, str]:
    """Describe how the catalogue's file (``kept``) differs from the stored index (``known``), by document."""
    found = {}
    for field in ("id", "settings", "embedder"):
        if getattr(kept, field) != getattr(known, field):
            what = "collection" if field == "id" else field
            found[CATALOGUE] = f"the {what} in it is not what is stored"
    rows = known.catalogue.rows
    try:
        others = kept.catalogue.unpacked().rows
    except DamagedCatalogue as error:
        return {CATALOGUE: str(error)}
    columns = {id_: each for id_, *each in kept.catalogue.versions()}
    for id_ in sorted(rows.keys() | others.keys()):
        if id_ not in rows:
            found[id_] = "the catalogue has it, and the manifest does not"
        elif id_ not in others:
            found[id_] = "the catalogue does not have it"
        elif rows[id_] != others[id_] or columns[id_] != [rows[id_].version, rows[id_].leaves]:
            found[id_] = "its row in the catalogue is not what is stored"
    return found
