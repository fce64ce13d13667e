"""Ask a database offline: the language model is a function that knows two answers.

Run it with ``python examples/sql.py``. It needs ``pip install ".[sql]"``.
"""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from leafspan import retrieve
from leafspan.errors import RefusedQuery
from leafspan.sources import SQL

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, password TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), total NUMERIC);
INSERT INTO customers VALUES (1, 'Ada', 'London', 'x1'), (2, 'Grace', 'New York', 'x2');
INSERT INTO orders VALUES (1, 1, 20), (2, 1, 5), (3, 2, 12);
"""


def scripted_model(prompt: str) -> str:
    """A language model that first names a wrong column, and repairs the query when it sees the error."""
    if "no such column: amount" in prompt:
        return (
            "```sql\nSELECT c.name, SUM(o.total) AS spent FROM customers c JOIN orders o ON o.customer_id = c.id "
            "GROUP BY c.name ORDER BY spent DESC\n```"
        )
    return "SELECT name, SUM(amount) AS spent FROM customers JOIN orders ON customer_id = customers.id GROUP BY name"


def main() -> None:
    """Ask a question, and try to read a column that is not allowed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        connection = sqlite3.connect(path)
        connection.executescript(SHOP)
        connection.close()
        tables = {"customers": ["id", "name", "city"], "orders": None}
        shop = SQL(f"sqlite:///{path}", generate=scripted_model, max_retries=1, tables=tables)
        for passage in retrieve("Who spent most?", shop):
            print(passage.text.replace("\n", ", "))
        print(*passage.trace.explain(), sep="\n")
        try:
            retrieve("SELECT password FROM customers", shop)
        except RefusedQuery as error:
            print(f"refused: {error}")


if __name__ == "__main__":
    main()
