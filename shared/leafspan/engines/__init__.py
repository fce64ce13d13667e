"""What leafspan stores records in: the port, and what calls an engine. Chroma is in ``engines.chroma``."""

from leafspan.engines._caller import Caller, in_one_line
from leafspan.engines._opening import to_engine
from leafspan.engines._port import MOST_RESULTS, Engine, Field, Near, Notes, Record, StaleRead, Table
from leafspan.engines._tables import FlowEngine, FlowTable, is_engine

__all__ = [
    "MOST_RESULTS",
    "Caller",
    "Engine",
    "Field",
    "FlowEngine",
    "FlowTable",
    "Near",
    "Notes",
    "Record",
    "StaleRead",
    "Table",
    "in_one_line",
    "is_engine",
    "to_engine",
]
