#!/bin/sh
# SPDX-License-Identifier: MIT
# Documentation/abi.rst agrees with abi.h: it has each structure with its
# size, each request and constant with its value, each request with its errors, and
# nothing that is not in the header.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
header=kmod/uapi/tsctrace
page=Documentation/abi.rst
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The text of the ABI's headers, without the layout assertions at the end of abi.h
sed '/layout, asserted/,$d' "$header/abi.h" |
	cat "$header/abi_channel.h" "$header/abi_clock.h" "$header/abi_reserved.h" - >"$tmp/text"
sed -n 's/^struct \(tsct_[a-z_]*\) {$/\1/p' "$tmp/text" >"$tmp/structs"
sed -n 's/^#define[ \t]*\(TSCT_[A-Z0-9_]*\)[ \t].*/\1/p' "$tmp/text" >"$tmp/constants"

{
	cat <<'END'
#include <stdio.h>
#include <tsctrace/abi.h>
#define SHOW(name) _Generic((name), char *: text, default: number)(#name, \
	_Generic((name), char *: (name), default: ""), \
	_Generic((name), char *: 0ULL, default: (name)))
static void text(const char *name, const char *string, unsigned long long x)
{
	(void)x;
	printf("%s \"%s\"\n", name, string);
}
static void number(const char *name, const char *string, unsigned long long x)
{
	(void)string;
	printf(x < 1 << 20 ? "%s %llu\n" : "%s %#llx\n", name, x);
}
int main(void)
{
END
	sed 's/.*/printf("& %zu\\n", sizeof(struct &));/' "$tmp/structs"
	sed 's/.*/SHOW(&);/' "$tmp/constants"
	echo 'return 0; }'
} >"$tmp/show.c"
${CC:-cc} -std=gnu11 -w -Ikmod/uapi -o "$tmp/show" "$tmp/show.c"
"$tmp/show" | sort >"$tmp/have"

# Reads the tables of structures and numbers in Documentation/abi.rst: NAME VALUE ...
awk '/^Structures$/ { on = 1 } /^mmap$/ { on = 0 }
	on && $1 ~ /^(tsct_|TSCT_)[A-Za-z0-9_]+$/ && NF > 1 { print $1, $2 }' "$page" |
	sort >"$tmp/said"

fail=0
if ! diff "$tmp/have" "$tmp/said" >"$tmp/diff"; then
	echo "abi.h (<) and $page (>) differ:"
	grep '^[<>]' "$tmp/diff"
	fail=1
fi
for request in $(grep '^TSCT_IOC_' "$tmp/constants" | grep -v MAGIC); do
	awk '/^Requests and their errors$/ { on = 1 } /^The ring$/ { on = 0 } on' \
		"$page" | grep -q "^$request  *[^ ]" || {
		echo "$page does not say what errors $request gives"
		fail=1
	}
done
[ "$(wc -l <"$tmp/structs")" -gt 20 ] && [ "$(wc -l <"$tmp/constants")" -gt 100 ] || {
	echo "no structures or constants found in $header"
	fail=1
}
echo "$(wc -l <"$tmp/structs") structures, $(wc -l <"$tmp/constants") constants"
[ -z "${SHOW:-}" ] || cat "$tmp/have"
exit $fail
