#!/usr/bin/env bash
# The tests of what users touch, on each Python that the classifiers name and this machine has, besides the one of .venv, which
# runs all tests. Says which ran.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find_python() {  # version: an interpreter that starts, by name or among those of pyenv
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1."*"/bin/python$1"; do
        if "$candidate" -c "" 2> /dev/null; then
            echo "$candidate"
            return
        fi
    done
}

"$root/.venv/bin/python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --upgrade pip uv
export UV_LINK_MODE=copy  # nltk refuses data that is linked

own=$("$root/.venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ran=() absent=()
for version in $(sed -nE 's/.*"Programming Language :: Python :: (3\.[0-9]+)".*/\1/p' "$root/pyproject.toml"); do
    if [ "$version" = "$own" ]; then
        continue
    fi
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        absent+=("$version")
        continue
    fi
    "$python" -m venv "$work/$version"
    "$work/tools/bin/uv" pip install --quiet --python "$work/$version/bin/python" "$root[dev]"  # in a tenth of the time of pip
    (cd "$root" && "$work/$version/bin/python" -m pytest -q -p no:cacheprovider -m "not slow" \
        tests/test_index.py tests/store/test_refusals.py tests/hosts/test_contract.py)
    ran+=("$version")
    rm -rf "${work:?}/$version"
done
echo "ran on Python: ${ran[*]:-none} (besides $own); not on this machine: ${absent[*]:-none}"
