from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import NoPostgres, running_postgres
from tests.sources.sql.shop import POSTGRES, SQLITE


@pytest.fixture(scope="session")
def postgres_session() -> Iterator[str]:
    try:
        import sqlalchemy

        with running_postgres() as url:
            engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                for statement in POSTGRES:
                    connection.exec_driver_sql(statement)
            engine.dispose()
            yield url
    except NoPostgres as error:
        pytest.skip(str(error))


@pytest.fixture
def postgres(postgres_session: str) -> str:
    """URL of a PostgreSQL with the shop, for tests that only read."""
    return postgres_session


@pytest.fixture(scope="session")
def shop_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with the shop, for tests that only read."""
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SQLITE)
    connection.close()
    return path


@pytest.fixture
def sqlite_url(shop_file: Path) -> str:
    return f"sqlite:///{shop_file}"
