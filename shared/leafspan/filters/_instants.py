"""Points in time from metadata, which has no type for dates and holds them as ISO 8601 texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ]|\Z)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(text: str) -> int | None:
    """Microseconds since 1970 (UTC) of an ISO date or datetime, None for any other text.

    Without an offset a time is UTC; a date means its first moment. Only the extended format with a full date is a date:
    ``2025-02-03``, ``2025-02-03T10:00``, ``2025-02-03 10:00:00+02:00``. ``2025`` and ``20250203`` may be something else,
    and sort correctly as texts anyway.
    """
    if not _DATE.match(text):
        return None
    ends_day = text[11:13] == "24"  # 24:00, the end of a day in ISO 8601, which Python reads only since version 3.14
    try:
        moment = datetime.fromisoformat(f"{text[:11]}00{text[13:]}" if ends_day else text)
    except ValueError:
        return None
    if ends_day and (moment.hour, moment.minute, moment.second, moment.microsecond) != (0, 0, 0, 0):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) + (86_400_000_000 if ends_day else 0)
