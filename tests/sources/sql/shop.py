"""A small shop, in SQLite and in PostgreSQL. What nobody may see has CANARY in it."""

from __future__ import annotations

CANARY = "canary"

_TABLES = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, password TEXT, born DATE);
CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT NOT NULL, price NUMERIC(10, 2), tags {json});
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), day DATE, paid {boolean});
CREATE TABLE items (order_id INTEGER REFERENCES orders (id), product_id INTEGER REFERENCES products (id), count INTEGER,
    PRIMARY KEY (order_id, product_id));
CREATE TABLE secrets (id INTEGER PRIMARY KEY, word TEXT);
CREATE TABLE "order notes" (id INTEGER PRIMARY KEY, "the text" TEXT, "select" TEXT);
CREATE VIEW spending AS SELECT c.name, SUM(p.price * i.count) AS total FROM customers c JOIN orders o ON o.customer_id = c.id
    JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id GROUP BY c.name;
CREATE VIEW all_secrets AS SELECT * FROM secrets;
CREATE VIEW word_count AS SELECT COUNT(*) AS words FROM all_secrets;
INSERT INTO customers VALUES (1, 'Ada', 'London', 'canary-ada', '1815-12-10'), (2, 'Grace', 'New York', 'canary-grace',
    '1906-12-09'), (3, 'Zoë O''Hara', NULL, 'canary-zoe', NULL);
INSERT INTO products VALUES (1, 'Tea', 4.50, '{{"kind": "drink", "tags": ["hot", "green"]}}'), (2, 'Cup', 12.00,
    '{{"kind": "ware", "tags": []}}'), (3, 'Kettle', 39.90, NULL);
INSERT INTO orders VALUES (1, 1, '2024-01-05', {true}), (2, 1, '2024-02-10', {false}), (3, 2, '2024-02-11', {true});
INSERT INTO items VALUES (1, 1, 2), (1, 2, 1), (2, 3, 1), (3, 1, 10);
INSERT INTO secrets VALUES (1, 'canary-word');
INSERT INTO "order notes" VALUES (1, 'ring; twice -- please', 'drop table');
"""

SQLITE = (
    _TABLES.format(json="TEXT", boolean="BOOLEAN", true="1", false="0")
    + """
CREATE VIRTUAL TABLE reviews USING fts5(body);
INSERT INTO reviews VALUES ('a fine green tea'), ('the cup broke');
"""
)

POSTGRES = [
    statement
    for statement in _TABLES.format(json="JSONB", boolean="BOOLEAN", true="true", false="false").split(";\n")
    if statement.strip()
] + [
    "CREATE SCHEMA other",
    "CREATE TABLE other.customers (id INTEGER PRIMARY KEY, name TEXT)",
    "INSERT INTO other.customers VALUES (1, 'canary-other')",
    "CREATE SEQUENCE numbers",
    "CREATE TYPE mood AS ENUM ('sad', 'happy')",
    "CREATE FUNCTION shout(word TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT upper(word)'",
    "COMMENT ON TABLE customers IS 'people who buy'",
    "COMMENT ON COLUMN customers.city IS 'where they live'",
    "CREATE ROLE reader LOGIN PASSWORD 'canary-role'",
]
