"""Errors of PostgreSQL and its driver as errors of ours."""

from __future__ import annotations

from leafspan.engines._caller import failure, in_one_line, late_answer
from leafspan.errors import InvalidArgument, StorageFailed, StorageFull, StorageReadOnly

_CONTENT = "22"  # the SQLSTATE class for invalid values, such as a vector of another length
_BY_CODE = {
    "25006": (StorageReadOnly, "write to the primary server: a replica is only read"),
    "42501": (StorageReadOnly, "let an administrator run what leafspan.engines.postgres.script prints, or grant the right"),
    "53100": (StorageFull, "make space there, then do it again: what was written before is whole"),
    "53300": (StorageFailed, "the server has no more connections: use fewer, or raise its max_connections"),
    "57P03": (StorageFailed, "it is starting or stopping: try again"),
}


def translated(error: BaseException, doing: str, place: str, *, server: bool, writing: bool) -> BaseException | None:
    """See ``Translate``."""
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(error).__mro__}
    words = in_one_line(error)
    code = str(getattr(error, "sqlstate", None) or "")
    if "psycopg_pool.PoolTimeout" in kinds or "psycopg.QueryCanceled" in kinds:
        return late_answer(doing, place, words, writing=writing)
    if code in _BY_CODE:
        kind, remedy = _BY_CODE[code]
        return kind(f"could not {doing} in {place}: {words}; {remedy}")
    if "psycopg.DataError" in kinds and code.startswith(_CONTENT):
        return InvalidArgument(f"could not {doing} in {place}: {words}; give vectors as long as the index's vectors")
    return failure(error, doing, place, server=server, writing=writing)
