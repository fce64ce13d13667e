"""Rows as a pandas DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leafspan.errors import MissingExtra
from leafspan.sources.sql._rows import Rows

if TYPE_CHECKING:
    from pandas import DataFrame


def to_frame(rows: Rows) -> DataFrame:
    """Make a DataFrame with the driver's values. Its ``attrs["cut"]`` says whether there were more rows.

    Raises:
        MissingExtra: if pandas is not installed.
    """
    pandas = import_pandas()
    frame: DataFrame = pandas.DataFrame.from_records(list(rows.rows), columns=list(rows.columns))
    frame.attrs["cut"] = rows.cut
    return frame


def import_pandas() -> Any:
    """Import pandas.

    Raises:
        MissingExtra: if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra.of("a DataFrame needs pandas", "pandas") from error
    return pandas
