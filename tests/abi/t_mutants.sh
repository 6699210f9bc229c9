#!/bin/bash
# SPDX-License-Identifier: MIT
# The generator of mutants, tests/mutants: sample.expected has all mutants of sample.c, which
# are each operator's, and none of comments, strings, macros, assembly and declarations. In the
# real sources, no change begins or ends in a comment, a string or a preprocessor line, and line
# numbers stay; the same seed makes the same mutants, and another seed makes others.
set -euo pipefail
cd "$(dirname "$0")/../mutants"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export PYTHONDONTWRITEBYTECODE=1

python3 mutants.py --sites sample.c >"$tmp/sample"
diff sample.expected "$tmp/sample" || { echo "FAILED: mutants of sample.c"; exit 1; }

for n in 1 2 3; do
	python3 mutants.py --out "$tmp" --list --mutants 100 --seed $((n / 2)) |
		sed 1d >"$tmp/list.$n"
done
[ "$(grep -c '^[a-z/_]*\.[ch]:[0-9]*:[0-9]*:' "$tmp/list.1")" = 100 ]
! cmp -s "$tmp/list.1" "$tmp/list.2" || { echo "FAILED: seeds 0 and 1 are alike"; exit 1; }
cmp "$tmp/list.2" "$tmp/list.3" || { echo "FAILED: seed 1 is not repeated"; exit 1; }

python3 - <<'END'
import bisect
import glob
import sys

sys.path.insert(0, ".")
import generate

number = 0
for path in [f for folder in ("core", "client", "ctf", "fit", "merge")
             for f in glob.glob(f"../../lib/{folder}/*.[ch]")] + ["../../kmod/ring.c"]:
    source = generate.Source(path, open(path, encoding="utf-8").read())
    closed = [(m.start(), m.end()) for m in generate.LEXER.finditer(source.text)
              if m.lastgroup in ("comment", "cpp", "string", "char")]
    starts = [begin for begin, _ in closed]
    for statement in source.statements:
        for site in source.sites(statement):
            number += 1
            for begin, end, new in site.edits:
                for at in (begin, end):
                    near = bisect.bisect_left(starts, at) - 1
                    if near >= 0 and at < closed[near][1]:
                        sys.exit(f"FAILED: {source.name(site)} changes {source.text[at:at + 20]!r}")
                if source.text.count("\n", begin, end) != new.count("\n"):
                    sys.exit(f"FAILED: {source.name(site)} moves lines")
print(f"{number} mutants are outside of comments and strings")
if number < 10000:
    sys.exit("FAILED: these are too few")
END
