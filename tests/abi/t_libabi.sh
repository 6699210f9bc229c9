#!/bin/bash
# SPDX-License-Identifier: MIT
# The ABI of libtsctrace.so is that of the last release, kept in libtsctrace.abi.xz, or
# has symbols more: programs that were linked with that release run with this library.
# Needs libabigail's abidiff. After a release: KEEP=1 tests/abi/t_libabi.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
O=${O:-build}
kept=tests/abi/libtsctrace.abi.xz
describe=(--headers-dir lib/include --headers-dir kmod/uapi --drop-private-types)
if ! command -v abidiff >/dev/null; then
	echo "abidiff is not installed"
	exit 77
fi

if [ "${KEEP:-}" ]; then
	abidw "${describe[@]}" --no-corpus-path --no-comp-dir-path --no-show-locs \
		"$O/lib/libtsctrace.so" | xz -9 >"$kept"
	exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
xz -dc "$kept" >"$work/kept.abi"
compare() {	# LIBRARY: the exit status has bit 3 for an incompatible change
	abidiff --headers-dir2 lib/include --headers-dir2 kmod/uapi --drop-private-types \
		--no-added-syms "$work/kept.abi" "$1" >"$work/diff" 2>&1
}
status=0
compare "$O/lib/libtsctrace.so" || status=$?
if [ "$status" -ne 0 ]; then
	cat "$work/diff"
	echo "FAILED: programs of the last release may not run with this library"
	exit 1
fi

# The comparison sees a change: a function with another argument, and one that is missing.
cat >"$work/other.c" <<'END'
const char *tsct_version(int unused);
const char *tsct_version(int unused) { return unused ? "a" : "b"; }
END
echo 'TSCTRACE_0.1 { global: tsct_version; local: *; };' >"$work/other.map"
${CC:-cc} -g -shared -fPIC -o "$work/other.so" -Wl,-soname,libtsctrace.so.0 \
	-Wl,--version-script="$work/other.map" "$work/other.c"
! compare "$work/other.so" || { echo "FAILED: abidiff sees no difference"; exit 1; }
grep -q 'tsct_emit' "$work/diff" || { cat "$work/diff"; echo "FAILED: no missing tsct_emit"; exit 1; }
echo "$(grep -c '<elf-symbol' "$work/kept.abi") symbols"
