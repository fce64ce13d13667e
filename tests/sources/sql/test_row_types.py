"""The type of a table's rows does not show the columns of a table that is not allowed."""

from __future__ import annotations

import pytest

from leafspan import retrieve
from leafspan.errors import RefusedQuery
from leafspan.sources import SQL

TABLES = ["customers"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT json_populate_record(NULL::secrets, '{}')",
        "SELECT * FROM json_populate_record(CAST(NULL AS public.secrets), '{}')",
        "SELECT (NULL::secrets[])[1]",
        "SELECT (NULL::_secrets)[1]",
        'SELECT NULL::"secrets"',
        "SELECT row_to_json(t.a) FROM json_to_record('{}') AS t(a SECRETS)",
    ],
)
def test_the_row_type_of_a_table_is_refused(postgres_session, sql):
    with pytest.raises(RefusedQuery, match=r"got the type _?secrets, which is a table's row type"):
        retrieve(sql, SQL(postgres_session, tables=TABLES, timeout=60))


def test_other_types_pass(postgres_session):
    sql = "SELECT id::bigint AS id, name::text AS name FROM customers WHERE id = '1'::numeric"
    [passage] = retrieve(sql, SQL(postgres_session, tables=TABLES))
    assert passage.text == "id: 1\nname: Ada"


def test_row_types_pass_where_every_table_may_be_read(postgres_session):
    [passage] = retrieve('SELECT (json_populate_record(NULL::secrets, \'{"word": "tea"}\')).word', SQL(postgres_session))
    assert passage.text == "word: tea"
