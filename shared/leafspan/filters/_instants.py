"""Points in time, read from metadata: metadata has no type for dates, so they are ISO 8601 texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ]|\Z)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(text: str) -> int | None:
    """Microseconds since 1970 (UTC) for an ISO date or datetime, and None for any other text.

    A text without an offset is taken as UTC, a date as its first moment. Only the extended format with a full date counts
    (``2025-02-03``, ``2025-02-03T10:00``, ``2025-02-03 10:00:00+02:00``): ``2025`` and ``20250203`` are as likely to be
    something else, and sort rightly as texts.
    """
    if not _DATE.match(text):
        return None
    late = text[11:13] == "24"  # ISO's name for the end of a day, which Python reads from version 3.14 only
    try:
        moment = datetime.fromisoformat(f"{text[:11]}00{text[13:]}" if late else text)
    except ValueError:
        return None
    if late and (moment.hour, moment.minute, moment.second, moment.microsecond) != (0, 0, 0, 0):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) + (86_400_000_000 if late else 0)
