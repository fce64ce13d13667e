"""How long each driver waits for a server that does not answer."""

from __future__ import annotations

from math import ceil
from typing import Any


def connect_arguments(driver: str, seconds: float) -> dict[str, Any]:
    """Options of a driver that limit the time for connecting and reading; none for an unknown driver."""
    whole = max(1, ceil(seconds))
    postgres: dict[str, Any] = {"connect_timeout": max(2, whole), "tcp_user_timeout": 1000 * whole}
    known: dict[str, dict[str, Any]] = {
        "psycopg": postgres,
        "psycopg2": postgres,
        "pg8000": {"timeout": seconds},
        "pymysql": {"connect_timeout": whole, "read_timeout": whole, "write_timeout": whole},
        "mysqldb": {"connect_timeout": whole, "read_timeout": whole, "write_timeout": whole},
        "mysqlconnector": {"connection_timeout": whole},
        "mariadbconnector": {"connect_timeout": whole, "read_timeout": whole, "write_timeout": whole},
        "pyodbc": {"timeout": whole},
        "pymssql": {"timeout": whole, "login_timeout": whole},
        "oracledb": {"tcp_connect_timeout": seconds},
    }
    return known.get(driver, {})
