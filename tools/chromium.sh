#!/usr/bin/env bash
# Installs Debian's Chromium for the tests, where there is none and this is root with apt. Without it, its tests are skipped.
set -uo pipefail
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Chromium is not installed: its tests are skipped"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; }; then
    echo "Chromium could not be installed: its tests are skipped"
fi
exit 0
