#!/usr/bin/env bash
# Check the digests of all files, compute the first repeats of every cell again, and compare each with the recorded
# repeat. The exit code is 0 if all are the same.
#
#   bash verify.sh [REPEATS]      {{ repeats }} by default
#
# PYTHON is the interpreter of the environment that is made in verify/ (python3 by default; the runs had {{ python }}).
# PPPCA is the command of an environment that is there already, in place of that.
set -euo pipefail
unset PYTHONPATH
cd "$(dirname "$0")"
repeats="${1:-{{ repeats }}}"
python="${PYTHON:-python3}"

"$python" - << 'END'
import hashlib, json, pathlib, sys, urllib.parse

graph = json.loads(pathlib.Path("ro-crate-metadata.json").read_text("utf-8"))["@graph"]
files = {urllib.parse.unquote(one["@id"]): one["sha256"] for one in graph if "contentSize" in one}
for name, digest in files.items():
    path = pathlib.Path(name)
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        sys.exit(f"{name}: expected the file with the digest in ro-crate-metadata.json, got none or another.")
print(f"The digests of {len(files)} files are right.")
END

if [ -z "${PPPCA:-}" ]; then
  PPPCA=verify/environment/bin/pppca
  if [ ! -x "$PPPCA" ]; then
    "$python" -m venv verify/environment
    verify/environment/bin/python -m pip install --quiet -c constraints.txt {{ requirements }}
  fi
fi
rm -rf verify/results
{% for command in commands %}
"$PPPCA" run {{ command }} --repeats "$repeats" --results verify/results --no-tables
{% endfor %}
"$PPPCA" compare {{ compared }} --results verify/results --against results --strict --repeats "$repeats"
echo "Verified: the first $repeats repeats of every cell are those in results."
