#!/usr/bin/env bash
# Build the wheel and use it in fresh environments: each framework alone, newest and lowest supported versions.
set -euo pipefail
python=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/build"
"$work/build/bin/pip" install --quiet --upgrade pip build uv
"$work/build/bin/python" -m build --wheel --outdir "$work/dist" "$root" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
wheel=$(echo "$work"/dist/*.whl)

export UV_LINK_MODE=copy  # nltk refuses data that is linked

use() {  # name, extra, further requirements...
    local name=$1 extra=$2
    shift 2
    "$python" -m venv "$work/$name"
    # In a tenth of the time of pip, with which .venv is made.
    "$work/build/bin/uv" pip install --quiet --python "$work/$name/bin/python" "$wheel$extra" "$@"
    (cd "$work" && "$work/$name/bin/python" -W error::DeprecationWarning:leafspan "$here/use.py" "$extra")
    rm -rf "${work:?}/$name"
}

use core ""
use lab "[lab]"
for extra in html pdf docx pptx xlsx odf ocr code files; do use "$extra" "[$extra]"; done
use langchain "[langchain]"
use llamaindex "[llamaindex]"
use langchain-lowest "[langchain]" -c "$here/lowest.txt"
use llamaindex-lowest "[llamaindex]" -c "$here/lowest.txt"
