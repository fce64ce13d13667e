#!/usr/bin/env bash
# Installs Debian's PostgreSQL for the tests, where there is none and this is root with apt. Without it, its tests are skipped.
set -uo pipefail
if compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || command -v initdb >/dev/null; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "PostgreSQL is not installed: its tests are skipped"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql >/dev/null; then
    # The tests start a server of their own.
    service postgresql stop >/dev/null 2>&1 || true
else
    echo "PostgreSQL could not be installed: its tests are skipped"
fi
exit 0
