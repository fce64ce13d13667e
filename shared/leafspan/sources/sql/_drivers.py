"""How long each driver waits for a server that does not answer."""

from __future__ import annotations

from math import ceil
from typing import Any


def connect_arguments(driver: str, seconds: float) -> dict[str, Any]:
    """Options of a driver by which connecting, and reading where it has that, end in time; none for drivers not known here.

    Args:
        driver: Name of the driver in SQLAlchemy, such as ``"psycopg"``.
        seconds: How long to wait.
    """
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
