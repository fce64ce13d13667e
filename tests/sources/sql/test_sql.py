"""The strategy ``SQL`` as users see it."""

from __future__ import annotations

import copy
import datetime
import decimal
import pickle
import threading

import pytest
import sqlalchemy

import leafspan
from leafspan import (
    BM25,
    Document,
    Ensemble,
    F,
    Index,
    InvalidArgument,
    Query,
    Strategy,
    aretrieve,
    retrieve,
    retrieve_many,
)
from leafspan.errors import FunctionFailed, QueryFailed, RefusedQuery
from leafspan.sources import SQL
from leafspan.sources.sql._rows import different_names, plain


class Model:
    """A language model that says what it was made with, and remembers the prompts."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def texts(passages):
    return [each.text for each in passages]


def test_each_row_is_a_passage_in_the_order_of_the_query(sqlite_url):
    passages = retrieve("SELECT id, name FROM customers ORDER BY id DESC", SQL(sqlite_url))
    assert texts(passages) == ["id: 3\nname: Zoë O'Hara", "id: 2\nname: Grace", "id: 1\nname: Ada"]
    assert [each.score for each in passages] == [1, 1 / 2, 1 / 3]
    assert [each.kind for each in passages] == ["row"] * 3
    assert [each.metadata["name"] for each in passages] == ["Zoë O'Hara", "Grace", "Ada"]
    assert (passages[0].document_id, passages[0].start, passages[0].end) == ("", None, None)


def test_the_trace_has_the_sql_that_was_run(sqlite_url):
    [passage] = retrieve("select NAME from customers where id=1 -- hello", SQL(sqlite_url))
    assert passage.trace.explain() == [
        "SQL found the row (rank 1, score 1.000)",
        "SQL: SELECT NAME FROM customers WHERE id = 1 LIMIT 1001",
    ]


def test_the_metadata_have_the_query_on_request(sqlite_url):
    [passage] = retrieve("SELECT 1 AS one", SQL(sqlite_url, return_query=True))
    assert passage.metadata == {"one": 1, "sql": "SELECT 1 AS one LIMIT 1001"}


@pytest.mark.parametrize(
    ("sql", "ids"),
    [
        ("SELECT * FROM customers WHERE id < 3 ORDER BY id", ["customers:1", "customers:2"]),
        ("SELECT name, id FROM customers WHERE id = 2", ["customers:2"]),
        ("SELECT * FROM items WHERE order_id = 1 ORDER BY product_id", ["items:1,1", "items:1,2"]),
    ],
)
def test_a_row_is_named_by_its_primary_key(sqlite_url, sql, ids):
    assert [each.id for each in retrieve(sql, SQL(sqlite_url))] == ids


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM customers WHERE id = 1",
        "SELECT name AS id FROM customers WHERE id = 1",
        "SELECT product_id FROM items WHERE order_id = 2",
        "SELECT c.id FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.id = 1",
        "SELECT id FROM customers WHERE id = 1 UNION SELECT 1",
        "SELECT DISTINCT id FROM customers WHERE id = 1",
        "SELECT * FROM spending WHERE name = 'Ada'",
        "SELECT 1 AS id",
    ],
)
def test_other_rows_are_named_by_their_query_and_number(sqlite_url, sql):
    [first] = retrieve(sql, SQL(sqlite_url))
    [again] = retrieve(sql, SQL(sqlite_url))
    assert first.id == again.id
    assert first.id.startswith("sql-")
    assert first.id.endswith(":1")


def test_rows_are_named_the_same_in_postgres(postgres):
    assert [each.id for each in retrieve("SELECT * FROM other.customers", SQL(postgres))] == ["customers:1"]


def test_all_rows_are_returned_and_k_cuts_them(sqlite_url):
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200) SELECT x FROM n"
    assert len(retrieve(numbers, SQL(sqlite_url))) == 200
    assert len(retrieve(numbers, SQL(sqlite_url), k=7)) == 7


def test_the_database_is_asked_once(sqlite_url, monkeypatch):
    strategy = SQL(sqlite_url)
    asked = []
    run = type(strategy.database).run
    monkeypatch.setattr(type(strategy.database), "run", lambda self, *args: asked.append(args[0].sql) or run(self, *args))
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200) SELECT x FROM n"
    for options in ({}, {"k": 3}, {"budget": 10_000}, {"min_score": 0.1}):
        asked.clear()
        retrieve(numbers, strategy, **options)
        assert len(asked) == 1


def test_the_database_is_asked_once_also_where_the_retrieval_looks_again(tmp_path, sqlite_url, monkeypatch):
    class Numbers(Strategy):
        def retrieve(self, queries, context):
            return (yield from rows.retrieve([Query("SELECT id FROM customers") for _ in queries], context))

    rows = SQL(sqlite_url)
    asked = []
    run = type(rows.database).run
    monkeypatch.setattr(type(rows.database), "run", lambda self, *args: asked.append(args[0].sql) or run(self, *args))
    with Index.open(tmp_path / "kb") as index:
        index.add([Document(str(number), f"Bees dance, says note {number}.") for number in range(100)])
        found = index.retrieve("bees", Ensemble(retrievers=[BM25(), Numbers()]), budget=800)
    assert sum(passage.kind == "text" for passage in found) > 24 + 800 // 30  # more than the first look was at
    assert len(asked) == 1


def test_several_queries_have_a_list_each(sqlite_url):
    first, second = retrieve_many(["SELECT 1 AS a", "SELECT 2 AS b"], SQL(sqlite_url))
    assert (texts(first), texts(second)) == (["a: 1"], ["b: 2"])


def test_a_query_without_rows_has_no_passages(sqlite_url):
    assert retrieve("SELECT * FROM customers WHERE id = 99", SQL(sqlite_url)) == []
    assert retrieve("SELECT * FROM customers WHERE id = 99", SQL(sqlite_url, result="table")) == []


def test_rows_are_filtered_by_their_metadata(sqlite_url):
    found = retrieve("SELECT id, name FROM customers ORDER BY id", SQL(sqlite_url), where=F("name") == "Grace")
    assert texts(found) == ["id: 2\nname: Grace"]


def test_a_table_is_one_passage_in_markdown(sqlite_url):
    sql = "SELECT 'a|b' AS x, 'two\nlines' AS y, NULL AS z"
    [passage] = retrieve(sql, SQL(sqlite_url, result="table", return_query=True))
    assert passage.text == "| x | y | z |\n| --- | --- | --- |\n| a\\|b | two lines | NULL |"
    assert (passage.kind, passage.score) == ("table", 1.0)
    assert passage.metadata["columns"] == ["x", "y", "z"]
    assert passage.metadata["rows"] == 1
    assert passage.metadata["sql"].startswith("SELECT 'a|b' AS x")


def test_extract_chooses_the_columns_of_the_text(sqlite_url):
    sql = "SELECT id, name, city FROM customers WHERE id = 1"
    assert texts(retrieve(sql, SQL(sqlite_url, extract=["name"]))) == ["Ada"]
    assert texts(retrieve(sql, SQL(sqlite_url, extract=["city", "name"]))) == ["city: London\nname: Ada"]
    assert texts(retrieve(sql, SQL(sqlite_url, extract=lambda row: f"{row['name']} in {row['city']}"))) == ["Ada in London"]
    table = SQL(sqlite_url, extract=["city"], result="table")
    assert texts(retrieve(sql, table)) == ["| city |\n| --- |\n| London |"]


def test_extract_must_fit_the_rows(sqlite_url):
    with pytest.raises(
        InvalidArgument, match=r"must name columns of the result \(id, name\), got 'nam'; did you mean 'name'"
    ):
        retrieve("SELECT id, name FROM customers", SQL(sqlite_url, extract=["nam"]))
    with pytest.raises(InvalidArgument, match=r"extract of SQL, .* must return a text, got 1"):
        retrieve("SELECT id FROM customers", SQL(sqlite_url, extract=lambda row: row["id"]))


def test_preprocess_query_changes_what_is_asked(sqlite_url):
    strategy = SQL(sqlite_url, preprocess_query=lambda text: text.removeprefix("sql:"))
    assert texts(retrieve("sql:SELECT 1 AS a", strategy)) == ["a: 1"]
    with pytest.raises(InvalidArgument, match="preprocess_query must return a text that is not blank, got None"):
        retrieve("x", SQL(sqlite_url, preprocess_query=lambda text: None))


def test_columns_of_the_same_name_are_all_kept():
    assert different_names(["id", "id", "name", "id", ""]) == ("id", "id_2", "name", "id_3", "column_5")
    assert different_names(["id", "id", "id_2"]) == ("id", "id_3", "id_2")


def test_a_frame_has_the_values_of_the_database(postgres):
    strategy = SQL(postgres)
    frame = strategy.retrieve_frame("SELECT title, price FROM products ORDER BY id")
    assert list(frame.columns) == ["title", "price"]
    assert frame["price"].tolist() == [decimal.Decimal("4.50"), decimal.Decimal("12.00"), decimal.Decimal("39.90")]
    assert frame.attrs == {"cut": False}
    sql, frame = strategy.retrieve_frame("SELECT day FROM orders ORDER BY id", return_query=True)
    assert sql == "SELECT day FROM orders ORDER BY id LIMIT 1001"
    assert frame["day"].tolist()[0] == datetime.date(2024, 1, 5)


def test_a_frame_says_whether_there_are_more_rows(sqlite_url):
    frame = SQL(sqlite_url, row_limit=2).retrieve_frame("SELECT id FROM customers ORDER BY id")
    assert frame["id"].tolist() == [1, 2]
    assert frame.attrs["cut"]


def test_a_frame_without_rows_has_its_columns(sqlite_url):
    frame = SQL(sqlite_url).retrieve_frame("SELECT id, name FROM customers WHERE id = 99")
    assert (list(frame.columns), len(frame)) == (["id", "name"], 0)


async def test_everything_works_in_an_event_loop(sqlite_url):
    async def agenerate(prompt):
        return "SELECT name FROM customers WHERE id = 1"

    strategy = SQL(sqlite_url, generate=Model(), agenerate=agenerate)
    assert texts(await aretrieve("Who is number one?", strategy)) == ["name: Ada"]
    sql, frame = await strategy.aretrieve_frame("Who is number one?", return_query=True)
    assert sql.startswith("SELECT name")
    assert frame["name"].tolist() == ["Ada"]


async def test_rows_become_passages_off_the_event_loop(sqlite_url):
    made_in = []

    def extract(row):
        made_in.append(threading.get_ident())
        return row["name"]

    assert len(await aretrieve("SELECT name FROM customers", SQL(sqlite_url, extract=extract))) == 3
    assert len(made_in) == 3
    assert threading.get_ident() not in made_in


async def test_frames_are_made_off_the_event_loop(sqlite_url, monkeypatch):
    made_in = []
    make = leafspan.sources.sql._sql.to_frame
    monkeypatch.setattr(
        leafspan.sources.sql._sql, "to_frame", lambda rows: made_in.append(threading.get_ident()) or make(rows)
    )
    assert len(await SQL(sqlite_url).aretrieve_frame("SELECT 1 AS a")) == 1
    assert len(made_in) == 1
    assert threading.get_ident() not in made_in


def test_values_become_plain_without_losing_digits():
    assert plain(decimal.Decimal("19.90")) == 19.9
    assert plain(decimal.Decimal("7")) == 7
    assert plain(decimal.Decimal("0.1234567890123456789")) == "0.1234567890123456789"
    assert plain(decimal.Decimal("NaN")) == "NaN"
    assert plain(datetime.datetime(2024, 1, 5, 10)) == "2024-01-05T10:00:00"
    assert plain(datetime.timedelta(minutes=2)) == 120.0
    assert plain(b"\x01\xff") == "01ff"
    assert plain({"a": [decimal.Decimal("1.5"), None]}) == {"a": [1.5, None]}
    assert plain(float("inf")) == "inf"


def test_a_question_is_answered_by_the_sql_that_a_model_writes(sqlite_url):
    model = Model("SELECT name FROM customers ORDER BY id LIMIT 1")
    [passage] = retrieve("Who was our first customer?", SQL(sqlite_url, generate=model, tables=["customers"]))
    assert passage.text == "name: Ada"
    [prompt] = model.prompts
    assert "Question: Who was our first customer?" in prompt
    assert "SQL query for sqlite" in prompt
    assert "customers\n- id INTEGER, primary key\n- name TEXT, not null\n" in prompt
    assert "secrets" not in prompt


def test_the_model_is_shown_comments_keys_and_rows_of_what_is_allowed(postgres):
    model = Model("SELECT 1 AS one")
    tables = {"customers": ["id", "city"], "orders": None, "other.customers": None}
    retrieve("anything", SQL(postgres, generate=model, tables=tables, sample_rows=1))
    [prompt] = model.prompts
    expected = "customers: people who buy\n- id INTEGER, primary key\n- city TEXT, where they live\nrows, for example:\n  1 | London"
    assert expected in prompt
    assert "- customer_id INTEGER, references customers(id)" in prompt
    assert "other.customers\n- id INTEGER" in prompt
    assert "password" not in prompt


def test_names_that_must_be_quoted_are_shown_in_quotes(sqlite_url):
    model = Model("SELECT 1 AS one")
    retrieve("anything", SQL(sqlite_url, generate=model))
    assert '"order notes"\n- id INTEGER, primary key\n- "the text" TEXT\n- "select" TEXT' in model.prompts[0]
    assert "reviews_content" not in model.prompts[0]


def test_sql_that_a_model_considers_before_it_answers_is_not_run(sqlite_url):
    model = Model("<think>\nPerhaps:\nSELECT 1 AS one\nNo.\n</think>\n\nSELECT 2 AS two")
    assert texts(retrieve("Which number?", SQL(sqlite_url, generate=model))) == ["two: 2"]


def test_sql_is_run_as_it_is_even_with_a_model(sqlite_url):
    model = Model()
    assert texts(retrieve("SELECT 1 AS one", SQL(sqlite_url, generate=model))) == ["one: 1"]
    assert model.prompts == []


def test_a_question_that_begins_like_sql_is_a_question(sqlite_url):
    model = Model("SELECT 1 AS one")
    retrieve("With which customers did we earn most?", SQL(sqlite_url, generate=model))
    assert len(model.prompts) == 1


def test_without_a_model_a_question_is_refused(sqlite_url):
    with pytest.raises(RefusedQuery, match=r"got 'Who' in .*; to ask in words, give a language model: generate"):
        retrieve("Who was our first customer?", SQL(sqlite_url))
    with pytest.raises(RefusedQuery) as refused:
        retrieve("SELECT load_extension('x')", SQL(sqlite_url))
    assert "language model" not in str(refused.value)


def test_a_failed_query_is_repaired_with_the_error_shown(sqlite_url):
    model = Model("SELECT nam FROM customers", "SELECT name FROM customers WHERE id = 1")
    [passage] = retrieve("Who is first?", SQL(sqlite_url, generate=model, max_retries=1))
    assert passage.text == "name: Ada"
    assert "SELECT nam FROM customers" in model.prompts[1]
    assert "Error: the database gave an error: no such column: nam" in model.prompts[1]
    assert passage.trace.notes[0].startswith("attempt 1 failed: the database gave an error: no such column: nam")


def test_sql_of_the_user_is_repaired_too(sqlite_url):
    model = Model("SELECT name FROM customers WHERE id = 1")
    passages = retrieve("SELECT nam FROM customers WHERE id = 1", SQL(sqlite_url, generate=model, max_retries=2))
    assert texts(passages) == ["name: Ada"]


def test_sql_of_the_user_that_is_refused_is_not_given_to_a_model(sqlite_url):
    model = Model()
    with pytest.raises(RefusedQuery, match="may only read the tables customers, got secrets"):
        retrieve("SELECT * FROM secrets", SQL(sqlite_url, generate=model, max_retries=2, tables=["customers"]))
    assert model.prompts == []


def test_a_refused_query_is_repaired_and_never_run(sqlite_url):
    model = Model("DELETE FROM customers", "```sql\nDROP TABLE items\n```", "SELECT COUNT(*) AS n FROM customers")
    [passage] = retrieve("Clean up", SQL(sqlite_url, generate=model, max_retries=2))
    assert passage.text == "n: 3"
    assert "wrote no SQL" in model.prompts[1]


def test_the_last_error_is_raised_when_no_attempts_are_left(sqlite_url):
    model = Model("SELECT a FROM customers", "SELECT b FROM customers", "SELECT c FROM customers")
    with pytest.raises(QueryFailed, match=r"no such column: c.*this was attempt 3 of 3"):
        retrieve("Who?", SQL(sqlite_url, generate=model, max_retries=2))


def test_a_model_that_writes_no_sql_is_a_clear_error(sqlite_url):
    with pytest.raises(QueryFailed, match="the language model wrote no SQL; its answer begins: 'I am sorry"):
        retrieve("Who?", SQL(sqlite_url, generate=Model("I am sorry, I cannot do that.")))
    with pytest.raises(QueryFailed, match="must answer with a text, got 7"):
        retrieve("Who?", SQL(sqlite_url, generate=Model(7)))
    with pytest.raises(QueryFailed, match="wrote no SQL"):
        retrieve("Who?", SQL(sqlite_url, generate=Model("")))


def test_an_error_of_the_model_names_it(sqlite_url):
    message = r"the language model that was asked for SQL, .*Model failed with ConnectionError: no model"
    with pytest.raises(FunctionFailed, match=message) as caught:
        retrieve("Who?", SQL(sqlite_url, generate=Model(ConnectionError("no model"))))
    assert isinstance(caught.value.__cause__, ConnectionError)
    with pytest.raises(FunctionFailed, match="no model"):
        SQL(sqlite_url, generate=Model(ConnectionError("no model"))).retrieve_frame("Who?")


def test_new_tables_are_seen_when_a_query_failed(tmp_path):
    url = f"sqlite:///{tmp_path / 'new.db'}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE a (x INTEGER)")
    model = Model("SELECT x FROM a", "SELECT x FROM b", "SELECT x FROM a")
    strategy = SQL(url, generate=model, max_retries=1)
    retrieve("first", strategy)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE c (x INTEGER)")
    retrieve("second", strategy)
    engine.dispose()
    assert ["c\n- x INTEGER" in prompt for prompt in model.prompts] == [False, False, True]


def test_rows_can_be_fused_with_other_results(sqlite_url):
    one = SQL(sqlite_url, preprocess_query=lambda _: "SELECT id, name FROM customers WHERE id < 3 ORDER BY id")
    other = SQL(sqlite_url, preprocess_query=lambda _: "SELECT id, name FROM customers WHERE id = 2")
    found = retrieve("anything", Ensemble(retrievers=[one, other]))
    assert [each.id for each in found] == ["customers:2", "customers:1"]


def test_rows_are_found_beside_an_index(shared_index, sqlite_url):
    strategy = SQL(sqlite_url)
    assert [each.id for each in shared_index.retrieve("SELECT * FROM orders ORDER BY id", strategy)] == [
        "orders:1",
        "orders:2",
        "orders:3",
    ]


def test_a_scoped_view_shows_only_rows_that_match_its_filter(shared_index, sqlite_url):
    londoners = shared_index.scoped(F("city") == "London")
    assert [each.id for each in londoners.retrieve("SELECT * FROM customers", SQL(sqlite_url))] == ["customers:1"]
    assert londoners.retrieve("SELECT id, name FROM customers", SQL(sqlite_url)) == []
    assert londoners.retrieve("SELECT * FROM customers", SQL(sqlite_url, result="table")) == []


def test_functions_of_the_user_are_allowed_by_name(postgres):
    sql = "SELECT shout(name) AS loud FROM customers WHERE id = 1"
    with pytest.raises(RefusedQuery, match=r"got shout\(\).*name it in functions="):
        retrieve(sql, SQL(postgres))
    assert texts(retrieve(sql, SQL(postgres, functions=["shout"]))) == ["loud: ADA"]
    qualified = "SELECT public.shout(name) AS loud FROM customers WHERE id = 1"
    with pytest.raises(RefusedQuery, match=r"got public.shout\(\)"):
        retrieve(qualified, SQL(postgres, functions=["shout"]))
    assert texts(retrieve(qualified, SQL(postgres, functions=["public.shout"]))) == ["loud: ADA"]


def test_catalogs_are_allowed_by_name(sqlite_url):
    [passage] = retrieve(
        "SELECT COUNT(*) AS n FROM sqlite_master WHERE name = 'items'", SQL(sqlite_url, tables=["sqlite_master"])
    )
    assert passage.text == "n: 1"


@pytest.mark.parametrize("url", ["sqlite_url", "postgres"])
def test_a_star_stands_for_the_columns_that_are_allowed(request, url):
    strategy = SQL(request.getfixturevalue(url), tables={"customers": ["id", "name"]})
    [passage] = retrieve("SELECT * FROM customers WHERE id = 1", strategy)
    assert passage.metadata == {"id": 1, "name": "Ada"}
    assert passage.id == "customers:1"
    with pytest.raises(RefusedQuery, match=r"may only read the columns that tables= names \(.*\), got password"):
        retrieve("SELECT name FROM customers WHERE password LIKE 'canary-a%'", strategy)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"database": 7}, "database must be a URL .* got int"),
        ({"database": "nonsense"}, "database must be a URL that SQLAlchemy knows"),
        ({"database": "sqlite://"}, "a database in memory is empty when it is opened again"),
        ({"database": "sqlite:///:memory:"}, "a database in memory is empty when it is opened again"),
        ({"database": "sqlite+aiosqlite:///x.db"}, "must have a blocking driver, got aiosqlite"),
        ({"generate": 7}, "generate must be a function from a prompt to a text, got 7"),
        ({"agenerate": len}, "agenerate must have generate beside it"),
        ({"max_retries": 1}, "max_retries needs a language model to repair queries, got max_retries=1 without generate"),
        ({"max_retries": -1}, "max_retries must be a whole number >= 0, got -1"),
        ({"tables": "customers"}, "tables must be a list of names, or a mapping .* got 'customers'"),
        ({"tables": []}, "got an empty one: leave it out to allow all tables"),
        ({"tables": [""]}, "got the table ''"),
        ({"tables": {"customers": "name"}}, "got the columns 'name' of customers"),
        ({"tables": {"customers": []}}, r"got the columns \[\] of customers"),
        ({"functions": "shout"}, "functions must be a list of names, got 'shout'"),
        ({"functions": [7]}, r"functions must be a list of names, got \[7\]"),
        ({"extract": "name"}, "extract must be a list of columns or a function that takes a row, got 'name'"),
        ({"extract": [7]}, r"extract must be a list of column names, got \[7\]"),
        ({"extract": len, "result": "table"}, 'extract must name columns where result is "table", got a function'),
        ({"preprocess_query": "x"}, "preprocess_query must be a function of one text, got 'x'"),
        ({"result": "row"}, "result must be one of 'rows', 'table', got 'row'; did you mean 'rows'"),
        ({"return_query": 1}, "return_query must be True or False, got 1"),
        ({"row_limit": 0}, "row_limit must be a whole number >= 1, got 0"),
        ({"row_limit": 2_000_000}, "row_limit must be a number in .* got 2000000"),
        ({"timeout": 0}, r"timeout must be a number of seconds in \(0, 86400\], got 0"),
        ({"timeout": None}, r"timeout must be a number of seconds in \(0, 86400\], got None"),
        ({"sample_rows": 1.5}, "sample_rows must be a whole number >= 0, got 1.5"),
        ({"prompt": "Question: {question}"}, "prompt must be a text with .*{schema}"),
        ({"repair_prompt": "{sql}"}, "prompt must be a text with .*{error}"),
    ],
)
def test_wrong_options_are_errors_where_the_strategy_is_made(sqlite_url, options, message):
    with pytest.raises(InvalidArgument, match=message):
        SQL(**{"database": sqlite_url, **options})


@pytest.mark.parametrize("query", ["", "   ", None, 7])
def test_a_query_must_be_a_text(sqlite_url, query):
    with pytest.raises(InvalidArgument, match="a query must be a text"):
        retrieve(query, SQL(sqlite_url))
    with pytest.raises(InvalidArgument, match="a query must be a text"):
        SQL(sqlite_url).retrieve_frame(query)


def test_a_vector_is_no_query(sqlite_url):
    with pytest.raises(InvalidArgument, match="SQL needs the query as text"):
        retrieve([0.1, 0.2], SQL(sqlite_url))


def test_strategies_are_values(sqlite_url):
    strategy = SQL(sqlite_url, row_limit=5)
    assert "Database('sqlite:///" in repr(strategy)
    assert SQL(strategy.database, row_limit=5) == strategy
    assert isinstance(strategy, leafspan.Strategy)


# Copies


@pytest.mark.parametrize("duplicate", [lambda strategy: pickle.loads(pickle.dumps(strategy)), copy.deepcopy])
def test_a_strategy_over_a_url_is_pickled_as_the_url_and_the_options(sqlite_url, duplicate):
    strategy = SQL(sqlite_url, tables={"customers": ["id", "name"]}, timeout=5)
    copied = duplicate(strategy)
    assert copied == strategy
    assert hash(copied.database) == hash(strategy.database)
    assert texts(retrieve("SELECT name FROM customers WHERE id = 1", copied)) == ["name: Ada"]
    with pytest.raises(RefusedQuery, match="password"):
        retrieve("SELECT password FROM customers", copied)


def test_strategies_over_different_databases_are_different(sqlite_url):
    engine = sqlalchemy.create_engine(sqlite_url)
    assert SQL(sqlite_url) != SQL(f"{sqlite_url}-other")
    assert SQL(sqlite_url) != SQL(engine)
    assert SQL(engine) == SQL(engine)


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy])
def test_connections_and_passwords_are_not_pickled_and_the_error_says_what_to_do(sqlite_url, duplicate):
    with pytest.raises(TypeError, match="its Engine belongs to one process: make the strategy again where it is needed"):
        duplicate(SQL(sqlalchemy.create_engine(sqlite_url)))
    with pytest.raises(
        TypeError, match=r"ada:\*\*\*@host/shop cannot be pickled or copied, .* since its URL has a password"
    ):
        duplicate(SQL("postgresql+psycopg://ada:hunter2@host/shop"))
