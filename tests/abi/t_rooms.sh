#!/bin/sh
# SPDX-License-Identifier: MIT
# The layout of the sources: each folder includes only from the folders that rooms.table
# allows, without a cycle; no two structs have the same name, nor two
# static names of the module; no name contains a word that words.table replaces by a
# term. The shared library has no symbol of objects that only the daemon and trace-ctl
# contain, and needs no library but libc.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail=0

python3 tests/abi/rooms.py || fail=1

# Checks that libtsctrace.so has no symbol of objects that only the daemon and trace-ctl
# contain.
writer=$(make -s -C lib O="$(realpath "$O")" unshared-objects)
# shellcheck disable=SC2086
nm -g --defined-only $writer | awk 'NF == 3 {print $3}' | sort -u >"$tmp/others"
nm --defined-only "$O/lib/libtsctrace.so" | awk 'NF == 3 {print $3}' | sort -u >"$tmp/so"
comm -12 "$tmp/others" "$tmp/so" >"$tmp/both"
sed 's/^/libtsctrace.so holds /' "$tmp/both"
[ -s "$tmp/others" ] && [ ! -s "$tmp/both" ] || fail=1
readelf -d "$O/lib/libtsctrace.so" | grep NEEDED >"$tmp/needed"
others=$(grep -v '\[\(libc\.so\|libm\.so\|ld-linux-\)' "$tmp/needed" || true)
[ -s "$tmp/needed" ] && [ -z "$others" ] || { echo "libtsctrace.so needs: $others"; fail=1; }
echo "$(wc -l <"$tmp/so") symbols in libtsctrace.so"
exit $fail
