#!/bin/bash
# SPDX-License-Identifier: MIT
# The bill of materials has each source file once, with the licence that it states, and
# each library that our programs are linked with. Needs dpkg.
# test-timeout: 1200
set -euo pipefail
cd "$(dirname "$0")/../.."
O=${O:-build}
command -v dpkg-query >/dev/null || { echo "there is no dpkg"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/packaging/sbom.py "$O" >"$work/sbom"
{ git ls-files 2>/dev/null || find . -type f ! -path './build/*' -printf '%P\n'; } >"$work/files"
readelf -d "$O/tools/trace-ctl" "$O/daemon/tsctraced" |
	sed -n 's/.*NEEDED.*\[\(lib[a-z0-9_-]*\)\.so.*/\1/p' | sort -u >"$work/needed"
python3 - "$work" <<'END'
import json, re, sys
sbom = json.load(open(sys.argv[1] + "/sbom"))
files = {entry["fileName"][2:]: entry for entry in sbom["files"]}
missing = {line.rstrip("\n") for line in open(sys.argv[1] + "/files")} - set(files)
assert not missing, missing
assert files["kmod/main.c"]["licenseConcluded"] == "GPL-2.0-only"
assert files["build/tools/trace-ctl"]["licenseConcluded"] == "MIT"
names = [entry["SPDXID"] for entry in sbom["files"] + sbom["packages"]]
assert len(names) == len(set(names))
packages = " ".join(entry["name"] for entry in sbom["packages"])
for library in map(str.strip, open(sys.argv[1] + "/needed")):
    stem = {"libm": "libc", "libz": "zlib",
            "libotf": "libopen-trace", "libopen-trace-format": "libopen-trace"}.get(
                library, re.sub("[0-9]+$", "", library))
    assert stem in packages or library == "libotf2", (library, packages)
assert all(entry["relatedSpdxElement"] in names for entry in sbom["relationships"])
print(len(files), "files,", len(sbom["packages"]) - 1, "packages")
END
