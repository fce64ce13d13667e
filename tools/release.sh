#!/usr/bin/env bash
# Build a release, check it, and try it as users will get it: from an index, in a fresh environment, with the README's program.
#   bash tools/release.sh [python] [folder for the built files]
set -euo pipefail
python=${1:-python3.11}
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(mkdir -p "${2:-$root/dist}" && cd "${2:-$root/dist}" && pwd)
work=$(mktemp -d)
trap 'kill "${server:-}" 2> /dev/null || true; rm -rf "$work"' EXIT

version=$(sed -nE 's/^version = "(.*)"/\1/p' "$root/pyproject.toml")
grep -qE "^## \[($version|Unreleased)\]" "$root/CHANGELOG.md" || { echo "CHANGELOG.md has no section [$version]"; exit 1; }

"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --upgrade pip build twine
mkdir -p "$work/index/leafspan"
"$work/tools/bin/python" -m build --outdir "$work/index/leafspan" "$root" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/tools/bin/twine" check --strict "$work/index/leafspan/"*

# A folder of files that is served is an index: its pages are the lists of its folders.
"$python" -u -m http.server --bind 127.0.0.1 --directory "$work/index" 0 > "$work/served.log" 2>&1 &
server=$!
for _ in $(seq 50); do
    port=$(sed -nE 's/.*port ([0-9]+).*/\1/p' "$work/served.log" | head -1)
    [ -n "$port" ] && break
    sleep 0.1
done
[ -n "$port" ] || { echo "the local index did not start"; cat "$work/served.log"; exit 1; }
"$python" -m venv "$work/user"
"$work/user/bin/pip" install --quiet --upgrade pip
"$work/user/bin/pip" install --quiet --extra-index-url "http://127.0.0.1:$port/" "leafspan[all,files,serve,mcp,eval]==$version"
grep -q "GET /leafspan/leafspan-$version-py3-none-any.whl" "$work/served.log" || { echo "pip took leafspan from elsewhere"; exit 1; }

mkdir "$work/empty"
cd "$work/empty"
"$work/user/bin/python" - "$root/README.md" << 'PROGRAM'
import contextlib, io, re, subprocess, sys
from pathlib import Path

from langchain_leafspan import HybridRetriever
from llama_index.retrievers.leafspan import HybridRetriever as InLlamaIndex
import langchain_ext, llamaindex_ext

assert (HybridRetriever, InLlamaIndex) == (langchain_ext.HybridRetriever, llamaindex_ext.HybridRetriever)
page = Path(sys.argv[1]).read_text()
program = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
with contextlib.redirect_stdout(io.StringIO()):
    exec(compile(program, "README.md", "exec"), {})
for command in re.search(r"```bash\n(leafspan .*?)```", page, re.DOTALL)[1].splitlines():
    if not command.startswith(("leafspan serve", "leafspan mcp")):  # these wait for requests
        subprocess.run([f"{Path(sys.executable).parent}/{command}"], shell=True, check=True, stdout=subprocess.DEVNULL)
for command in ("serve", "mcp"):
    subprocess.run([f"{Path(sys.executable).parent}/leafspan", command, "--help"], check=True, stdout=subprocess.DEVNULL)
PROGRAM
"$work/user/bin/leafspan" demo > /dev/null
rm -f "$out"/leafspan-*
cp "$work/index/leafspan/"*.whl "$work/index/leafspan/"*.tar.gz "$out/"
echo "leafspan $version was built, checked and used: $out"
