"""A strategy that answers questions and SQL with rows of a database. It needs no index."""

from leafspan.sources.sql._attempts import DEFAULT_REPAIR_PROMPT, DEFAULT_SQL_PROMPT, PROMPT_FIELDS, REPAIR_FIELDS
from leafspan.sources.sql._rows import Extract
from leafspan.sources.sql._sql import SQL, Tables

__all__ = ["DEFAULT_REPAIR_PROMPT", "DEFAULT_SQL_PROMPT", "PROMPT_FIELDS", "REPAIR_FIELDS", "SQL", "Extract", "Tables"]
