#!/bin/sh
# SPDX-License-Identifier: MIT
# These lists are equal: the symbols that the shared library exports, the symbols of
# libtsctrace.map, the functions that the headers declare, and the functions that have
# man pages, without inline functions. Each inline function has a man page, too.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

nm -D --defined-only "$O/lib/libtsctrace.so" |
	awk '$2 ~ /[TDBR]/ {sub(/@.*/, "", $3); print $3}' | sort >"$tmp/so"
sed -n 's/^\t\(tsct_[a-z0-9_]*\);$/\1/p' lib/libtsctrace.map | sort >"$tmp/map"
cat lib/include/tsctrace/*.h | tr '\n\t' '  ' |
	sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' >"$tmp/text"
# Names that end in an underscore belong to macros and are not for callers.
grep -o 'static inline [^(]*(' "$tmp/text" | grep -o 'tsct_[a-z0-9_]*($' | tr -d '(' |
	grep -v '_$' | sort -u >"$tmp/inline"
{
	grep -o '\btsct_[a-z0-9_]*(' "$tmp/text" | tr -d '(' | grep -v '_$'
	grep -o 'extern __thread [a-z0-9_]* tsct_[a-z0-9_]*' "$tmp/text" |
		sed 's/.* //'
} | sort -u | comm -23 - "$tmp/inline" >"$tmp/headers"
for f in Documentation/man/tsct_*.3; do basename "$f" .3; done | sort |
	comm -23 - "$tmp/inline" >"$tmp/man"

fail=0
test -s "$tmp/map" || { echo "libtsctrace.map names no symbol"; exit 1; }
for list in so headers man; do
	if ! diff -u "$tmp/map" "$tmp/$list" >"$tmp/diff"; then
		echo "libtsctrace.map and $list differ:"
		sed -n '3,$p' "$tmp/diff" | grep '^[-+]'
		fail=1
	fi
done
while read -r name; do
	[ -s "Documentation/man/$name.3" ] || { echo "$name has no page"; fail=1; }
done <"$tmp/inline"
# The man page of each function, or the page that it includes by .so, names the function
# in a .Nm or .Fn line.
for f in Documentation/man/tsct_*.3; do
	name=$(basename "$f" .3)
	page=$(sed -n 's/^\.so man3\///p' "$f")
	grep -q "^\.\(Nm\|Fn\) $name\b" "Documentation/man/${page:-$name.3}" || {
		echo "$f: ${page:-the page} does not name $name"
		fail=1
	}
done
echo "$(wc -l <"$tmp/map") functions, $(wc -l <"$tmp/inline") inline"
exit $fail
