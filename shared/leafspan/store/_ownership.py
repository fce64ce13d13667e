"""Checks whether leafspan made the tables with an index's names."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from leafspan.engines import FlowEngine, FlowTable, Notes
from leafspan.errors import IndexMismatch
from leafspan.flows import Flow
from leafspan.store._naming import is_leaves, is_manifest, leaves_name, manifest_name

_MOST_NAMED = 10  # indexes that an error names


def find_manifest(engine: FlowEngine, name: str) -> Flow[FlowTable | None]:
    """An index's manifest, or None if there is no such index. Tables of another program are an IndexMismatch."""
    manifest = yield from engine.table(manifest_name(name))
    if manifest is not None:
        if not is_manifest(manifest.notes):
            raise (yield from _refusal(engine, manifest.name))
        return manifest
    # A process that was killed or is still at work may have made only the table of leaves.
    leaves = yield from engine.table(leaves_name(name))
    if leaves is not None and not is_leaves(leaves.notes):
        raise (yield from _refusal(engine, leaves.name))
    return None


def index_names(tables: Mapping[str, Notes]) -> list[str]:
    """The names of the indexes that these tables belong to."""
    return [name.removesuffix(manifest_name("")) for name, notes in tables.items() if is_manifest(notes)]


def _refusal(engine: FlowEngine, name: str) -> Flow[IndexMismatch]:
    maker = yield from engine.maker(name)
    whose = f"its records were written by {maker}" if maker else "it is empty"
    return IndexMismatch(
        f"the {engine.kind} {name!r} was not made by leafspan ({whose}): choose another name for the index"
    )


def warn_of_namesake(engine: FlowEngine, name: str) -> Flow[None]:
    """Warn if a collection that leafspan did not make has the name of an index that will be made."""
    if name in (yield from engine.adoptable()) and (maker := (yield from engine.maker(name))) is not None:
        warnings.warn(
            f"this makes an empty index {name!r} beside the Chroma collection {name!r}, whose records were written by "
            f"{maker}: to make an index of them, use leafspan.adopt, or the command leafspan adopt",
            UserWarning,
            stacklevel=2,
        )


def adoptable(engine: FlowEngine, others: Sequence[str] = ()) -> Flow[str]:
    """The end of an error message: which collections could be adopted, and which indexes exist, with ``others``."""
    said = ""
    if names := (yield from engine.adoptable()):
        listed = ", ".join(map(repr, names))
        said = f", but there are Chroma collections ({listed}): leafspan.adopt, or leafspan adopt, makes an index of one"
    indexes = [*index_names((yield from engine.tables())), *others]
    if own := sorted(name for name in indexes if name.rpartition(".")[0] not in indexes):  # without trees, such as kb.tree
        listed = ", ".join([*map(repr, own[:_MOST_NAMED]), *(["..."] if len(own) > _MOST_NAMED else [])])
        said += f"; there is {listed}" if len(own) == 1 else f"; there are {listed}"
    return said
